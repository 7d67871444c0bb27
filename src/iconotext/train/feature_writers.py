"""Writes the inputs of training to arrays on disk: sentences, images, and posteriors by other evidence."""

from __future__ import annotations

import hashlib
import io
import json
import sqlite3
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL.Image import Image as Pillow
from PIL.Image import Resampling, Transpose

from iconotext.corpus.convert import region_path, table_path
from iconotext.decide.combine import weigh_evidence
from iconotext.encoders.load import DEFAULT_TEXT
from iconotext.errors import FeatureError, ImageError
from iconotext.evidence.caption import Reading
from iconotext.evidence.language import is_foreign, no_meaning
from iconotext.features.cached_backbones import encoded_once
from iconotext.features.languages import encode_texts
from iconotext.features.regions import RegionSource, strongest
from iconotext.features.word_vectors import UNKNOWN, Vocabulary, words_of
from iconotext.images import decode
from iconotext.recipe import Recipe
from iconotext.system.files import write_text
from iconotext.train.arrays import ArrayWriter, OffsetWriter, SpanWriter, span_places
from iconotext.train.prepared import FILES, Prepared
from iconotext.types import Document, Image

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.backbone import ImageBackbone, TextBackbone
    from iconotext.features.feature_table import FeatureTable
    from iconotext.types import Evidence

COUNT_CHUNK, REGION_CHUNK, AUGMENTATION_CHUNK = 4096, 256, 64
"""What is in memory at a time: documents whose words are counted, images whose regions are read, and augmented images,
which are encoded pictures."""

SMALLEST = 0.75
"""Smallest side of an augmentation's part, as a share of the picture's side."""

SIDE = 256
"""Width and height of an augmentation in pixels; proportions are lost, as in the image backbone."""


def sentence_writer(
    recipe: Recipe, work: Path, numbers: Numbers | None, stack: ExitStack, backbone: TextBackbone | None
) -> SentenceWriter:
    """Make the writer for sentences in the recipe's form: words, or vectors."""
    if recipe.words is not None and numbers is not None:
        longest = recipe.words.max_tokens
        return _WordWriter(lambda texts: [numbers.ids(t, max_tokens=longest) for t in texts], work, stack)
    assert backbone is not None  # see ``caption_backbone``
    return _SentenceVectorWriter(backbone, work, stack)


class WordNumbers:
    """Numbers words in order of appearance; the vocabulary is known only when the training documents are.

    Attributes:
        numbers: Number of each word so far.
    """

    def __init__(self) -> None:
        self.numbers = {UNKNOWN: 0}

    def ids(self, text: str, *, max_tokens: int) -> list[int]:
        """See ``Vocabulary.ids``."""
        return [self.numbers.setdefault(word, len(self.numbers)) for word in words_of(text)[:max_tokens]] or [0]


def count_words(prepared: Prepared, documents: NDArray[np.int64], words: Sequence[str]) -> Counter[str]:
    """Count the words in documents, without words beyond the recipe's longest sentence; ``words``: words by number."""
    assert prepared.words is not None
    ids, offsets = prepared.words
    total = Counter[str]()
    for chunk in np.array_split(documents, len(documents) // COUNT_CHUNK + 1):
        places = span_places(offsets, span_places(prepared.sentence_offsets, chunk))
        numbers, counts = np.unique(ids[places], return_counts=True)
        total.update({words[number]: count for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)})
    del total[UNKNOWN]  # stands for sentences without words
    return total


Numbers = Vocabulary | WordNumbers
"""An object that turns words into numbers."""


class _WordWriter:
    """Writes sentences as the numbers of their words."""

    arrays: tuple[str, ...] = ("words", "word_offsets")
    dim = 0
    name = "words"

    def __init__(self, ids: Callable[[Sequence[str]], list[list[int]]], work: Path, stack: ExitStack) -> None:
        self._ids = ids
        self._words = SpanWriter(work, ("words", "word_offsets"), "<i4", stack)

    def append(self, documents: Sequence[Document]) -> None:
        self._words.append(self._ids([sentence.text for document in documents for sentence in document.sentences]))


def caption_backbone(recipe: Recipe) -> TextBackbone | None:
    """Load the text backbone for sentences, or for captions (posterior objective); None if neither is needed."""
    from iconotext.features import FeatureCache, cached_text, load_text_backbone

    if not recipe.objective.posterior and recipe.words is not None:
        return None
    name = DEFAULT_TEXT if recipe.words else recipe.features.text
    return cached_text(load_text_backbone(name), FeatureCache())


