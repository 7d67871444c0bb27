"""Reading: every format becomes a ``Document``, with one module for each format."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from iconotext.errors import DocumentError, HostileDocumentError, IconotextError
from iconotext.read.captions import name_cited_captions
from iconotext.read.contents import without_contents
from iconotext.read.find import find_documents, unique_names
from iconotext.read.format import file_format, formats_by_suffix, reader_of, suffix_format
from iconotext.read.web.page import fetch_page, from_the_web, is_address
from iconotext.system.worker import LimitError, run_isolated
from iconotext.types import Document

if TYPE_CHECKING:
    from iconotext.read.blocks import Flow
    from iconotext.read.settings import ReadSettings

__all__ = [
    "Failure",
    "ReadSettings",
    "as_document",
    "as_document_or_failure",
    "fetch_pages",
    "find_documents",
    "formats_by_suffix",
    "read",
    "read_all",
    "read_documents",
    "read_files",
    "read_isolated",
    "unique_names",
]

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


def __getattr__(name: str) -> Any:
    if name == "ReadSettings":  # needs pydantic, a tenth of a second that not every import should take
        from iconotext.read.settings import ReadSettings

        return ReadSettings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


MAX_MEMORY = 900 * 2**20
"""Maximum memory in bytes of the process that reads a document, besides some 60 MiB for the programs in it."""

MAX_SECONDS = 600.0  # time limit for any document; a PDF of a thousand dense pages takes about 90 seconds

LEAST_SECONDS, BYTES_A_SECOND = 60.0, 20_000
"""Time limit for a document that is no PDF: ``LEAST_SECONDS`` + file size / ``BYTES_A_SECOND``, in seconds."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that could not be read."""

    path: Path
    error: IconotextError


def read(path: Path | str, settings: ReadSettings | None = None) -> Document:
    """Read one document, of any format. An EPUB comes as one document, all its chapters in order.

    Args:
        path: The file; its format follows from the suffix, or from its first bytes if the suffix is unknown. Or, with
            ``settings.fetch``, an address on the web: the document then has no ``source``, but ``meta["address"]``.

    Returns:
        The document. Images that cannot be loaded, or are not worth linking, are included with their ``problem``.

    Raises:
        DocumentError: The file is missing, empty, of an unknown format, broken, or passes a limit.

    Example:
        >>> document = read("article.md")  # doctest: +SKIP
    """
    from tempfile import TemporaryDirectory

    from iconotext.read.settings import ReadSettings

    settings = settings or ReadSettings()
    book = settings.model_copy(update={"epub": "book"})
    if isinstance(path, str) and is_address(path):
        with TemporaryDirectory(prefix="iconotext-") as folder:
            (file,), book = fetch_pages([path], book, Path(folder))
            return replace(next(read_documents(file, book, within=None, identifier=file.stem)), source=None)
    return next(read_documents(Path(path), book, within=None, identifier=Path(path).stem))


def fetch_pages(places: Iterable[str], settings: ReadSettings, folder: Path) -> tuple[list[Path], ReadSettings]:
    """Fetch the ``places`` that are addresses on the web; the others are files.

    Args:
        settings: Fetching must be allowed.
        folder: Where to keep fetched pages; the same address always has the same file.

    Returns:
        A file for each place, and the settings to read the files with.

    Raises:
        DocumentError: A page cannot be fetched, or fetching is not allowed.
    """
    files, origins = [], dict(settings.origins)
    for place in places:
        if not is_address(place):
            files.append(Path(place))
            continue
        if not settings.fetch:
            raise DocumentError(f"{place}: a page on the web: the option fetch fetches it")
        file, origin = fetch_page(place, folder / hashlib.sha256(place.encode()).hexdigest()[:16])
        files.append(file)
        origins[file] = origin
    return files, settings.model_copy(update={"origins": origins})


def read_all(paths: Iterable[Path | str], settings: ReadSettings | None = None) -> Iterator[Document | Failure]:
    """Read many documents, one after the other, also those in folders; a document that fails gives a ``Failure``.

    A document's id is the file's name, with as many of its folders as make it unique within the run.
    """
    from iconotext.read.settings import ReadSettings

    settings = settings or ReadSettings()
    return read_files(list(find_documents(paths, settings)), settings)


def read_files(files: Sequence[tuple[Path, Path | None]], settings: ReadSettings) -> Iterator[Document | Failure]:
    """Read the files from ``find_documents``, like ``read_all``."""
    for (path, folder), name in zip(files, unique_names([path for path, _ in files]), strict=True):
        try:
            yield from read_documents(path, settings, within=folder, identifier=name)
        except IconotextError as error:
            yield Failure(path, error)


