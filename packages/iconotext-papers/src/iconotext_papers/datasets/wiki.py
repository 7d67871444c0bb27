"""WIKI: English articles of Wikipedia with their pictures, from ImageCLEF 2010/2011 (Hessel 2019, §6; supplement §1).

It is not known which sentences belong to which picture, so the documents have no links. Captions are not sentences.
"""

from __future__ import annotations

import html
import os
import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from pydantic import Field

from iconotext.corpus.builders.build import image_problem
from iconotext.corpus.split import Shares
from iconotext.errors import CorpusError, DocumentError, one_line
from iconotext.read.archive import parse_xml
from iconotext.read.sentences import split_sentences
from iconotext.read.text_file import decode_bytes
from iconotext_papers.datasets.downloads import DataSetSettings
from iconotext_papers.datasets.wikitext import image_name, named_images, paragraphs
from iconotext_papers.published.sizes import PUBLISHED

if TYPE_CHECKING:
    from iconotext.corpus.builders.build import Build, Values


def clean_text(text: str, misread: Mapping[str, str] | None = None) -> str:
    """Replace HTML entities by characters, collapse white space, and remove control characters.

    ``misread`` has characters that were read in a wrong encoding, each with the right one.
    """
    text = html.unescape(text)
    for wrong, right in (misread or {}).items():
        text = text.replace(wrong, right)
    if not text.isprintable():
        text = "".join(" " if unicodedata.category(character) in ("Cc", "Cs") else character for character in text)
    return " ".join(text.split())


WHERE = "https://www.imageclef.org/wikidata"
DEPTH = 4
"""Largest number of folders between the source and a part: people unpack each archive into a separate folder."""

LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
XML = re.compile(
    rb"\s*<(?:\?xml|!DOCTYPE|/?(?:article|page|mediawiki|document|doc|text|wikipedia|add)\b)", re.IGNORECASE
)
"""Beginning of an XML file; a file with another beginning, even ``<ref>``, is markup of Wikipedia."""


def part_of(source: Path, name: str, archive: str) -> Path:
    """Find the folder of a part of the collection: ``metadata``, ``text/en`` or ``images``, anywhere in the source."""
    parts = PurePosixPath(name).parts
    level = [source]
    for _ in range(DEPTH + 1):
        for folder in level:
            # Resolved, since the source itself may be the part, and be called ".".
            if folder.resolve().parts[-len(parts) :] == parts and folder.is_dir():
                return folder
        level = [inner for folder in level for inner in _folders(folder)]
    raise CorpusError(
        f"{source}: no folder {name} in it: unpack {archive} of the Wikipedia collection of ImageCLEF 2010/2011 there "
        f"({WHERE})"
    )


