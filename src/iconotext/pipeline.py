"""The whole walk on one screen: document → features → unit vectors → similarity → links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from iconotext.errors import IconotextError
from iconotext.read import Failure
from iconotext.types import EVIDENCE, Document, Evidence, LinkedDocument

if TYPE_CHECKING:
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
    """Text backbone: a name or folder of a sentence-transformers model; None takes what the model came with."""

    image: str | None = None
    """Image backbone: a name or folder of a Hugging Face vision model; None takes what the model came with."""

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

    Without training it compares pictures with sentences in one of two ways: directly where text and image backbone
    were trained together (CLIP and the like), else over the *concept bridge*, the class names that a classifier sees
    in the picture.

    Attributes:
        name: Name of the model, as it stands in the results.
        settings: See ``LinkSettings``.
        text: The text backbone.
        image: The image backbone.
    """

    def __init__(self, name: str, text: TextBackbone, image: ImageBackbone, settings: LinkSettings) -> None:
        self.name = name
        self.text = text
        self.image = image
        self.settings = settings
        self._class_vectors: FloatMatrix | None = None

    @classmethod
    def load(cls, model: str = "default", settings: LinkSettings | None = None) -> Linker:
        """Load a model.

        Args:
            model: ``default``, or the name or folder of a dual encoder (CLIP, SigLIP).
            settings: Choices such as the evidence and the backbones.

        Raises:
            FeatureError: There is no such model, or it cannot be loaded.
        """
        from iconotext.features import (
            FeatureCache,
            cached_image,
            cached_text,
            load_dual_encoder,
            load_image_backbone,
            load_text_backbone,
        )

        settings = settings or LinkSettings()
        text: TextBackbone
        image: ImageBackbone
        if model == "default":
            text = load_text_backbone(settings.text or DEFAULT_TEXT)
            image = load_image_backbone(settings.image or DEFAULT_IMAGE)
        else:
            both = load_dual_encoder(model)
            text = load_text_backbone(settings.text) if settings.text else both.text
            image = load_image_backbone(settings.image) if settings.image else both.image
        if settings.cache:
            cache = FeatureCache()
            text, image = cached_text(text, cache), cached_image(image, cache)
        return cls(model, text, image, settings)

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
            usable = [number for number, image in enumerate(document.images) if image.file and not image.problem]
            features = self.image.encode([document.images[number].file or b"" for number in usable])
            document = _with_problems(document, usable, features)
            sentence_vectors = self.text.encode([sentence.text for sentence in document.sentences])
            cosines = self._cosines(sentence_vectors, features)
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

    def _cosines(self, sentences: FloatMatrix, features: ImageFeatures) -> FloatMatrix:
        """(sentences, encoded images) cosines: direct in a shared space, else over the concept bridge."""
        from iconotext.features import centred, concept_vectors, share_space
        from iconotext.similarity.cosine import cosine_similarity

        if share_space(self.text, self.image):
            return cosine_similarity(sentences, features.pooled)
        if self._class_vectors is None:
            self._class_vectors = self.text.encode(self.image.classes or ())
        return cosine_similarity(
            centred(sentences), concept_vectors(features, self._class_vectors, k=self.settings.concepts)
        )


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