def read_documents(path: Path, settings: ReadSettings, *, within: Path | None, identifier: str) -> Iterator[Document]:
    """Read the documents of one file; only an EPUB, or a format of another package, can have several.

    Args:
        within: The folder that pictures must not leave, if ``settings.root`` names none; None for the file's own.
    """
    from iconotext.read.assemble import assemble

    within = settings.root or within or path.parent
    flows = read_isolated(read_flows, path, settings, within)
    origin = settings.origins.get(path)
    if origin is not None:  # the page is from the web: nothing on this machine belongs to it
        settings = settings.model_copy(update={"allow_outside": False})
    for flow in flows:
        for line in flow.unread:
            logger.warning("%s: %s", path, line)
        placed = flow if origin is None else from_the_web(flow, origin)
        with _errors_of(path):
            document = assemble(placed, path=path, identifier=identifier + flow.name, within=within, settings=settings)
        if not document.sentences:
            hint = "; a scanned one needs text recognition (OCR) first" if path.suffix.lower() == ".pdf" else ""
            logger.warning("%s: no sentences in it, so that no picture can be linked%s", path, hint)
        yield document if origin is None else replace(document, meta={"address": origin.address})


def read_isolated(
    reader: Callable[[str, Path, ReadSettings], Result], path: Path, settings: ReadSettings, within: Path
) -> Result:
    """Run a function on the name of a file's format, the file and the settings, with limits on memory and time."""
    # Every file is read in another process, whatever its format and size: a few hundred bytes can fill the memory in
    # native code, which no check foresees, and 1,000 small files of Markdown took no longer than in this process.
    format_, size = file_format(path, settings)
    seconds = MAX_SECONDS if format_ == "pdf" else min(LEAST_SECONDS + size / BYTES_A_SECOND, MAX_SECONDS)
    with _errors_of(path, seconds):
        return run_isolated(reader, MAX_MEMORY, seconds, format_, path, settings.model_copy(update={"root": within}))


def read_flows(format_: str, path: Path, settings: ReadSettings) -> list[Flow]:
    """Read a file with the reader of its format, without limits on memory and time."""
    flows = [replace(flow, blocks=without_contents(flow.blocks)) for flow in reader_of(format_)(path, settings)]
    name_cited_captions([block for flow in flows for block in flow.blocks])
    return flows


@contextmanager
def _errors_of(path: Path, seconds: float = MAX_SECONDS) -> Iterator[None]:
    """Turn exceptions into errors of ours that name the file."""
    try:
        yield
    except LimitError as error:
        limits = f"{MAX_MEMORY / 2**20:.0f} MiB of memory or {seconds:.0f} seconds"
        raise HostileDocumentError(
            f"{path}: reading it takes more than {limits}, or ends its reader: split it"
        ) from error
    except IconotextError as error:
        if str(path) in str(error):
            raise
        raise type(error)(f"{path}: {error}") from error
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (MemoryError, RecursionError) as error:
        reason = "it takes more memory than there is" if isinstance(error, MemoryError) else "it is nested too deeply"
        raise HostileDocumentError(f"{path}: {reason}: split it, or save it again in simpler form") from error
    except Exception as error:
        raise _unforeseen(path, error) from error


def _unforeseen(path: Path, error: Exception) -> Exception:
    """Return the error for an exception that no reader expected. Tests replace this, so that it hides no bugs."""
    kind = f"{type(error).__name__}: {error}".rstrip(": ")
    return DocumentError(
        f"{path}: damaged, or a bug of iconotext ({' '.join(kind.split())}): save it again, or report it"
    )


def as_document(source: object) -> Document:
    """Return the document itself, or read it from its file.

    Raises:
        DocumentError: The file cannot be read.
        TypeError: It is neither a document nor the name of a file.
    """
    if isinstance(source, Document):
        return source
    if source == "":
        raise TypeError("link takes a Document or the name of a file, not an empty text")
    if isinstance(source, Path) or (isinstance(source, str) and (is_address(source) or _names_file(source))):
        return read(source)
    if isinstance(source, str):
        raise TypeError(
            f"no file is called {source[:60]!r}: give link the name of a file, or for text of your own "
            'Document("name", sentences=[...], images=[...])'
        )
    kind = "None" if source is None else f"a {type(source).__name__}"
    raise TypeError(f"link takes a Document or the name of a file, not {kind}")


def _names_file(text: str) -> bool:
    """Return whether a text is, or looks like, the name of a file; reading then reports a missing file."""
    try:
        return Path(text).exists() or suffix_format(Path(text)) is not None
    except (OSError, ValueError):  # too long for a name, or with characters that none has
        return False


def as_document_or_failure(source: Document | Path | str | Failure) -> Document | Failure:
    """Return the document, or a ``Failure``; arguments of a wrong type raise as in ``as_document``."""
    try:
        return source if isinstance(source, Failure) else as_document(source)
    except IconotextError as error:
        return Failure(Path(str(source)), error)