def _folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            inner = [entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
    except OSError:
        return []
    return [folder / name for name in sorted(inner) if not name.isdigit()]  # 1, 2, ... hold thousands of files each


def files_in(folder: Path) -> Iterator[str]:
    """Paths from a folder to the files in it and the folders in it, with ``/``; numbers in their order."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted((name for name in folders if not name.startswith(".")), key=_natural)
        inner = Path(place).relative_to(folder)
        for name in sorted(files, key=_natural):
            if not name.startswith("."):
                yield (inner / name).as_posix()


def _natural(name: str) -> tuple[int, str]:
    digits = re.match(r"\d{1,18}", name)
    return (int(digits[0]) if digits else -1, name)


def read_image(path: str, *, folder: str) -> dict[str, Any] | str:
    """Read the metadata of a picture, by the path from the folder to its file.

    Returns:
        ``file`` (``9/82531.jpg``), ``name`` (in the form of ``image_name``) and ``articles``, the English ones
        that have it (``1/1234``); or the reason why it cannot be read.
    """
    try:
        root = parse_xml(Path(folder, path).read_bytes(), path)
    except (DocumentError, OSError) as error:
        return _reason(error)
    image = root if root.tag == "image" else next(root.iter("image"), None)
    if image is None:
        return "there is no element <image> in it"
    file = _below((image.get("file") or "").strip(), "images") or f"{PurePosixPath(path).with_suffix('.jpg')}"
    articles = []
    for text in image.iter("text"):
        if (text.get(LANGUAGE) or text.get("lang") or "").lower() == "en":
            headings = (_below((caption.get("article") or "").strip(), "en") for caption in text.iter("caption"))
            articles += [article_key(article) for article in headings if article]
    name = image_name(image.findtext("name") or "")
    return {"file": file, "name": name, "articles": list(dict.fromkeys(articles))}


def image_place(file: str, folder: Path) -> str | None:
    """Return the path from the folder of the pictures to a picture; None if the picture is missing.

    ``file`` is the path in the metadata, below ``images``: ``9/82531.jpg``.
    """
    return next((place for place in (file, PurePosixPath(file).name) if (folder / place).is_file()), None)


def article_key(path: str) -> str:
    """Return the key of an article: its path without the suffix, ``1/1234``."""
    return path.removesuffix(".xml").removesuffix(".txt")


def article_images(path: str, *, folder: str) -> list[str] | str:
    """Names of pictures in an article, in its order; or why it cannot be read."""
    try:
        return named_images(article_markup(Path(folder, path))[1])
    except DocumentError as error:
        return str(error)


def article_markup(path: Path) -> tuple[str | None, str]:
    """Read title, if any, and text of an article in Wikipedia's markup; ``DocumentError`` for a damaged one."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DocumentError(_reason(error)) from error
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not XML.match(data):
        return None, decode_bytes(data, path.name)
    try:
        root = parse_xml(data, path.name)
    except DocumentError as error:
        raise DocumentError(_reason(error)) from error
    title = next((part for tag in ("title", "name") for part in root.iter(f"{{*}}{tag}")), None)
    texts = ["".join(part.itertext()) for part in root.iter("{*}text")]
    if not any(text.strip() for text in texts):
        texts = ["".join(part.itertext()) for part in root if part is not title] if len(root) else [root.text or ""]
    heading = (
        " ".join("".join(title.itertext()).split()) if title is not None else root.get("title") or root.get("name")
    )
    return heading or None, "\n\n".join(texts)


def _below(path: str, folder: str) -> str | None:
    """Return the part of a path below a folder; None for a path that leads elsewhere.

    >>> _below("images/9/82531.jpg", "images")
    '9/82531.jpg'
    """
    parts = PurePosixPath(path.replace("\\", "/")).parts
    if ".." in parts or folder not in parts:
        return None
    below = parts[parts.index(folder) + 1 :]
    return "/".join(below) or None


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or one_line(error)


COLLECTION = 237_434
"""Number of pictures in the collection, as published."""


class Settings(DataSetSettings):
    """Make WIKI (Hessel 2019): English articles of Wikipedia with three pictures or more; without gold links.

    The source is the folder into which the archives of the ImageCLEF 2010/2011 collection were unpacked: it has folders
    metadata, text/en and images, in it or in folders in it.

    **Examples**

    - `iconotext papers build wiki --source imageclef/ --output wiki.jsonl`
    - `iconotext papers build wiki -s imageclef/ -o w.parquet --max-sentences 50`
    """

    max_sentences: int = Field(100, ge=1)
    """Most sentences of a document. They are those of its beginning."""

    min_sentences: int = Field(10, ge=1)
    """Least number of sentences of a document."""

    min_images: int = Field(3, ge=1)
    """Least number of valid images of a document."""

    validation: float = Field(1 / 16, ge=0, lt=1)
    """Share of the documents for validation."""

    test: float = Field(1 / 16, ge=0, lt=1)
    """The same for test."""

    seed: int = 0
    """Seed of the random choices."""


@dataclass(slots=True)
class Pictures:
    """The metadata of the collection's pictures, which are numbered.

    Attributes:
        files: File of each picture: ``9/82531.jpg``.
        by_name: The first picture of each name in Wikipedia.
        by_article: The pictures that name an article.
    """

    files: list[str] = field(default_factory=list)
    by_name: dict[str, int] = field(default_factory=dict)
    by_article: defaultdict[str, array[int]] = field(default_factory=lambda: defaultdict(lambda: array("i")))

    def add(self, image: dict[str, Any]) -> None:
        """Add a picture in the form of ``read_image``."""
        number = len(self.files)
        self.files.append(image["file"])
        if image["name"]:
            self.by_name.setdefault(image["name"], number)
        for article in image["articles"]:
            self.by_article[article].append(number)

    def of(self, article: str, names: Sequence[str]) -> array[int]:
        """Return the pictures of an article: first those that it names, in its order, then those that name it."""
        numbers = (self.by_name[name] for name in names if name in self.by_name)
        return array("i", dict.fromkeys(chain(numbers, self.by_article.get(article, ()))))


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """The documents, in the order of the articles' numbers."""
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
    rows = _documents(build, texts, folder, pictures, articles, settings)
    yield from build.with_random_splits(rows, shares, seed=settings.seed)


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
    """Return the numbers of the pictures of each article with enough pictures in the collection, by its path."""
    paths = list(files_in(folder))
    if not paths:
        raise CorpusError(f"{folder}: no articles in it, which are 1/1.xml and so on; unpack all_text.zip ({WHERE})")
    work = partial(article_images, folder=str(folder))
    results = build.mapped(paths, work, total=len(paths), label="Reading articles")
    articles: dict[str, array[int]] = {}
    for path, result in zip(paths, results, strict=True):
        if isinstance(result, str):
            build.report.drop("article that cannot be read", path, result)
            continue
        numbers = pictures.of(article_key(path), result)
        if len(numbers) >= settings.min_images:
            articles[path] = numbers
        else:
            build.report.drop(f"fewer than {settings.min_images} images", path, f"{len(numbers)} in the collection")
    build.report.count("English articles", len(paths))
    build.report.count(f"articles with {settings.min_images} pictures in the collection", len(articles))
    return articles


def _keep_good_images(
    build: Build, folder: Path, pictures: Pictures, articles: dict[str, array[int]], settings: Settings
) -> None:
    """Check the pictures of the articles; drop those that cannot be used, then articles that have too few."""
    report = build.report
    checked = sorted({number for numbers in articles.values() for number in numbers})
    places = (image_place(pictures.files[number], folder) for number in checked)
    files = (folder / place if place is not None else None for place in places)
    problems = build.checked(files, image_problem, total=len(checked), label="Looking at pictures")
    good = set[int]()
    for number, problem in zip(checked, problems, strict=True):
        if problem is None:
            good.add(number)
        else:
            report.drop("picture that cannot be used", pictures.files[number], problem)
    report.count("different pictures in them that can be used", len(good))
    for path, numbers in list(articles.items()):
        articles[path] = array("i", (number for number in numbers if number in good))
        usable = len(articles[path])
        if usable < settings.min_images:
            del articles[path]
            report.drop(f"fewer than {settings.min_images} images", path, f"{usable} that can be used")


def _documents(
    build: Build, texts: Path, folder: Path, pictures: Pictures, articles: dict[str, array[int]], settings: Settings
) -> Iterator[Values]:
    work = partial(article_sentences, folder=str(texts), most=settings.max_sentences)
    results = build.mapped(articles, work, total=len(articles), label="Splitting sentences")
    count = 0
    for (path, numbers), result in zip(articles.items(), results, strict=True):
        if isinstance(result, str):
            build.report.drop("article that cannot be read", path, result)
            continue
        title, sentences = result
        if len(sentences) < settings.min_sentences:
            build.report.drop(f"fewer than {settings.min_sentences} sentences", path, f"{len(sentences)} sentences")
            continue
        count += 1
        places = (image_place(pictures.files[number], folder) for number in numbers)
        yield {
            "id": article_key(path),
            "sentences": sentences,
            "images": [build.relative_path(folder / place) for place in places if place is not None],
            "meta": ({"title": title} if title else {}) | {"language": "en"},
        }
    build.report.count(f"documents with {settings.min_sentences} sentences", count, 16_000, rounding=1000)


def article_sentences(path: str, *, folder: str, most: int) -> tuple[str | None, list[str]] | str:
    """Return title and first sentences of an article; or the reason why it cannot be read."""
    try:
        title, markup = article_markup(Path(folder, path))
        blocks = paragraphs(markup)
    except (DocumentError, ValueError) as error:
        return str(error)
    # The supplement takes sentences of spaCy, of a version and model that it does not name; these are our readers'.
    sentences = (block[start:end] for block in blocks for start, end in split_sentences(block, "en"))
    worded = (sentence for sentence in sentences if any(character.isalnum() for character in sentence))
    return title, list(islice(worded, most))
