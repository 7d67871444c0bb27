"""WIKI: English articles of Wikipedia with their pictures, from ImageCLEF 2010/2011 (Hessel 2019, §6; supplement §1).

Nobody knows which sentences belong to which picture, so the documents have no links. Captions are no sentences.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from iconotext.corpus.builders.frame.build import Build, Values
from iconotext.corpus.builders.frame.random_splits import with_random_splits
from iconotext.corpus.builders.images.problem import image_problem
from iconotext.corpus.published_sizes import PUBLISHED
from iconotext.corpus.split import Shares
from iconotext.corpus.texts import digest_of
from iconotext.errors import CorpusError, DocumentError
from iconotext.papers.datasets.wikipedia.imageclef import (
    WHERE,
    article_images,
    article_key,
    article_markup,
    files_in,
    image_place,
    part_of,
    read_image,
)
from iconotext.papers.datasets.wikipedia.wikitext import paragraphs
from iconotext.read.sentences import split_sentences

COLLECTION = 237_434
"""Pictures in the collection, as its makers say."""


class WikiSettings(BaseModel):
    """The rules; the defaults are the published ones."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_sentences: int = Field(100, ge=1)
    """Sentences that are kept, from the beginning."""

    min_sentences: int = Field(10, ge=1)
    """Of a document."""

    min_images: int = Field(3, ge=1)
    """Valid images of a document."""

    validation: float = Field(1 / 16, ge=0, lt=1)
    """Share of the documents."""

    test: float = Field(1 / 16, ge=0, lt=1)
    """The same for test."""


class _Images:
    """What the metadata say, some forty bytes for each picture, and which pictures each article has."""

    def __init__(self) -> None:
        self._files = bytearray()
        self._ends = array("q")
        self._names = array("Q"), array("q")  # digests of names in Wikipedia, and the pictures' numbers
        self._articles = array("Q"), array("q")  # digests of articles, and the numbers of pictures that name them

    def __len__(self) -> int:
        return len(self._ends)

    def add(self, image: dict[str, Any]) -> None:
        """One more, before ``close``."""
        number = len(self._ends)
        self._files += image["file"].encode("utf-8", "surrogateescape")
        self._ends.append(len(self._files))
        for keys, (digests, numbers) in (([image["name"]], self._names), (image["articles"], self._articles)):
            for key in keys:
                if key:
                    digests.append(digest_of(key))
                    numbers.append(number)

    def close(self) -> None:
        """The last one has been added."""
        self._named = _Lookup(*self._names)
        self._naming = _Lookup(*self._articles)

    def file(self, number: int) -> str:
        """Of a picture: ``9/82531.jpg``."""
        start = self._ends[number - 1] if number else 0
        return self._files[start : self._ends[number]].decode("utf-8", "surrogateescape")

    def of(self, article: str, names: list[str]) -> list[int]:
        """Numbers of an article's pictures: first those that it names, in its order, then those that name it.

        Of two pictures with the same name in Wikipedia the first counts.
        """
        named = (number for name in names for number in self._named.of(name)[:1])
        return list(dict.fromkeys([*named, *self._naming.of(article)]))


class _Lookup:
    """Numbers by text, of which only digests are kept; the numbers of one text in the order in which they came."""

    def __init__(self, digests: array[int], numbers: array[int]) -> None:
        import numpy as np

        keys = np.frombuffer(digests, np.uint64)
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._numbers = np.frombuffer(numbers, np.int64)[order]

    def of(self, text: str) -> list[int]:
        """The numbers of a text."""
        import numpy as np

        key = np.uint64(digest_of(text))
        start, end = self._keys.searchsorted(key, "left"), self._keys.searchsorted(key, "right")
        found: list[int] = self._numbers[start:end].tolist()
        return found


def wiki_rows(build: Build, source: Path, settings: WikiSettings, *, images: Path | None = None) -> Iterator[Values]:
    """The documents, in the order of the articles' numbers.

    Args:
        build: The run.
        source: Folder into which the archives of the collection were unpacked.
        settings: The rules.
        images: The folder ``images`` of the collection, where it is not in the source.

    Raises:
        CorpusError: A part of the collection is missing.
    """
    report = build.report
    shares = Shares(settings.validation, settings.test)
    metadata = part_of(source, "metadata", "all_metadata.zip (or metadata.zip)")
    texts = part_of(source, "text/en", "all_text.zip")
    folder = images or part_of(source, "images", "the image archives (1.tar.gz to 26.tar.gz)")
    if not folder.is_dir():
        raise CorpusError(f"{folder}: not a folder; name the one that has the pictures (1/1.jpg and so on)")
    pictures = _read_metadata(build, metadata)
    articles = _articles_with_images(build, texts, pictures, settings)
    _keep_good_images(build, folder, pictures, articles, settings)
    report.count(f"articles with {settings.min_images} pictures that can be used", len(articles))
    if not articles:
        raise CorpusError(f"{folder}: no article has {settings.min_images} pictures that are there; {WHERE} has them")
    documents = _documents(build, texts, folder, pictures, articles, settings)
    build.published = PUBLISHED["WIKI"]
    yield from with_random_splits(build, documents, shares)


