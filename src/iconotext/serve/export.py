"""What people said, as a corpus with gold links that ``evaluate`` and ``train`` take."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.corpus.document_row import row_of
from iconotext.corpus.formats.jsonl import line_of
from iconotext.errors import DocumentError
from iconotext.serve.work import Place, digest, read_place
from iconotext.types import Document, Image
from iconotext.write import open_atomic, write_bytes

if TYPE_CHECKING:
    from iconotext.links.habit import Judged

CORPUS = "corpus.jsonl"


def write_corpus(items: Sequence[tuple[Place, str, Judged]], name: str, target: str) -> int:
    """Write a zip with ``corpus.jsonl`` and the pictures that it names.

    A document has only those of its pictures that people have judged: so its links are complete.

    Args:
        items: Each document with the digest it had when it was judged, and what was said.
        name: Of the collection, which the ids begin with.
        target: The zip.

    Returns:
        How many documents are in it.

    Raises:
        DocumentError: A document is not what it was.
    """
    with tempfile.TemporaryDirectory(prefix="iconotext-") as temporary:
        folder, lines = Path(temporary), []
        for number, (place, known, judged) in enumerate(items):
            document, _ = read_place(place)
            if digest(document) != known:
                raise DocumentError(f"{place.name}: it has changed since it was reviewed: open it again")
            lines.append(line_of(row_of(_judged(document, judged, folder, f"{number}", name), folder)))
        with open_atomic(Path(target)) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as packed:
            packed.writestr(CORPUS, "".join(lines))
            for picture in sorted((folder / "pictures").rglob("*")):
                if picture.is_file():
                    packed.write(picture, picture.relative_to(folder).as_posix())
    return len(lines)


def _judged(document: Document, judged: Judged, folder: Path, number: str, name: str) -> Document:
    """The document with the judged pictures alone, each a file below the folder, and their links."""
    images: list[Image] = []
    links: list[tuple[int, int]] = []
    for image, sentences in sorted(judged.items()):
        links += [(sentence, len(images)) for sentence in sentences]
        images.append(_saved(document.images[image], folder, f"pictures/{number}-{image}"))
    meta: Mapping[str, object] = {**document.meta, "collection": name}
    return replace(
        document, id=f"{name}/{document.id}", images=tuple(images), links=tuple(sorted(links)), source=None, meta=meta
    )


def _saved(image: Image, folder: Path, name: str) -> Image:
    if image.file is None:
        raise DocumentError(f"{image.source}: the picture is not there any more")
    suffix = image.file.suffix if isinstance(image.file, Path) else ""
    data = image.file if isinstance(image.file, bytes) else image.file.read_bytes()
    write_bytes(folder / f"{name}{suffix}", data)
    return replace(image, source=f"{name}{suffix}", file=folder / f"{name}{suffix}")
