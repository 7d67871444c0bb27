"""Export of verdicts, in the pool's processes: a corpus with gold links."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.corpus.formats.json_lines import write_jsonl
from iconotext.corpus.row import row_of
from iconotext.errors import DocumentError
from iconotext.serve.sources import Place, digest, read_place
from iconotext.system.files import open_atomic, write_bytes
from iconotext.types import Document, Image

if TYPE_CHECKING:
    from iconotext.evidence.habit import Judged

CORPUS = "corpus.jsonl"


def write_corpus(items: Sequence[tuple[Place, str, Judged]], name: str, target: str) -> int:
    """Write a zip with ``corpus.jsonl`` and its pictures.

    A document has only those of its pictures that people have judged, so that its links are complete.

    Args:
        items: Each document with its digest when it was judged, and the verdicts.
        name: Name of the collection, with which ids begin.

    Raises:
        DocumentError: A document has changed.
    """
    with tempfile.TemporaryDirectory(prefix="iconotext-") as temporary:
        folder = Path(temporary)
        judgements = ((_read(place, sha256), judged) for place, sha256, judged in items)
        documents = (_judged(*judgement, folder, str(number), name) for number, judgement in enumerate(judgements))
        count = write_jsonl((row_of(document, folder) for document in documents), folder / CORPUS, force=False)
        with open_atomic(Path(target)) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as packed:
            packed.write(folder / CORPUS, CORPUS)
            for picture in sorted((folder / "pictures").rglob("*")):
                if picture.is_file():
                    packed.write(picture, picture.relative_to(folder).as_posix())
    return count


def _read(place: Place, sha256: str) -> Document:
    document = read_place(place)
    if digest(document) != sha256:
        raise DocumentError(f"{place.name}: it has changed since it was reviewed: open it again")
    return document


def _judged(document: Document, judged: Judged, folder: Path, number: str, name: str) -> Document:
    """The document with only the judged pictures, each as a file in the folder, and their links."""
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
