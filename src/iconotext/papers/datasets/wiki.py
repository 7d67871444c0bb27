"""WIKI: English articles of Wikipedia with their pictures, from ImageCLEF 2010/2011 (Hessel 2019, §6; supplement §1).

Nobody knows which sentences belong to which picture, so the documents have no links. Captions are no sentences.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from iconotext.corpus.builders.find_images import image_problem
from iconotext.corpus.builders.settings import DataSetSettings
from iconotext.corpus.published_sizes import PUBLISHED
from iconotext.corpus.split import Shares
from iconotext.errors import CorpusError, DocumentError
from iconotext.papers.datasets.imageclef import (
    WHERE,
    article_images,
    article_key,
    article_markup,
    files_in,
    image_place,
    part_of,
    read_image,
)
from iconotext.papers.datasets.wikitext import paragraphs
from iconotext.read.sentences import split_sentences

if TYPE_CHECKING:
    from iconotext.corpus.builders.run import Build, Values

COLLECTION = 237_434
"""Pictures in the collection, as its makers say."""


class Settings(DataSetSettings):
    """Make WIKI (Hessel 2019): English articles of Wikipedia with three pictures or more; without gold links.

    The source is the folder into which the archives of the ImageCLEF 2010/2011 collection were unpacked: it has folders
    metadata, text/en and images, in it or in folders in it.

    **Examples**

    - `iconotext corpus build wiki --source imageclef/ --output wiki.jsonl`
    - `iconotext corpus build wiki -s imageclef/ -o wiki.parquet --images /data/images --max-sentences 50`
    """

    max_sentences: int = Field(100, ge=1)
    """Sentences that are kept, from the beginning."""

    min_sentences: int = Field(10, ge=1)
    """Sentences of a document."""

    min_images: int = Field(3, ge=1)
    """Valid images of a document."""

    validation: float = Field(1 / 16, ge=0, lt=1)
    """Share of the documents for validation."""

    test: float = Field(1 / 16, ge=0, lt=1)
    """The same for test."""

    seed: int = 0
    """Seed of the random choices."""


@dataclass(slots=True)
class Pictures:
    """What the metadata say of the pictures of the collection, which are numbered.

    Attributes:
        files: Of each: ``9/82531.jpg``.
        by_name: The first picture of each name in Wikipedia.
        by_article: The pictures that name an article.
    """

    files: list[str] = field(default_factory=list)
    by_name: dict[str, int] = field(default_factory=dict)
    by_article: defaultdict[str, array[int]] = field(default_factory=lambda: defaultdict(lambda: array("i")))

    def add(self, image: dict[str, Any]) -> None:
        """One more, as ``read_image`` gives it."""
        number = len(self.files)
        self.files.append(image["file"])
        if image["name"]:
            self.by_name.setdefault(image["name"], number)
        for article in image["articles"]:
            self.by_article[article].append(number)

    def of(self, article: str, names: Sequence[str]) -> array[int]:
        """Those of an article: first those that it names, in its order, then those that name it."""
        named = (self.by_name[name] for name in names if name in self.by_name)
        return array("i", dict.fromkeys(chain(named, self.by_article.get(article, ()))))


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """The documents, in the order of the articles' numbers.

    Raises:
        CorpusError: A part of the collection is missing.
    """
    source, report = settings.source, build.report
    shares = Shares(settings.validation, settings.test)
    metadata = part_of(source, "metadata", "all_metadata.zip (or metadata.zip)")
    texts = part_of(source, "text/en", "all_text.zip")
    folder = settings.images or part_of(source, "images", "the image archives (1.tar.gz to 26.tar.gz)")
    if not folder.is_dir():
        raise CorpusError(f"{folder}: not a folder; name the one that has the pictures (1/1.jpg and so on)")
    pictures = _read_metadata(build, metadata)
    articles = _articles_with_images(build, texts, pictures, settings)
    _keep_good_images(build, folder, pictures, articles, settings)
    report.count(f"articles with {settings.min_images} pictures that can be used", len(articles))
    if not articles:
        raise CorpusError(f"{folder}: no article has {settings.min_images} pictures that are there; {WHERE} has them")
    build.published = PUBLISHED["WIKI"]
    found = _documents(build, texts, folder, pictures, articles, settings)
    yield from build.with_random_splits(found, shares, seed=settings.seed)


def _read_metadata(build: Build, folder: Path) -> Pictures:
    pictures = Pictures()
    paths = [path for path in files_in(folder) if path.endswith(".xml")]
    work = partial(read_image, folder=str(folder))
    results = build.mapped(paths, work, total=len(paths), label="Reading metadata")
    for path, result in zip(paths, results, strict=True):
        if isinstance(result, str):
            build.report.drop("metadata that cannot be read", path, result)
        else:
            pictures.add(result)
    if not pictures.files:
        raise CorpusError(
            f"{folder}: no metadata in it, which are 1/1.xml and so on; unpack all_metadata.zip ({WHERE})"
        )
    build.report.count("pictures in the metadata", len(pictures.files), COLLECTION)
    return pictures


def _articles_with_images(build: Build, folder: Path, pictures: Pictures, settings: Settings) -> dict[str, array[int]]:
    """Path of each article with enough pictures in the collection to the numbers of these pictures."""
    paths = list(files_in(folder))
    if not paths:
        raise CorpusError(f"{folder}: no articles in it, which are 1/1.xml and so on; unpack all_text.zip ({WHERE})")
    work = partial(article_images, folder=str(folder))
    results = build.mapped(paths, work, total=len(paths), label="Reading articles")
    found: dict[str, array[int]] = {}
    for path, result in zip(paths, results, strict=True):
        if isinstance(result, str):
            build.report.drop("article that cannot be read", path, result)
            continue
        numbers = pictures.of(article_key(path), result)
        if len(numbers) >= settings.min_images:
            found[path] = numbers
        else:
            build.report.drop(f"fewer than {settings.min_images} images", path, f"{len(numbers)} in the collection")
    build.report.count("English articles", len(paths))
    build.report.count(f"articles with {settings.min_images} pictures in the collection", len(found))
    return found


def _keep_good_images(
    build: Build, folder: Path, pictures: Pictures, articles: dict[str, array[int]], settings: Settings
) -> None:
    """Look at the pictures of the articles; leave out those that cannot be used, then articles that have too few."""
    report = build.report
    wanted = sorted({number for found in articles.values() for number in found})
    places = (image_place(pictures.files[number], folder) for number in wanted)
    files = (folder / place if place is not None else None for place in places)
    problems = build.looked_at(files, image_problem, total=len(wanted), label="Looking at pictures")
    good = set[int]()
    for number, problem in zip(wanted, problems, strict=True):
        if problem is None:
            good.add(number)
        else:
            report.drop("picture that cannot be used", pictures.files[number], problem)
    report.count("different pictures in them that can be used", len(good))
    for path, found in list(articles.items()):
        articles[path] = array("i", (number for number in found if number in good))
        usable = len(articles[path])
        if usable < settings.min_images:
            del articles[path]
            report.drop(f"fewer than {settings.min_images} images", path, f"{usable} that can be used")


def _documents(
    build: Build, texts: Path, folder: Path, pictures: Pictures, articles: dict[str, array[int]], settings: Settings
) -> Iterator[Values]:
    work = partial(article_sentences, folder=str(texts), most=settings.max_sentences)
    results = build.mapped(articles, work, total=len(articles), label="Splitting sentences")
    kept = 0
    for (path, numbers), result in zip(articles.items(), results, strict=True):
        number = len(result.get("sentences", ()))
        if "problem" in result:
            build.report.drop("article that cannot be read", path, result["problem"])
        elif number < settings.min_sentences:
            build.report.drop(f"fewer than {settings.min_sentences} sentences", path, f"{number} sentences")
        else:
            kept += 1
            places = (image_place(pictures.files[number], folder) for number in numbers)
            title = {"title": result["title"]} if result["title"] else {}
            yield {
                "id": article_key(path),
                "sentences": result["sentences"],
                "images": [build.relative_path(folder / place) for place in places if place is not None],
                "meta": title | {"language": "en"},
            }
    build.report.count(f"documents with {settings.min_sentences} sentences", kept, 16_000, rounding=1000)


def article_sentences(path: str, *, folder: str, most: int) -> dict[str, Any]:
    """Title and first sentences of an article; or ``{"problem": why it cannot be read}``."""
    try:
        title, markup = article_markup(Path(folder, path))
        blocks = paragraphs(markup)
    except (DocumentError, ValueError) as error:
        return {"problem": str(error)}
    sentences = (block[start:end] for block in blocks for start, end in split_sentences(block, "en"))
    worded = (sentence for sentence in sentences if any(character.isalnum() for character in sentence))
    return {"title": title, "sentences": list(islice(worded, most))}
