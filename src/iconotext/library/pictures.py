"""The pictures of a library that may belong into a text, for ``Linker.place``."""

from __future__ import annotations

from pathlib import Path

from iconotext.library.items import member_content
from iconotext.library.search import Query, Result, Searcher
from iconotext.types import Document, Image, TextLine

TOP = 5
"""Number of pictures that are looked for with each sentence."""


def pictures_for(text: Document, library: Path | Searcher, *, top: int = TOP) -> list[Image]:
    """Return the pictures that match a sentence of a text, each once, with the sentences linked to it.

    Args:
        library: The library's folder, or one that is open.
        top: Number of pictures that are looked for with each sentence; those that have nothing but their nearness are
            not taken.

    Raises:
        LibraryError: There is no library, or it is damaged.
    """
    searcher = library if isinstance(library, Searcher) else Searcher(library)
    results: dict[str, Result] = {}
    for sentence in text.sentences:
        for result in searcher.find(Query(sentence.text, top=top)).results:
            match = result.match
            if match is not None and (match.level != "weak" or match.text or match.words):
                results.setdefault(result.digest, result)
    return [_image(result) for result in results.values()]


def _image(result: Result) -> Image:
    file: Path | bytes | None = None if result.file is None else Path(result.file)
    if result.member is not None:
        file = member_content(result.member, result.digest)
    return Image(
        source=result.image,
        file=file,
        alt=result.alt,
        caption=result.caption,
        lines=(TextLine(result.written, 1.0, (0.0, 0.0, 1.0, 1.0)),) if result.written else None,
        context=result.sentences,
        problem=f"it has no file of its own: name {result.document} as well" if file is None else None,
    )
