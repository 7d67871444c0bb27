"""The text that gets pictures: read, joined with the pictures, and the choice of those that are placed.

``text_document`` reads a text, ``joined`` makes one document of text and pictures, which is linked like any other, and
``chosen`` drops the places that are not probable enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from iconotext.errors import SettingError
from iconotext.images import inspect
from iconotext.place.settings import PlaceSettings
from iconotext.plain_text import counted, language_name
from iconotext.read import read
from iconotext.read.format import suffix_format
from iconotext.read.sentences import ENOUGH, detect_language
from iconotext.read.settings import ReadSettings
from iconotext.report.source_offsets import MARKDOWN
from iconotext.types import Document, Image, Linked

TEXT = "text"
"""Id of a text that is no file."""


def text_document(text: str | Path | Document, reading: ReadSettings | None = None) -> Document:
    """Read the text that gets pictures.

    Args:
        text: Markdown, the file of a document, or a document.

    Raises:
        DocumentError: The file cannot be read.
        SettingError: The text is empty, or is the name of a file, since an answer of a language model must not choose a
            file.
        TypeError: It is something else.
    """
    if isinstance(text, Document):
        return text
    if isinstance(text, Path):
        return read(text, reading)
    if not isinstance(text, str):
        raise TypeError(f"place takes a text, the Path of a file or a Document, not a {type(text).__name__}")
    if not text.strip():
        raise SettingError("the text is empty, so no picture can be placed in it")
    if len(text.split()) == 1 and suffix_format(Path(text)) is not None:
        raise SettingError(f"the text is {text.strip()[:60]!r}, the name of a file: give the text itself, or the file")
    with TemporaryDirectory(prefix="iconotext-") as folder:
        file = Path(folder) / f"{TEXT}.md"
        file.write_text(text, encoding="utf-8", errors="replace", newline="")
        return replace(read(file, reading), source=None, meta={MARKDOWN: text})


def joined(text: Document, images: Iterable[Image]) -> Document:
    """Make a document of a text and of pictures without a place in it.

    A picture that the text shows already, or that comes twice, has a ``problem``.
    """
    existing = text.images
    sources = {image.source for image in existing}
    new = [
        replace(image, problem="the text shows it already") if image.source in sources and not image.problem else image
        for image in images
    ]
    return replace(text, images=inspect([*existing, *new])[len(existing) :], links=None)


def with_language_note(linked: Linked) -> Linked:
    """Replace the notes by one if the sentences that come with the pictures are in another language than the text.

    Args:
        linked: Linked by an encoder that knows one language only.
    """
    document = linked.document
    quoted = "\n".join(dict.fromkeys(sentence.text for image in document.images for sentence in image.context))
    if min(len(quoted), sum(len(sentence.text) for sentence in document.sentences)) < ENOUGH:
        return linked
    language = detect_language(quoted)
    if language == document.language:
        return linked
    note = (
        f"the pictures come from text in {language_name(language)}, and the text that gets them is in "
        f"{language_name(document.language)}, so they were not compared by meaning: few find their place, by names, "
        "numbers and words written alike"
    )
    return replace(linked, notes=(note,))


def chosen(linked: Linked, settings: PlaceSettings) -> Linked:
    """Drop links that are not probable enough, and pictures beyond the limit of the text.

    Args:
        linked: The ``joined`` document, each picture linked to its best sentence.
    """
    probable = [link for link in linked.links if link.paragraph_confidence >= settings.min_confidence]
    probable.sort(key=lambda link: (-link.paragraph_confidence, link.image))
    placed = probable[: settings.most]
    beyond = f"the text has {counted(len(placed), 'picture')} already, and others fit it better"
    images = list(linked.document.images)
    for link in probable[len(placed) :]:
        images[link.image] = replace(images[link.image], problem=beyond)
    return replace(linked, document=replace(linked.document, images=tuple(images)), links=tuple(placed))
