"""The whole walk on one screen: document → features → unit vectors → similarity → links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from iconotext.errors import IconotextError, SettingError
from iconotext.read import SUFFIXES, Failure, read
from iconotext.read.web.page import is_address
from iconotext.types import EVIDENCE, Document, Evidence, LinkedDocument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from iconotext.embed.document_space import DocumentSpace
    from iconotext.embed.folder import StoredModel
    from iconotext.embed.region_backbone import RegionBackbone
    from iconotext.embed.relation_model import RelationModel
    from iconotext.features.backbone import ImageBackbone, ImageFeatures, TextBackbone
    from iconotext.features.feature_table import FeatureTable
    from iconotext.links.explanation import Coverable
    from iconotext.types import FloatMatrix

DEFAULT_TEXT = "minilm"
DEFAULT_IMAGE = "efficientnet-lite0"


class LinkSettings(BaseModel):
    """How documents are linked; the commands that link have an option for each."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    evidence: tuple[Evidence, ...] = EVIDENCE
    """What to look at, separated by commas: picture, caption, layout, reference."""

    select: Literal["top-k", "best", "assignment", "threshold"] = "top-k"
    """Which pairs become links: ``top-k``, the k best sentences of each picture; ``best``, the best one;
    ``assignment``, at most one on both sides; ``threshold``, all that are probable enough."""

    k: int = Field(3, ge=1)
    """Sentences for each picture, with ``top-k``."""

    min_confidence: float | None = Field(None, ge=0, le=1)
    """Drop links less probable than this (default: 0.1, but 0 for pictures alone)."""

    text: str | None = None
    """Text backbone: name or folder of a sentence-transformers model (default: that of the model). The default model
    knows only its own backbones: with others it is the concept bridge, ``no-training``, that links."""

    image: str | None = None
    """Image backbone: name or folder of a Hugging Face vision model, or a table of features (``features.npy``) for a
    model that was trained on one (default: that of the model)."""

    concepts: int = Field(10, ge=1)
    """How many of a picture's most probable class names stand for it in the concept bridge (K in Hessel 2019)."""

    cache: bool = True
    """Keep features on disk, so that what has not changed is not encoded again."""

    explain: bool = False
    """Say why: the words and the parts of the picture that carry each link."""

    relations: str = "default"
    """What says how probable each coherence relation of a link's sentence and picture is: ``default``, the relation
    model that ships; the folder of a trained one; ``none``. English only."""

    @field_validator("evidence")
    @classmethod
    def _some(cls, evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
        if not evidence:
            raise ValueError(f"name at least one of {', '.join(EVIDENCE)}")
        return tuple(kind for kind in EVIDENCE if kind in evidence)

    @field_validator("explain")
    @classmethod
    def _explainable(cls, explain: bool, info: ValidationInfo) -> bool:
        if explain and "picture" not in info.data.get("evidence", EVIDENCE):
            raise ValueError("only picture evidence can be explained: let evidence name picture")
        return explain


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """A document whose pictures were looked at.

    Attributes:
        document: With the problems of its images.
        usable: Numbers of the images that have features.
        features: Of those.
        texts: The sentences.
        sentence_vectors: (S, features); None for a model that reads words.
    """

    document: Document
    usable: list[int]
    features: ImageFeatures
    texts: list[str]
    sentence_vectors: FloatMatrix | None


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
        uncached: The same backbones without the cache, for what will not be asked again.
    """

    def __init__(
        self,
        name: str,
        text: TextBackbone,
        image: ImageBackbone | None,
        settings: LinkSettings,
        *,
        stored: StoredModel | None = None,
        table: FeatureTable | RegionBackbone | None = None,
        uncached: tuple[TextBackbone, ImageBackbone | None] | None = None,
    ) -> None:
        self.name = name
        self.text = text
        self.image = image
        self.settings = settings
        self.stored = stored
        self.table = table
        self.uncached = uncached or (text, image)
        self._class_vectors: FloatMatrix | None = None
        self._relation_model: RelationModel | None = None

    @classmethod
    def load(cls, model: str = "default", settings: LinkSettings | None = None, *, download: bool = False) -> Linker:
        """Load a model.

        Args:
            model: ``default`` (the trained model that ships), the folder of a trained model, ``no-training`` (the
                concept bridge), or the name or folder of a dual encoder (CLIP, SigLIP).
            settings: Choices such as the evidence and the backbones.
            download: Whether models that are not here are fetched from the Hugging Face hub; else nothing goes to the
                network.

        Raises:
            FeatureError: There is no such model, it cannot be loaded, or it was trained on other backbones.
        """
        from iconotext.embed.folder import init_folder, is_model_folder
        from iconotext.embed.relation_model import relations_folder
        from iconotext.embed.trained import load_trained
        from iconotext.features import (
            FeatureCache,
            cached_image,
            cached_text,
            downloads,
            load_dual_encoder,
            load_image_backbone,
            load_text_backbone,
        )
        from iconotext.features.model_folder import MODELS

        if download:
            with downloads():
                return cls.load(model, settings)
        settings = settings or LinkSettings()
        if settings.relations != "none":
            relations_folder(settings.relations)  # a mistyped one shows now, not after the first document
        if model == "default" and (settings.text or settings.image):
            model = "no-training"  # other backbones than the default model knows
        text: TextBackbone
        image: ImageBackbone | None
        stored = table = None
        if is_model_folder(init_folder(model)):
            stored, text, image, table = load_trained(
                init_folder(model), text=settings.text, image=settings.image, default_text=DEFAULT_TEXT
            )
        elif model == "no-training":
            text = load_text_backbone(settings.text or DEFAULT_TEXT)
            image = load_image_backbone(settings.image or DEFAULT_IMAGE)
        else:
            both = load_dual_encoder(model, MODELS)
            text = load_text_backbone(settings.text) if settings.text else both.text
            image = load_image_backbone(settings.image) if settings.image else both.image
        uncached = text, image
        if settings.cache:
            cache = FeatureCache()
            text, image = cached_text(text, cache), None if image is None else cached_image(image, cache)
        return cls(model, text, image, settings, stored=stored, table=table, uncached=uncached)

    def __repr__(self) -> str:
        return f"Linker({self.name!r}, evidence={','.join(self.settings.evidence)})"

    def link(self, document: Document | Path | str) -> LinkedDocument:
        """Find the links of one document.

        Args:
            document: The document, or the file that holds it.

        Returns:
            The document with its links; images that turn out to be unreadable have their ``problem`` now.

        Raises:
            DocumentError: The file cannot be read.
            FeatureError: The image backbone cannot be compared with the text backbone.
            TypeError: It is neither a document nor the name of a file.
        """
        from iconotext.links import link_document

        document = _document(document)
        looked = cosines = None
        if "picture" in self.settings.evidence:
            looked = self.look(document)
            document = looked.document
            cosines = _spread(self._cosines(looked), looked.usable, len(document.images))
        linked = link_document(
            document,
            cosines,
            self.text.encode,
            evidence=self.settings.evidence,
            select=self.settings.select,
            k=self.settings.k,
            min_confidence=self.settings.min_confidence,
            model=self.name,
            sentence_vectors=looked.sentence_vectors if looked else None,
        )
        if self.settings.relations != "none":
            linked = self._related(linked, looked)
        return self._explained(linked, looked) if self.settings.explain and looked else linked

    def explain(self, linked: LinkedDocument) -> LinkedDocument:
        """Say for every link which words and which parts of the picture carry its picture evidence.

        Each link gets its ``explanation``, if there is anything to be seen of its picture;
        ``iconotext.links.explanation`` says how. A picture is encoded some 25 times, each sentence of a link once a
        word; nothing of that goes into the cache.

        Args:
            linked: What ``link`` gave, of this linker.

        Raises:
            SettingError: The linker does not look at pictures: its ``evidence`` lacks ``picture``.
            ImageError: A linked picture is not there any more.
        """
        if "picture" not in self.settings.evidence:
            raise SettingError("explain: only picture evidence can be explained, and evidence does not name picture")
        return self._explained(linked, self.look(linked.document))

    def link_all(self, documents: Iterable[Document | Path | str | Failure]) -> Iterator[LinkedDocument | Failure]:
        """Link many documents, one after the other; one that cannot be linked gives a ``Failure`` and stops nothing.

        Args:
            documents: Documents, the files that hold them, or what ``read_all`` gives.

        Raises:
            TypeError: Something is neither a document nor the name of a file.
        """
        if isinstance(documents, (str, Path, Document)):
            raise TypeError(f"link_all takes a list of documents; link takes one, such as {documents!r:.60}")
        for document in documents:
            if isinstance(document, Failure):
                yield document
                continue
            try:
                yield self.link(document)
            except IconotextError as error:
                where = document.source or document.id if isinstance(document, Document) else document
                yield Failure(Path(where), error)

    def _explained(self, linked: LinkedDocument, looked: Looked) -> LinkedDocument:
        from iconotext.links.explanation import explain_links

        space = self.space(looked)
        vectors = dict(zip(looked.usable, space.images(looked.features), strict=True))
        seen = [link for link in linked.links if link.image in vectors]
        found = explain_links(
            seen, looked.texts, vectors, space.sentences, lambda image: self._coverable(looked, image, space)
        )
        explained = {(link.sentence, link.image): why for link, why in zip(seen, found, strict=True)}
        links = (replace(link, explanation=explained.get((link.sentence, link.image))) for link in linked.links)
        return replace(linked, links=tuple(links))

    def _related(self, linked: LinkedDocument, looked: Looked | None) -> LinkedDocument:
        """The links with their relations; a picture has its say if the relation model's image backbone has seen it."""
        from iconotext.links.relations import with_relations

        if self._relation_model is None:
            from iconotext.embed.relation_model import load_relation_model, relations_folder
            from iconotext.features import FeatureCache

            cache = FeatureCache() if self.settings.cache else None
            self._relation_model = load_relation_model(relations_folder(self.settings.relations), cache=cache)
        seen = self.image is not None and self.image.name == self._relation_model.backbones["image"]
        known = looked if seen and self.table is None else None
        pooled = dict(zip(known.usable, known.features.pooled, strict=True)) if known else {}
        return with_relations(linked, self._relation_model, pooled)

    def _coverable(self, looked: Looked, image: int, space: DocumentSpace) -> Coverable | None:
        """An image of which parts can be taken away; None where only its features are known."""
        from iconotext.embed.region_backbone import RegionBackbone
        from iconotext.features.backbone import ImageFeatures
        from iconotext.links.occlusion import coverable_image
        from iconotext.links.removal import coverable_regions

        _, backbone = self.uncached
        reading = self.table if self.table is not None else backbone
        if isinstance(reading, RegionBackbone):
            regions = reading.look([looked.document.images[image]])

            def without(left_out: NDArray[np.bool_]) -> FloatMatrix:
                vectors = reading.encode_without(regions, left_out)
                return space.images(ImageFeatures(vectors, problems=(None,) * len(vectors)))

            return coverable_regions(regions, without)
        if self.table is not None or backbone is None:
            return None
        return coverable_image(
            looked.document.images[image].file or b"", lambda files: space.images(backbone.encode(files))
        )

    def look(self, document: Document) -> Looked:
        """Encode the images that can be, and the sentences."""
        if self.table is not None:
            document, usable, features = _looked_up(document, self.table)
        else:
            assert self.image is not None
            usable = [number for number, image in enumerate(document.images) if image.file and not image.problem]
            features = self.image.encode([document.images[number].file or b"" for number in usable])
            document = _with_problems(document, dict(zip(usable, features.problems, strict=True)))
        texts = [sentence.text for sentence in document.sentences]
        reads_words = self.stored is not None and self.stored.vocabulary is not None
        return Looked(document, usable, features, texts, None if reads_words else self.text.encode(texts))

    def _cosines(self, looked: Looked) -> FloatMatrix:
        """(sentences, encoded images): the trained model's, direct in a shared space, or over the concept bridge."""
        from iconotext.features import centred, concept_vectors, share_space
        from iconotext.similarity.cosine import cosine_similarity

        if self.stored is not None:
            from iconotext.embed.joint import joint_cosines

            return joint_cosines(
                self.stored, looked.texts, looked.sentence_vectors, looked.features, self._bridge_classes()
            )
        assert self.image is not None
        assert looked.sentence_vectors is not None
        if share_space(self.text, self.image):
            return cosine_similarity(looked.sentence_vectors, looked.features.pooled)
        concepts = concept_vectors(looked.features, self._classes(self.image.classes), k=self.settings.concepts)
        return cosine_similarity(centred(looked.sentence_vectors), concepts)

    def space(self, looked: Looked) -> DocumentSpace:
        """The space in which ``_cosines`` are products, with the document as it is."""
        from iconotext.embed.document_space import bridge_space, shared_space
        from iconotext.features import share_space

        encode = self.uncached[0].encode
        if self.stored is not None:
            from iconotext.embed.joint import joint_space

            classes = self._bridge_classes()
            return joint_space(self.stored, looked.texts, looked.sentence_vectors, looked.features, classes, encode)
        assert self.image is not None
        assert looked.sentence_vectors is not None
        if share_space(self.text, self.image):
            return shared_space(encode)
        classes = self._classes(self.image.classes)
        return bridge_space(looked.sentence_vectors, classes, encode, k=self.settings.concepts)

    def _bridge_classes(self) -> FloatMatrix | None:
        """The class names for the bridge beside a trained model; None where it has none."""
        assert self.stored is not None
        if not self.stored.recipe.linking.bridge:
            return None
        return self._classes(self.image.classes if self.image is not None else None)

    def _classes(self, names: Sequence[str] | None) -> FloatMatrix:
        """The class names as text, encoded once."""
        if self._class_vectors is None:
            self._class_vectors = self.text.encode(names or ())
        return self._class_vectors


def _document(given: Document | Path | str) -> Document:
    if isinstance(given, Document):
        return given
    if given == "":
        raise TypeError("link takes a Document or the name of a file, not an empty text")
    if isinstance(given, Path) or (isinstance(given, str) and (is_address(given) or _names_file(given))):
        return read(given)
    if isinstance(given, str):
        raise TypeError(
            f"no file is called {given[:60]!r}: give link the name of a file, or for text of your own "
            'Document("name", sentences=[...], images=[...])'
        )
    raise TypeError(f"link takes a Document or the name of a file, not {_kind(given)}")


def _kind(given: object) -> str:
    return "None" if given is None else f"a {type(given).__name__}"


def _names_file(text: str) -> bool:
    """Whether a text is the name of a file, or looks like one: then reading it says what is wrong."""
    try:
        return Path(text).exists() or Path(text).suffix.lower() in SUFFIXES
    except (OSError, ValueError):  # too long for a name, or with characters that none has
        return False


def _looked_up(document: Document, table: FeatureTable | RegionBackbone) -> tuple[Document, list[int], ImageFeatures]:
    """Which images the table knows, and their features; whether there are files of them does not matter."""
    from iconotext.embed.region_backbone import RegionBackbone
    from iconotext.features.backbone import ImageFeatures

    images = document.images
    if isinstance(table, RegionBackbone):
        found = table.encode_images(images)
        problems = list(found.problems)
        usable = [number for number, problem in enumerate(problems) if problem is None]
        rows = found.pooled[usable]
    else:
        problems = [None if image.source in table else f"{table.path.name} has no features of it" for image in images]
        usable = [number for number, problem in enumerate(problems) if problem is None]
        rows = table.rows([images[number].source for number in usable])
    document = _with_problems(document, dict(enumerate(problems)))
    return document, usable, ImageFeatures(rows, problems=(None,) * len(usable))


def _spread(cosines: FloatMatrix, columns: list[int], images: int) -> FloatMatrix:
    """The columns at their places among all images of the document; 0 for an image that was not encoded."""
    import numpy as np

    spread = np.zeros((len(cosines), images), np.float32)
    spread[:, columns] = cosines
    return spread


def _with_problems(document: Document, problems: Mapping[int, str | None]) -> Document:
    """The document with the problems of some of its images, by number."""
    images = list(document.images)
    for number, problem in problems.items():
        image = images[number]
        images[number] = replace(image, problem=problem and problem.removeprefix(f"{image.file!s}: "))
    return replace(document, images=tuple(images))