class _SentenceVectorWriter:
    """Writes sentences as vectors of the text backbone."""

    arrays: tuple[str, ...] = ("sentences",)

    def __init__(self, backbone: TextBackbone, work: Path, stack: ExitStack) -> None:
        self._backbone = backbone
        self.dim, self.name = backbone.dim, backbone.name
        self._vectors = stack.enter_context(ArrayWriter(work / "sentences", "<f2", (self.dim,)))

    def append(self, documents: Sequence[Document]) -> None:
        texts = [(document.language, [sentence.text for sentence in document.sentences]) for document in documents]
        backbone = encoded_once(self._backbone, [(text, language) for language, group in texts for text in group])
        for language, group in texts:
            self._vectors.append(encode_texts(backbone, group, language))


SentenceWriter = _WordWriter | _SentenceVectorWriter

TEACHERS: tuple[Evidence, ...] = ("caption", "layout", "reference")
"""The kinds of evidence from which the picture evidence learns."""


class PosteriorWriter:
    """Writes the probability of each sentence and image; nothing without the posterior objective."""

    def __init__(self, recipe: Recipe, work: Path, stack: ExitStack, backbone: TextBackbone | None) -> None:
        self.arrays: tuple[str, ...] = ("posteriors",) if recipe.objective.posterior else ()
        self._text = backbone
        if self.arrays:
            self._values = stack.enter_context(ArrayWriter(work / "posteriors", "<f2"))

    def append(self, document: Document, rows: NDArray[np.int64]) -> None:
        """Write a document; ``rows``: (images,) row of each image, -1 if it is left out."""
        if self.arrays and self._text is not None:
            encode = (
                no_meaning
                if is_foreign(document, self._text)
                else partial(encode_texts, self._text, language=document.language)
            )
            weighed = weigh_evidence(document, None, Reading(encode), evidence=TEACHERS)
            self._values.append(weighed.share[:, rows >= 0].ravel())


class ImageWriter(ABC):
    """Writes images; its subclasses do so for each kind of input.

    Attributes:
        arrays: Names of the arrays that it writes.
        dim: Length of a row; 0 for pixels.
        name: Name of the image backbone or the source of regions; ``pixels``; or the fingerprint of a table.
    """

    arrays: tuple[str, ...]
    dim: int
    name: str

    def key(self, corpus: int, image: Image) -> str:
        """Return a key that is equal for images that are stored once: of the same file, bytes, or else address."""
        if isinstance(image.file, bytes):
            return hashlib.sha256(image.file).hexdigest()
        return f"{corpus}\n{image.source}" if image.file is None else str(image.file.absolute())

    @abstractmethod
    def add(self, corpus: int, images: Mapping[str, Image]) -> Sequence[str | None]:
        """Write images by their keys.

        Returns:
            For each image None if it got the next row, else the reason why it is unusable.
        """


class ImageSource(NamedTuple):
    """The source of the features of images; empty for networks that read pixels.

    Attributes:
        backbone: The backbone for all corpora.
        regions: For each corpus the source of its images' regions; may be the same one.
        tables: For each corpus a table of features.
    """

    backbone: ImageBackbone | None = None
    regions: Sequence[RegionSource] = ()
    tables: Sequence[FeatureTable] = ()


def image_source(recipe: Recipe, corpora: Sequence[Path]) -> ImageSource:
    """Load the source of the recipe's image features."""
    from iconotext.features import FeatureCache, cached_image, load_image_backbone

    name = recipe.features.image
    if recipe.regions is not None:
        return ImageSource(regions=_region_sources(name, corpora))
    if name.endswith(".npy"):
        return ImageSource(tables=_tables(name, corpora))
    if name == "pixels":
        return ImageSource()
    return ImageSource(cached_image(load_image_backbone(name), FeatureCache()))


def image_writer(recipe: Recipe, work: Path, stack: ExitStack, source: ImageSource) -> ImageWriter:
    """Make the writer for images in the recipe's form: features, regions, or files of pixels."""
    if source.backbone is not None:
        return _BackboneWriter(source.backbone, recipe.features.augmentations, work, stack)
    if source.regions:
        return _RegionWriter(source.regions, recipe.regions.max_regions if recipe.regions else None, work, stack)
    if source.tables:
        return _TableWriter(source.tables, work, stack)
    return _FileWriter(work, stack)


