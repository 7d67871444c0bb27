"""``iconotext corpus build documents``: files as people have them become a corpus to train on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import complain, known_errors, make_settings, parse_settings, progress
from iconotext.cli.options import AllowOutside, Fetch, Force, Root, Seed

if TYPE_CHECKING:
    from iconotext.corpus.builders.documents import LeftOut
    from iconotext.corpus.split import Shares
    from iconotext.read import ReadSettings
    from iconotext.types import Document

EXAMPLES = 3
"""Pictures with the same problem that are told one by one; of the rest the number is told."""

KINDS = 50
"""Problems that are told apart."""


def documents(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH", help="Markdown, HTML, DOCX, EPUB or PDF files, or folders of them.", show_default=False
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The corpus to write: .jsonl or .parquet.", show_default=False)
    ],
    root: Root = None,
    allow_outside: AllowOutside = False,
    fetch: Fetch = False,
    validation: Annotated[float, typer.Option(help="Share of the documents for validation.")] = 0.1,
    test: Annotated[float, typer.Option(help="Share of the documents for test.")] = 0,
    seed: Seed = 0,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any other setting of reading: language=de, epub=chapters, captions=true, min_side=32, ...",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Make a corpus out of documents: their sentences and pictures in order, divided into train, validation and test.

    Pictures that came inside a document are written beside the corpus; others stay where they are. What cannot be used
    is told and left out. Documents that share a picture go together.

    **Examples**

    - `iconotext corpus build documents docs/ --output corpus.jsonl`
    - `iconotext corpus build documents site/ --root site/static -o corpus.parquet --test 0.1`
    - `iconotext corpus build documents books/*.epub -o books.jsonl --set epub=chapters --set language=en`
    """
    with known_errors():
        from iconotext.corpus.split import Shares
        from iconotext.read import ReadSettings

        (given,) = parse_settings(set_ or [], ReadSettings)
        options = {"root": root, "allow_outside": allow_outside or None, "fetch": fetch or None}
        reading = make_settings(ReadSettings, options | given)
        build_corpus(paths, output, reading, Shares(validation, test), seed=seed, force=force)


def build_corpus(
    paths: list[Path], output: Path, reading: ReadSettings, shares: Shares, *, seed: int, force: bool
) -> None:
    """Read, write, and say on stderr what was left out and what came out."""
    from iconotext.corpus.builders.documents import build_documents, pictures_folder
    from iconotext.corpus.store import target_format, write_corpus
    from iconotext.errors import DocumentError, OutputError
    from iconotext.read import find_documents, read_all
    from iconotext.write import refuse

    if target_format(output) not in ("jsonl", "parquet"):
        raise OutputError(f"{output}: name a file .jsonl or .parquet; `iconotext corpus convert` writes other formats")
    refuse(output, force)
    total = sum(1 for _ in find_documents(paths))
    if not total:
        raise DocumentError(
            f"no documents in {', '.join(map(str, paths))}: Markdown, HTML, DOCX, EPUB and PDF are read"
        )
    left = _Left()
    splits: Counter[str] = Counter()
    inside: set[Path] = set()

    def counted() -> Iterator[Document]:
        results = progress(read_all(paths, reading), total=total, label="Reading")
        for document in build_documents(results, output, shares, seed=seed, tell=left.tell):
            splits[document.split or "train"] += 1
            inside.update(i.file for i in document.images if isinstance(i.file, Path) and i.file.parent == folder)
            yield document

    folder = pictures_folder(output)
    written = write_corpus(counted(), output, force=force)
    left.summarise()
    counts = ", ".join(f"{splits[name]} {name}" for name in ("train", "validation", "test"))
    typer.echo(f"{output}: {written} documents ({counts})", err=True)
    if inside:
        typer.echo(f"{folder}: {len(inside)} pictures that came inside documents; keep it beside the corpus", err=True)


class _Left:
    """Tells what was left out: documents that cannot be read one by one, of pictures a few of each kind of problem."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._pictures: Counter[str] = Counter()

    def tell(self, left_out: LeftOut) -> None:
        """One line, or none where there are many like it."""
        self._count[left_out.kind] += 1
        if left_out.kind == "picture":
            problem = re.sub(r"\d+( × \d+)?", "…", left_out.problem)
            if problem not in self._pictures and len(self._pictures) >= KINDS:
                problem = "other problems"
            self._pictures[problem] += 1
            if self._pictures[problem] > EXAMPLES:
                return
        if left_out.kind != "bare":  # many a document has no pictures, and nothing is wrong with it
            complain(f"{left_out.place}: {left_out.problem}")

    def summarise(self) -> None:
        """How many there were, at the end."""
        for problem, number in self._pictures.items():
            if number > EXAMPLES:
                complain(f"{number - EXAMPLES} more pictures: {problem}")
        words = {
            "unread": "documents that cannot be read",
            "bare": "documents without sentences or usable pictures",
            "picture": "pictures",
        }
        found = [f"{self._count[kind]} {what}" for kind, what in words.items() if self._count[kind]]
        if found:
            complain(f"left out: {', '.join(found)}")
