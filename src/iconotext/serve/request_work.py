"""Functions that the pool's processes run on the files of a single request: link, quote, chunk, check, place.

Nothing is stored. The answers are the JSON output of the commands, as if the files were in the working folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir
from dataclasses import asdict, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from iconotext.check.rules import CheckSettings
from iconotext.decide.settings import LinkSettings
from iconotext.errors import DocumentError
from iconotext.excerpts import Chunk, SlimChunk
from iconotext.linker import Linker
from iconotext.place.pictures import ROWS
from iconotext.place.settings import PlaceSettings
from iconotext.plain_text import json_text
from iconotext.read import Failure, ReadSettings, find_documents, read_files
from iconotext.read.format import formats_in_words
from iconotext.report.chunks import ChunkSettings
from iconotext.report.context import Context
from iconotext.serve.sources import for_clients, without_hint
from iconotext.serve.uploads import place_of
from iconotext.serve.work import linker
from iconotext.types import Document, LinkedDocument


class Upload(NamedTuple):
    """The files of a request.

    Attributes:
        folder: Contains the files; nothing else on this machine is read for the request.
        refused: Name and reason of each file that was refused.
    """

    folder: str
    reading: ReadSettings
    linking: LinkSettings
    refused: tuple[tuple[str, str], ...] = ()


Results = Iterator[LinkedDocument | Failure]


def links(upload: Upload) -> bytes:
    """The documents with their links, as ``iconotext link --to json``."""
    from iconotext.report.as_json import json_array

    return _reply(upload, json_array)


def contexts(upload: Upload, words: int) -> bytes:
    """The statements about each picture, as ``iconotext context --json``."""
    from iconotext.report.context import contexts as contexts_of

    return _excerpts(upload, lambda linked: contexts_of(linked, words))


def chunks(upload: Upload, cutting: ChunkSettings) -> bytes:
    """The documents in chunks with their pictures, as ``iconotext chunks --json``."""
    return _excerpts(upload, cutting.of)


def checked(upload: Upload, checking: CheckSettings) -> bytes:
    """What is wrong with pictures, as ``check --json`` prints it."""
    from iconotext.check.audit import check

    with chdir(upload.folder):
        audit = check([_start()], checking, upload.reading, root=Path.cwd())
    errors = [*upload.refused, *((str(failure.path), without_hint(str(failure.error))) for failure in audit.failures)]
    findings = [asdict(finding) for finding in audit.findings]
    failed = [{"id": Path(path).stem, "source": path, "error": error} for path, error in sorted(errors)]
    return (json_text({"findings": findings, "failed": failed}) + "\n").encode()


def place(upload: Upload, text: str, placing: PlaceSettings) -> bytes:
    """A text with pictures of the other files, as ``iconotext place --json`` prints it."""
    from iconotext.place.output import placed
    from iconotext.place.text import text_document

    with chdir(upload.folder):
        path = Path(place_of(text))
        if not path.is_file():
            refused = dict(upload.refused).get(text, "no file of this name was sent")
            raise DocumentError(f"text: {text}: {refused}")
        # The other files have the pictures: as in .gitignore, a pattern that only this path matches.
        pattern = re.sub(r"[^\w/]", r"\\\g<0>", f"/{path.as_posix()}")
        reading = upload.reading.model_copy(update={"root": Path.cwd(), "exclude": (pattern,)})
        document = text_document(path, reading)
        rows = sorted(file for file in Path().rglob("*") if file.suffix.lower() in ROWS and file.is_file())
        linked = _linker(upload.linking).place(document, [*rows, Path()], placing, reading)
        answer = placed(replace(linked, document=for_clients(linked.document)))
    return (json_text(answer.model_dump()) + "\n").encode()


@lru_cache(2)
def _linker(settings: LinkSettings) -> Linker:
    return Linker(linker("reading").encoder, settings)


def _start() -> Path:
    """The path to link in the working folder: the file, if there is only one; else all files that are documents."""
    files = [path for path in Path().rglob("*") if path.is_file()]
    return files[0] if len(files) == 1 else Path()


def _reply(upload: Upload, text: Callable[[Results], Iterable[str]]) -> bytes:
    linked_any = False
    problem = f"no document in it: what is read is {formats_in_words()}"

    def watched(results: Results) -> Results:
        nonlocal linked_any, problem
        for result in results:
            if isinstance(result, Failure):
                problem = str(result.error)
            else:
                linked_any = True
            yield result

    with chdir(upload.folder):
        files = [(path, Path()) for path, _ in find_documents([_start()], upload.reading)]
        read = map(_for_clients, read_files(files, upload.reading))
        refused = (Failure(Path(name), DocumentError(f"{name}: {why}")) for name, why in upload.refused)
        body = "".join(text(watched(chain(refused, _linker(upload.linking).link_all(read)))))
    if not linked_any:
        raise DocumentError(problem)
    return body.encode()


def _for_clients(read: Document | Failure) -> Document | Failure:
    if isinstance(read, Failure):
        return Failure(read.path, type(read.error)(without_hint(str(read.error))))
    return for_clients(read)


def _excerpts(upload: Upload, excerpts_of: Callable[[LinkedDocument], Iterable[Context | Chunk | SlimChunk]]) -> bytes:
    from iconotext.report.as_excerpts import json_array

    def excerpts(results: Results) -> Iterator[Context | Chunk | SlimChunk]:
        for result in results:
            if isinstance(result, Failure):
                raise result.error
            yield from excerpts_of(result)

    return _reply(upload, lambda results: json_array(excerpts(results)))