def _read_metadata(build: Build, folder: Path) -> _Images:
    pictures = _Images()
    ways = (way for way in files_in(folder) if way.endswith(".xml"))
    results = build.mapped("metadata", ways, partial(read_image, folder=str(folder)), label="Reading metadata")
    for way, result in zip((way for way in files_in(folder) if way.endswith(".xml")), results, strict=True):
        if isinstance(result, str):
            build.report.drop("metadata that cannot be read", way, result)
        else:
            pictures.add(result)
    pictures.close()
    if not len(pictures):
        raise CorpusError(
            f"{folder}: no metadata in it, which are 1/1.xml and so on; unpack all_metadata.zip ({WHERE})"
        )
    build.report.count("pictures in the metadata", len(pictures), COLLECTION)
    return pictures


def _articles_with_images(
    build: Build, folder: Path, pictures: _Images, settings: WikiSettings
) -> dict[str, array[int]]:
    """By the way to each article that has so many pictures in the collection, their numbers."""
    ways = list(files_in(folder))
    if not ways:
        raise CorpusError(f"{folder}: no articles in it, which are 1/1.xml and so on; unpack all_text.zip ({WHERE})")
    results = build.mapped(
        "articles", ways, partial(article_images, folder=str(folder)), total=len(ways), label="Reading articles"
    )
    found: dict[str, array[int]] = {}
    for way, result in zip(ways, results, strict=True):
        if isinstance(result, dict):
            build.report.drop("article that cannot be read", way, result["problem"])
            continue
        numbers = pictures.of(article_key(way), result)
        if len(numbers) >= settings.min_images:
            found[way] = array("i", numbers)
        else:
            build.report.drop(f"fewer than {settings.min_images} images", way, f"{len(numbers)} in the collection")
    build.report.count("English articles", len(ways))
    build.report.count(f"articles with {settings.min_images} pictures in the collection", len(found))
    return found


def _keep_good_images(
    build: Build, folder: Path, pictures: _Images, articles: dict[str, array[int]], settings: WikiSettings
) -> None:
    """Look at the pictures of the articles; leave out those that cannot be used, then articles that have too few."""
    report = build.report
    wanted = bytearray(len(pictures))
    for found in articles.values():
        for number in found:
            wanted[number] = 1
    numbers = array("i", (number for number, is_wanted in enumerate(wanted) if is_wanted))
    look = partial(collection_image, folder=str(folder))
    files = (pictures.file(number) for number in numbers)
    results = build.mapped("pictures", files, look, total=len(numbers), label="Looking at pictures")
    good = bytearray(len(pictures))
    for number, (place, problem) in zip(numbers, results, strict=True):
        file = pictures.file(number)
        if place != image_place(file, folder):  # it came or went after a build that was killed had looked at it
            place, problem = look(file)
        if problem is None and place is not None:
            good[number] = 1
        else:
            report.drop("picture that cannot be used", file, problem or "")
    report.count("different pictures in them that can be used", good.count(1))
    for way, found in list(articles.items()):
        usable = array("i", (number for number in found if good[number]))
        articles[way] = usable
        if len(usable) < settings.min_images:
            del articles[way]
            report.drop(f"fewer than {settings.min_images} images", way, f"{len(usable)} that can be used")


def collection_image(file: str, *, folder: str) -> tuple[str | None, str | None]:
    """The way to a picture, None where there is none; and why it cannot be used, None for a good one."""
    place = image_place(file, Path(folder))
    return place, "not found" if place is None else image_problem(str(Path(folder, place)))


def _documents(
    build: Build,
    texts: Path,
    folder: Path,
    pictures: _Images,
    articles: dict[str, array[int]],
    settings: WikiSettings,
) -> Iterator[Values]:
    work = partial(article_sentences, folder=str(texts), most=settings.max_sentences)
    results = build.mapped("sentences", articles, work, total=len(articles), label="Splitting sentences")
    kept = 0
    for (way, numbers), result in zip(articles.items(), results, strict=True):
        if "problem" in result:
            build.report.drop("article that cannot be read", way, result["problem"])
        elif len(result["sentences"]) < settings.min_sentences:
            number = len(result["sentences"])
            build.report.drop(f"fewer than {settings.min_sentences} sentences", way, f"{number} sentences")
        else:
            kept += 1
            places = (image_place(pictures.file(number), folder) for number in numbers)
            title = {"title": result["title"]} if result["title"] else {}
            yield {
                "id": article_key(way),
                "sentences": result["sentences"],
                "images": [build.way(folder / place) for place in places if place is not None],
                "meta": title | {"language": "en"},
            }
    build.report.count(f"documents with {settings.min_sentences} sentences", kept, 16_000, rounding=1000)


def article_sentences(way: str, *, folder: str, most: int) -> dict[str, Any]:
    """Title and first sentences of an article; or ``{"problem": why it cannot be read}``."""
    try:
        title, markup = article_markup(Path(folder, way))
        blocks = paragraphs(markup)
    except (DocumentError, ValueError) as error:
        return {"problem": str(error)}
    sentences = (block[start:end] for block in blocks for start, end in split_sentences(block, "en"))
    worded = (sentence for sentence in sentences if any(character.isalnum() for character in sentence))
    return {"title": title, "sentences": list(islice(worded, most))}
