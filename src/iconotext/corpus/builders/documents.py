"""A corpus out of documents as people have them: Markdown, HTML, DOCX, EPUB and PDF files, read one by one.

Splits depend on which documents share a picture, so they are known only after the last document was read. Until then
the documents wait in a file on disk: memory holds one document, and a few numbers for each document and picture.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from iconotext.corpus.document_row import row_of, written_source
from iconotext.corpus.jsonl import line_of
from iconotext.corpus.picture_keys import PictureKeys
from iconotext.corpus.row import Split
from iconotext.corpus.split import Shares, assign_splits
from iconotext.errors import CorpusError, DocumentError, OutputError, SettingError
from iconotext.read import Failure
from iconotext.types import Document, Image
from iconotext.write import write_bytes

SIGNATURES = (
    (0, b"\xff\xd8\xff", ".jpg"),
    (0, b"\x89PNG", ".png"),
    (0, b"GIF8", ".gif"),
    (8, b"WEBP", ".webp"),
    (0, b"BM", ".bmp"),
    (0, b"II", ".tif"),
    (0, b"MM", ".tif"),
    (4, b"ftyp", ".avif"),
    (4, b"jP  ", ".jp2"),
    (0, b"\xff\x4f\xff\x51", ".j2k"),
)
"""Place and bytes by which an encoded picture is known, and the suffix of such files."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that does not get into the corpus.

    Attributes:
        kind: ``unread``: a document that cannot be read or written. ``bare``: one that has no sentences, or no picture
            that can be used. ``picture``: a picture of a document.
        place: The document, and for a picture its address.
        problem: What is wrong, and what to do where something can be done.
    """

    kind: Literal["unread", "bare", "picture"]
    place: str
    problem: str


def build_documents(
    results: Iterable[Document | Failure],
    output: Path,
    shares: Shares,
    *,
    seed: int = 0,
    tell: Callable[[LeftOut], None] = lambda left_out: None,
) -> Iterator[Document]:
    """Documents for a corpus: their pictures are files, they have a split, and nobody knows their links.

    Pictures that came inside a document, or from the web, are written to the folder ``pictures_folder(output)``, each
    once. Pictures with a problem are left out, and so are documents without a sentence or a picture. ``meta.source``
    is the way from the corpus to the document. A share above 0 gets two documents at least, if there are enough.

    Args:
        results: What ``read_all`` gives; all of it is read before the first document comes out.
        output: The corpus file that the documents will be written to.
        shares: Which part goes into validation and test.
        seed: Another one, other splits.
        tell: Told of everything that is left out.

    Raises:
        DocumentError: No document can be read.
        CorpusError: None has a sentence and a picture, or so many share a picture that a split would be empty.
        OutputError: A picture, or the file in which documents wait, cannot be written.
    """
    read = unread = 0
    with _Waiting(output.parent) as waiting:
        for result in results:
            if isinstance(result, Failure):
                unread += 1
                problem = str(result.error).removeprefix(f"{result.path}: ")
                tell(LeftOut("unread", str(result.path), problem))
                continue
            read += 1
            document = _ready(result, output, tell)
            if document is not None:
                waiting.add(document)
        if not read:
            raise DocumentError(f"{unread} of {unread} documents cannot be read: there is nothing for a corpus")
        if not waiting.count:
            raise CorpusError(f"none of {read} documents has both sentences and a picture that can be used")
        for document, split in zip(waiting, _splits(waiting, shares, seed), strict=True):
            yield replace(document, split=split)


def pictures_folder(output: Path) -> Path:
    """Where the pictures lie that have no file of their own: ``corpus_images`` beside ``corpus.jsonl``."""
    return output.with_name(f"{output.stem}_images")


def _ready(document: Document, output: Path, tell: Callable[[LeftOut], None]) -> Document | None:
    """The document as the corpus will have it; None, and told, where it cannot have it."""
    place = str(document.source or document.id)
    images = []
    for image in document.images:
        problem = image.problem or _unwritable(image, output.parent)
        if problem is not None:
            tell(LeftOut("picture", f"{place}: {image.source}", problem))
        elif isinstance(image.file, bytes):
            images.append(replace(image, file=_saved(image.file, pictures_folder(output))))
        else:
            images.append(image)
    if not document.sentences or not images:
        tell(LeftOut("bare", place, "no picture that can be used" if document.sentences else "no sentences"))
        return None
    meta = dict(document.meta)
    if document.source is not None:
        way = written_source(Image("", document.source), output.parent)
        meta["source"] = way.encode("utf-8", "replace").decode()
    document = replace(document, images=tuple(images), meta=meta)
    try:
        line_of(row_of(document, output.parent))
    except CorpusError as error:  # its title, for example, has half a surrogate pair
        tell(LeftOut("unread", place, f"does not fit into a corpus: {error}"))
        return None
    return document


def _unwritable(image: Image, folder: Path) -> str | None:
    """Why a corpus cannot name the file of an image."""
    if isinstance(image.file, Path):
        try:
            written_source(image, folder).encode()
        except UnicodeEncodeError:
            return "the name of its file, or of a folder above it, is not UTF-8: rename it"
    return None


def _saved(data: bytes, folder: Path) -> Path:
    """The file that has a picture, named by its SHA-256; what an earlier document or run wrote is used again."""
    suffix = next((suffix for start, mark, suffix in SIGNATURES if data.startswith(mark, start)), ".img")
    path = folder / f"{hashlib.sha256(data).hexdigest()}{suffix}"
    if not path.is_file() or path.stat().st_size != len(data):
        write_bytes(path, data, force=True)
    return path


def _splits(waiting: _Waiting, shares: Shares, seed: int) -> list[Split]:
    """The split of each document.

    Raises:
        CorpusError: So many share a picture that a split would be empty; names the picture.
    """
    shares = _at_least_two(shares, waiting.count)
    try:
        return assign_splits(waiting, shares, seed=seed)
    except CorpusError as error:
        keys = PictureKeys()
        name: dict[bytes, str] = {}
        count = Counter(
            key
            for document in waiting
            for image in document.images
            if name.setdefault(key := keys.of(image), str(image.file))
        )
        key, number = count.most_common(1)[0]
        raise CorpusError(
            f"{error}. {name[key]} is in {number} of {waiting.count} documents: take it out of them, or give "
            "--validation 0 --test 0 and divide the documents yourself"
        ) from error


def _at_least_two(shares: Shares, count: int) -> Shares:
    """Shares that give two documents to each split that is to have any, else one, while two are left to train on.

    A loss compares documents: a single one for validation has none to be compared with, and its loss is always 0.
    """
    wanted = (shares.validation, shares.test)
    for least in (2, 1):
        if count - least * sum(share > 0 for share in wanted) >= 2:
            larger = [max(share, least / count) if share else 0 for share in wanted]
            with contextlib.suppress(SettingError):  # the other share is so large that there are none to train on
                return Shares(*larger)
    return shares


class _Waiting:
    """Documents that wait on disk, in a file that is gone when it is closed or the program dies.

    Attributes:
        count: How many they are.

    Raises:
        OutputError: The file cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.count = 0
        self._folder = folder

    def __enter__(self) -> _Waiting:
        with _output_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=self._folder)
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def add(self, document: Document) -> None:
        """Let one more wait."""
        with _output_errors(self._folder):
            pickle.dump(document, self._file, pickle.HIGHEST_PROTOCOL)
        self.count += 1

    def __iter__(self) -> Iterator[Document]:
        with _output_errors(self._folder):
            self._file.seek(0)
        for _ in range(self.count):
            yield pickle.load(self._file)


@contextlib.contextmanager
def _output_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write to {folder}: {error.strerror or error}") from error