class ImageRows:
    """Assigns a row to each different image when it first occurs.

    The rows are in a database on disk, so that memory does not grow with the number of images.
    """

    def __init__(self, writer: ImageWriter, stack: ExitStack) -> None:
        self._writer = writer
        self._rows = stack.enter_context(closing(sqlite3.connect("")))
        self._rows.execute("CREATE TABLE images (key TEXT PRIMARY KEY, row) WITHOUT ROWID")
        self._count = 0

    def of(self, corpus: int, documents: Sequence[Document]) -> list[list[int | str]]:
        """Return for each document of a corpus the rows of its images, or the reason why an image is unusable."""
        keys = [[self._writer.key(corpus, image) for image in document.images] for document in documents]
        new: dict[str, Image] = {}
        for document, document_keys in zip(documents, keys, strict=True):
            for image, key in zip(document.images, document_keys, strict=True):
                if key not in new and self._row(key) is None:
                    new[key] = image
        rows: list[int | str] = []
        for problem in self._writer.add(corpus, new):
            rows.append(self._count if problem is None else problem)
            self._count += problem is None
        self._rows.executemany("INSERT INTO images VALUES (?, ?)", zip(new, rows, strict=True))
        return [[row for key in document_keys if (row := self._row(key)) is not None] for document_keys in keys]

    def _row(self, key: str) -> int | str | None:
        row = self._rows.execute("SELECT row FROM images WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]


class _FileWriter(ImageWriter):
    """Writes the files of images that can be decoded."""

    arrays: tuple[str, ...] = ()
    dim = 0
    name = "pixels"

    def __init__(self, work: Path, stack: ExitStack) -> None:
        self._files: list[str] = []
        stack.callback(lambda: write_text(work / FILES, json.dumps(self._files), force=True))

    def add(self, corpus: int, images: Mapping[str, Image]) -> Sequence[str | None]:
        problems = [image.problem or _unreadable(image.file) for image in images.values()]
        self._files += [key for key, problem in zip(images, problems, strict=True) if problem is None]
        return problems


class _TableWriter(ImageWriter):
    """Writes rows of feature tables."""

    arrays: tuple[str, ...] = ("images",)

    def __init__(self, tables: Sequence[FeatureTable], work: Path, stack: ExitStack) -> None:
        self._tables = tables
        self.dim = tables[0].dim
        self.name = "+".join(dict.fromkeys(table.fingerprint for table in tables))
        self._vectors = stack.enter_context(ArrayWriter(work / "images", "<f2", (self.dim,)))

    def key(self, corpus: int, image: Image) -> str:
        return f"{self._tables[corpus].path}\n{image.source}"

    def add(self, corpus: int, images: Mapping[str, Image]) -> Sequence[str | None]:
        vectors, problems = self._tables[corpus].look_up([image.source for image in images.values()])
        self._vectors.append(vectors[[problem is None for problem in problems]])
        return problems


class _RegionWriter(ImageWriter):
    """Writes the strongest regions of images."""

    arrays: tuple[str, ...] = ("regions", "region_concepts", "region_offsets")

    def __init__(self, sources: Sequence[RegionSource], most: int | None, work: Path, stack: ExitStack) -> None:
        self._sources, self._most = sources, most
        self.dim = sources[0].dim
        self.name = "+".join(dict.fromkeys(source.name for source in sources))
        self._vectors = stack.enter_context(ArrayWriter(work / "regions", "<f2", (self.dim,)))
        self._concepts = stack.enter_context(ArrayWriter(work / "region_concepts", "<i4"))
        self._offsets = stack.enter_context(OffsetWriter(work / "region_offsets"))

    def key(self, corpus: int, image: Image) -> str:
        single = len(set(map(id, self._sources))) == 1
        return super().key(corpus, image) if single else f"{corpus}\n{image.source}"

    def add(self, corpus: int, images: Mapping[str, Image]) -> Sequence[str | None]:
        every = list(images.values())
        problems: list[str | None] = []
        for at in range(0, len(every), REGION_CHUNK):
            for regions_of in self._sources[corpus].regions(every[at : at + REGION_CHUNK]):
                problems.append(regions_of if isinstance(regions_of, str) else None)
                if not isinstance(regions_of, str):
                    regions = strongest(regions_of, self._most)
                    self._vectors.append(regions.features)
                    self._concepts.append(regions.concepts)
                    self._offsets.append_spans([len(regions.features)])
        return problems


class _BackboneWriter(ImageWriter):
    """Writes features from an image backbone, of images and their augmentations."""

    def __init__(self, backbone: ImageBackbone, augmentations: int, work: Path, stack: ExitStack) -> None:
        self._backbone, self._count = backbone, augmentations
        self.dim, self.name = backbone.dim, backbone.name
        self._vectors = stack.enter_context(ArrayWriter(work / "images", "<f2", (self.dim,)))
        self.arrays: tuple[str, ...] = ("images",)
        if augmentations:
            self.arrays += ("augmentations",)
            writer = ArrayWriter(work / "augmentations", "<f2", (augmentations, self.dim))
            self._augmentations = stack.enter_context(writer)

    def add(self, corpus: int, images: Mapping[str, Image]) -> Sequence[str | None]:
        files = {key: image.file for key, image in images.items() if image.file and not image.problem}
        features = self._backbone.encode(list(files.values()))
        usable = [problem is None for problem in features.problems]
        self._vectors.append(features.pooled[usable])
        if self._count:
            self._augmentations.append(self._augmented(list(compress(files.values(), usable))))
        problems = dict(zip(files, features.problems, strict=True))
        return [problems.get(key, image.problem or "no file") for key, image in images.items()]

    def _augmented(self, files: Sequence[Path | bytes]) -> NDArray[np.float32]:
        """Encode the augmentations of pictures that can be read: (files, augmentations, features)."""
        encoded = np.zeros((len(files), self._count, self.dim), np.float32)
        for number in range(self._count):
            for at in range(0, len(files), AUGMENTATION_CHUNK):
                pictures = [augmentation(file, number) for file in files[at : at + AUGMENTATION_CHUNK]]
                encoded[at : at + len(pictures), number] = self._backbone.encode(pictures).pooled
        return encoded


def augmentation(file: Path | bytes, number: int) -> bytes:
    """Cut a random part out of a picture, mirrored for every second number, and encode it.

    It depends only on the pixels and the number.
    """
    image = decode(file, at_least=SIDE)
    rng = np.random.default_rng([number, *image.size, *image.resize((4, 4)).tobytes()[:16]])
    part = image.resize((SIDE, SIDE), Resampling.BICUBIC, _random_box(image, rng))
    if number % 2 == 0:
        part = part.transpose(Transpose.FLIP_LEFT_RIGHT)
    encoded = io.BytesIO()
    part.save(encoded, "BMP")  # fast and lossless
    return encoded.getvalue()


def _random_box(image: Pillow, rng: np.random.Generator) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of a random part of a picture."""
    across, down = (max(1, round(side * rng.uniform(SMALLEST, 1))) for side in image.size)
    left, top = int(rng.integers(image.width - across + 1)), int(rng.integers(image.height - down + 1))
    return left, top, left + across, top + down


def _unreadable(file: Path | bytes | None) -> str | None:
    """Return the reason why a picture cannot be decoded in training; None if it can."""
    if not isinstance(file, Path):
        return "no file of its own"
    try:
        decode(file)
    except ImageError as error:
        return str(error)
    return None


def _region_sources(image: str, corpora: Sequence[Path]) -> list[RegionSource]:
    """Load for each corpus the source of its regions; may be the same one."""
    from iconotext.features import FeatureCache, load_regions

    names = [str(region_path(image, corpus) or image) for corpus in corpora]
    cache = FeatureCache()
    loaded = {name: load_regions(name, cache=cache) for name in dict.fromkeys(names)}
    if len({(source.dim, source.concepts) for source in loaded.values()}) > 1:
        raise FeatureError(f"{', '.join(loaded)}: features of different lengths, or different names of concepts")
    return [loaded[name] for name in names]


def _tables(name: str, corpora: Sequence[Path]) -> list[FeatureTable]:
    """Load the table of each corpus; ``FeatureError`` if one is missing, or they differ in the length of rows."""
    from iconotext.features.feature_table import load_feature_table

    paths = [table_path(name, corpus) for corpus in corpora]
    loaded = {path: load_feature_table(path) for path in dict.fromkeys(paths)}
    dims = {table.dim for table in loaded.values()}
    if len(dims) > 1:
        raise FeatureError(f"{', '.join(map(str, loaded))}: rows of different lengths, {', '.join(map(str, dims))}")
    return [loaded[path] for path in paths]
