"""The whole walk on one screen: document → features → unit vectors → similarity → links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from iconotext.errors import FeatureError, IconotextError
from iconotext.read import Failure
from iconotext.types import EVIDENCE, Document, Evidence, LinkedDocument

if TYPE_CHECKING:
    from iconotext.corpus.feature_table import FeatureTable
    from iconotext.embed.folder import StoredModel
    from iconotext.features.backbone import ImageBackbone, ImageFeatures, TextBackbone
    from iconotext.types import FloatMatrix

DEFAULT_TEXT = "minilm"
DEFAULT_IMAGE = "efficientnet-lite0"


class LinkSettings(BaseModel):
    """Settings of linking; each can be given as ``--set name=value`` on the command line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    evidence: tuple[Evidence, ...] = EVIDENCE
    """What is looked at: any of picture, caption, layout, reference."""

    select: Literal["top-k", "best", "assignment", "threshold"] = "top-k"
    """Which pairs become links: the k best sentences of each image, the best one, at most one on both sides, or all."""

    k: int = Field(3, ge=1)
    """Sentences per image for ``top-k``."""

    min_confidence: float | None = Field(None, ge=0, le=1)
    """Pairs below this probability do not become links; None: 0.1, but 0 where the picture is the only evidence."""

    text: str | None = None
    """Text backbone: a name or folder of a sentence-transformers model; None takes what the model came with. The
    default model knows only its own backbones: with others it is the concept bridge, ``no-training``, that links."""

    image: str | None = None
    """Image backbone: a name or folder of a Hugging Face vision model, or a table of features (``features.npy``) for a
    model that was trained on one; None takes what the model came with."""

    concepts: int = Field(10, ge=1)
    """How many of an image's most probable class names stand for it in the concept bridge (K in Hessel 2019)."""

    cache: bool = True
    """Whether features are kept on disk, so that what has not changed is not encoded again."""

    @field_validator("evidence")
    @classmethod
    def _some(cls, evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
        if not evidence:
            raise ValueError(f"name at least one of {', '.join(EVIDENCE)}")
        return tuple(kind for kind in EVIDENCE if kind in evidence)


class Linker:
    """Links the images of documents to their sentences.

    A trained model compares pictures with sentences in its joint space. Without one there are two ways: directly where
    text and image backbone were trained together (CLIP and the like), else over the *concept bridge*, the class names
    that a classifier sees in the picture.

    Attributes:
        name: Name of the model, as it stands in the results.
        settings: See ``LinkSettings``.
        text: The text backbone.
        image: The image backbone; None where features come from a table.
        stored: The trained model, None without one.
        table: Features by the images' sources, None where pictures are looked at.
    """

    def __init__(
        self,
        name: str,
        text: TextBackbone,
        image: ImageBackbone | None,
        settings: LinkSettings,
        *,
        stored: StoredModel | None = None,
        table: FeatureTable | None = None,
    ) -> None:
        self.name = name
        self.text = text
        self.image = image
        self.settings = settings
        self.stored = stored
        self.table = table
        self._class_vectors: FloatMatrix | None = None

    @classmethod
    def load(cls, model: str = "default", settings: LinkSettings | None = None) -> Linker:
        """Load a model.

        Args:
            model: ``default`` (the trained model that ships), the folder of a trained model, ``no-training`` (the
                concept bridge), or the name or folder of a dual encoder (CLIP, SigLIP).
            settings: Choices such as the evidence and the backbones.

        Raises:
            FeatureError: There is no such model, it cannot be loaded, or it was trained on other backbones.
        """
        from iconotext.embed.folder import init_folder, is_model_folder
        from iconotext.features import (
            FeatureCache,
            cached_image,
            cached_text,
            load_dual_encoder,
            load_image_backbone,
            load_text_backbone,
        )

        settings = settings or LinkSettings()
        if model == "default" and (settings.text or settings.image):
            model = "no-training"  # other backbones than the default model knows
        text: TextBackbone
        image: ImageBackbone | None
        stored = table = None
        if is_model_folder(init_folder(model)):
            stored, text, image, table = _load_trained(init_folder(model), settings)
        elif model == "no-training":
            text = load_text_backbone(settings.text or DEFAULT_TEXT)
            image = load_image_backbone(settings.image or DEFAULT_IMAGE)
        else:
            both = load_dual_encoder(model)
            text = load_text_backbone(settings.text) if settings.text else both.text
            image = load_image_backbone(settings.image) if settings.image else both.image
        if settings.cache:
            cache = FeatureCache()
            text, image = cached_text(text, cache), None if image is None else cached_image(image, cache)
        return cls(model, text, image, settings, stored=stored, table=table)

    def link(self, document: Document) -> LinkedDocument:
        """Find the links of one document.

        Returns:
            The document with its links; images that turn out to be unreadable have their ``problem`` now.

        Raises:
            FeatureError: The image backbone cannot be compared with the text backbone.
        """
        from iconotext.links import link_document

        cosines = sentence_vectors = None
        if "picture" in self.settings.evidence:
            document, usable, features = self._look(document)
            texts = [sentence.text for sentence in document.sentences]
            if self.stored is None or self.stored.vocabulary is None:
                sentence_vectors = self.text.encode(texts)
            cosines = self._cosines(texts, sentence_vectors, features)
            cosines = _spread(cosines, usable, len(document.images))
        return link_document(
            document,
            cosines,
            self.text.encode,
            evidence=self.settings.evidence,
            select=self.settings.select,
            k=self.settings.k,
            min_confidence=self.settings.min_confidence,
            model=self.name,
            sentence_vectors=sentence_vectors,
        )

    def link_all(self, documents: Iterable[Document | Failure]) -> Iterator[LinkedDocument | Failure]:
        """Link many documents, one after the other; one that cannot be linked gives a ``Failure`` and stops nothing."""
        for document in documents:
            if isinstance(document, Failure):
                yield document
                continue
            try:
                yield self.link(document)
            except IconotextError as error:
                yield Failure(document.source or Path(document.id), error)

    def _look(self, document: Document) -> tuple[Document, list[int], ImageFeatures]:
        """The document with the problems of its images, which images can be used, and their features."""
        if self.table is not None:
            from iconotext.features.backbone import ImageFeatures

            usable = [number for number, image in enumerate(document.images) if image.source in self.table]
            rows = self.table.rows([document.images[number].source for number in usable])
            return document, usable, ImageFeatures(rows, problems=(None,) * len(usable))
        assert self.image is not None
        usable = [number for number, image in enumerate(document.images) if image.file and not image.problem]
        features = self.image.encode([document.images[number].file or b"" for number in usable])
        return _with_problems(document, usable, features), usable, features

    def _cosines(self, texts: list[str], sentence_vectors: FloatMatrix | None, features: ImageFeatures) -> FloatMatrix:
        """(sentences, encoded images): the trained model's, direct in a shared space, or over the concept bridge."""
        from iconotext.features import centred, concept_vectors, share_space
        from iconotext.similarity.cosine import cosine_similarity

        classes = self.image.classes if self.image is not None else None
        if self.stored is not None:
            from iconotext.embed.joint import joint_cosines

            bridge = self._classes(classes) if self.stored.recipe.linking.bridge else None
            return joint_cosines(self.stored, texts, sentence_vectors, features, bridge)
        assert self.image is not None
        assert sentence_vectors is not None
        if share_space(self.text, self.image):
            return cosine_similarity(sentence_vectors, features.pooled)
        concepts = concept_vectors(features, self._classes(classes), k=self.settings.concepts)
        return cosine_similarity(centred(sentence_vectors), concepts)

    def _classes(self, names: Sequence[str] | None) -> FloatMatrix:
        """The class names as text, encoded once."""
        if self._class_vectors is None:
            self._class_vectors = self.text.encode(names or ())
        return self._class_vectors


def _load_trained(
    folder: Path, settings: LinkSettings
) -> tuple[StoredModel, TextBackbone, ImageBackbone | None, FeatureTable | None]:
    """A trained model with the backbones it was trained on.

    Raises:
        FeatureError: A backbone is another one than in training.
    """
    from iconotext.embed.folder import load_model
    from iconotext.features import load_image_backbone, load_text_backbone

    stored = load_model(folder)
    features = stored.recipe.features
    words = features.text == "words"
    text = load_text_backbone(DEFAULT_TEXT if words else settings.text or features.text)
    image: ImageBackbone | None = None
    table = None
    wanted = settings.image or features.image
    if features.image == "pixels":
        from iconotext.embed.network_backbone import NetworkBackbone
        from iconotext.features.fingerprint import folder_name

        image = NetworkBackbone(stored, folder_name(folder))
    elif features.image.endswith(".npy"):
        from iconotext.corpus.feature_table import load_feature_table

        if not Path(wanted).is_file():
            raise FeatureError(f"{folder}: the model looks images up in a table of features; name it: image=FILE.npy")
        table = load_feature_table(Path(wanted))
    else:
        image = load_image_backbone(wanted)
    given = {"text": "words" if words else text.name, "image": image.name if image else features.image}
    for side, name in given.items():
        trained = stored.backbones.get(side)
        if trained != name and features.image != "pixels" and not (side == "image" and table):
            raise FeatureError(f"{folder}: was trained on the {side} backbone {trained}, not {name}; use that one")
    return stored, text, image, table


def _spread(cosines: FloatMatrix, columns: list[int], images: int) -> FloatMatrix:
    """The columns at their places among all images of the document; 0 for an image that was not encoded."""
    import numpy as np

    spread = np.zeros((len(cosines), images), np.float32)
    spread[:, columns] = cosines
    return spread


def _with_problems(document: Document, encoded: list[int], features: ImageFeatures) -> Document:
    images = list(document.images)
    for number, problem in zip(encoded, features.problems, strict=True):
        images[number] = replace(images[number], problem=problem)
    return replace(document, images=tuple(images))
