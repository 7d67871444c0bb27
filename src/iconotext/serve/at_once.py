"""Work on the files of a single request, without storing anything: links, contexts, chunks, alternative texts.

The answers are the JSON output of the commands, as if the files were in the working folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir
from dataclasses import asdict
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from iconotext.alt_text.rules import AltTextSettings
from iconotext.decide.settings import LinkSettings
from iconotext.errors import DocumentError
from iconotext.excerpts import Chunk, Context
from iconotext.linker import Linker
from iconotext.plain_text import json_text
from iconotext.read import Failure, ReadSettings, find_documents, read_found
from iconotext.read.format import formats_in_words
from iconotext.serve.views import for_clients, without_hint
from iconotext.serve.work import linker
from iconotext.types import Document, LinkedDocument


class Sent(NamedTuple):
    """Files of a request.

    Attributes:
        folder: Contains the files; nothing else on this machine is read for the request.
        refused: Name and reason of each file that was refused.
    """

    folder: str
    reading: ReadSettings
    linking: LinkSettings
    refused: tuple[tuple[str, str], ...] = ()


class Reply(NamedTuple):
    """The answer to a request."""

    body: bytes
    documents: int
    links: int


Results = Iterator[LinkedDocument | Failure]


def links(sent: Sent) -> Reply:
    """The documents with their links, as ``iconotext link --to json``."""
    from iconotext.report.as_json import json_array

    return _reply(sent, json_array)


def contexts(sent: Sent, words: int) -> Reply:
    """The statements about each picture, as ``iconotext context --json``."""
    from iconotext.report.context import contexts as contexts_of

    return _reply(sent, lambda results: _rows(contexts_of(each, words) for each in _linked(results)))


def chunks(sent: Sent, words: int) -> Reply:
    """The documents in chunks with their pictures, as ``iconotext chunks --json``."""
    from iconotext.report.chunks import chunks as chunks_of

    return _reply(sent, lambda results: _rows(chunks_of(each, words) for each in _linked(results)))


def alt_texts(sent: Sent, checking: AltTextSettings, draft: bool) -> Reply:
    """Problems of alternative texts, and drafts, as ``alt-text check`` and ``alt-text draft`` print them."""
    from iconotext.alt_text.audit import check
    from iconotext.alt_text.drafts import make_drafts, row
    from iconotext.alt_text.writing import digest

    with chdir(sent.folder):
        checked = check([_start()], checking, sent.reading, root=Path.cwd())
    failed = dict(sent.refused) | {str(each.path): without_hint(str(each.error)) for each in checked.failures}

    def text(results: Results) -> Iterator[str]:
        drafts = []
        for each in results if draft else ():
            if isinstance(each, Failure):
                failed[str(each.path)] = str(each.error)
            elif each.document.source is not None:
                drafts += [row(found) for found in make_drafts(each, digest(each.document.source.read_bytes()))]
        findings = [asdict(finding) for finding in checked.findings]
        told = [{"id": Path(path).stem, "source": path, "error": error} for path, error in sorted(failed.items())]
        yield json_text({"findings": findings, "drafts": drafts, "failed": told}) + "\n"

    return _reply(sent, text, may_fail=True)


@lru_cache(2)
def _linker(settings: LinkSettings) -> Linker:
    return Linker(linker("reading").encoder, settings)


def _start() -> Path:
    """The path to link in the working folder: the file, if there is only one; else all files that are documents."""
    files = [path for path in Path().rglob("*") if path.is_file()]
    return files[0] if len(files) == 1 else Path()


def _reply(sent: Sent, text: Callable[[Results], Iterable[str]], *, may_fail: bool = False) -> Reply:
    documents = links = 0
    problem = f"no document in it: what is read is {formats_in_words()}"

    def counted(results: Results) -> Results:
        nonlocal documents, links, problem
        for result in results:
            if isinstance(result, Failure):
                problem = str(result.error)
            else:
                documents, links = documents + 1, links + len(result.links)
            yield result

    with chdir(sent.folder):
        found = [(path, Path()) for path, _ in find_documents([_start()], sent.reading)]
        read = map(_for_clients, read_found(found, sent.reading))
        refused = (Failure(Path(name), DocumentError(f"{name}: {why}")) for name, why in sent.refused)
        body = "".join(text(counted(chain(refused, _linker(sent.linking).link_all(read)))))
    if not (documents or may_fail):
        raise DocumentError(problem)
    return Reply(body.encode(), documents, links)


def _for_clients(read: Document | Failure) -> Document | Failure:
    if isinstance(read, Failure):
        return Failure(read.path, type(read.error)(without_hint(str(read.error))))
    return for_clients(read)


def _linked(results: Results) -> Iterator[LinkedDocument]:
    for result in results:
        if isinstance(result, Failure):
            raise result.error
        yield result


def _rows(found: Iterable[Iterable[Context] | Iterable[Chunk]]) -> Iterator[str]:
    from iconotext.report.as_excerpts import json_array

    return json_array(each for some in found for each in some)
