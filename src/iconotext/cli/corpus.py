"""``iconotext corpus``: ``check``, ``convert``, ``split``, ``stats``, and ``build`` with a command for each builder."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iconotext.cli.common import check_unused, known_errors, progress
from iconotext.cli.options import (
    READING,
    CorpusOutput,
    Fields,
    Force,
    Json,
    Seed,
    Workers,
    argument,
    option,
    settings_options,
)
from iconotext.cli.output import as_typed, say, say_json, show
from iconotext.corpus.stats import row_stats
from iconotext.errors import CorpusError, OutputError
from iconotext.plain_text import counted, percent
from iconotext.report.tables import Grid

if TYPE_CHECKING:
    from iconotext.corpus.builders import Builder
    from iconotext.corpus.builders.report import BuildReport
    from iconotext.corpus.check import CheckedCorpus
    from iconotext.corpus.stats import CorpusStats
    from iconotext.system.processes import Watch
    from iconotext.types import Document

SHOWN = 20
"""Problems that ``check`` prints; ``--json`` gives all."""

ANY_FORMAT = (
    "In any format that can be read: .jsonl, .parquet, a folder with docs.json, a shard of mmc4 or OBELICS, a tar of "
    "WebDataset."
)


class To(StrEnum):
    """What a corpus is written as, where its name does not say it."""

    SHARDS = "shards"


def document_total(path: Path) -> int:
    """Number of documents for a progress bar; 0 if unknown, or if the corpus is in a store."""
    from iconotext.corpus.store import count_documents

    return count_documents(path) if sys.stderr.isatty() and path.exists() else 0


def check(
    paths: Annotated[list[Path], argument(metavar="PATH...", help=f"The corpora to check. {ANY_FORMAT}")],
    pictures: Annotated[
        bool, typer.Option("--pictures/--no-pictures", help="Decode every picture. Else it only has to be there.")
    ] = True,
    workers: Workers = None,
    json: Json = False,
) -> None:
    """List everything that is wrong with a corpus: fields, ids, pictures, pictures in two splits.

    The exit status is 1 when there is something. Each corpus is checked by itself; ids and pictures of the shards of a
    folder are compared over all its shards. --json has a line for each corpus or shard.

    **Examples**

    - `iconotext corpus check corpus.jsonl`
    - `iconotext corpus check mscoco/ train.jsonl test.jsonl`
    - `iconotext corpus check shards/`
    - `iconotext corpus check corpus.parquet --json | jq '.problems[].field'`
    """
    with known_errors():
        from iconotext.corpus.check import EarlierDocuments, check_corpus, unreadable
        from iconotext.corpus.shards import corpus_files
        from iconotext.system.object_store import address_of, is_remote

        wrong = False
        for root in paths:
            files = corpus_files(root)
            earlier = None if files == (root,) else EarlierDocuments()
            for path in files:
                if is_remote(address := address_of(path)):
                    raise CorpusError(f"{address}: lies in a store; files of this machine are checked: fetch it first")
                number = workers or os.cpu_count() or 1
                try:
                    watch = _watched(path)
                    checked = check_corpus(path, decode_images=pictures, workers=number, watch=watch, earlier=earlier)
                except CorpusError as error:
                    if earlier is None:
                        raise
                    checked = unreadable(path, error)  # the other shards are checked all the same
                if json:
                    values = asdict(checked)
                    say_json({"corpus": str(values.pop("path")), **values})
                else:
                    _show_checked(checked)
                wrong = wrong or bool(checked.problems)
        if wrong:
            sys.exit(1)


def _watched(path: Path) -> Watch:
    """A function that shows progress; an unknown total is replaced by the number of documents in a corpus."""
    documents = document_total(path)

    def watch(items: Iterable[Any], *, total: int, label: str) -> Iterator[Any]:
        return progress(items, total=total or documents, label=label)

    return watch


def _show_checked(checked: CheckedCorpus) -> None:
    for problem in checked.problems[:SHOWN]:
        say(f"{checked.path}, {problem}")
    count = len(checked.problems) + checked.unlisted
    if count > SHOWN:
        listed = f"{len(checked.problems):,}" if checked.unlisted else "all"
        say(f"... and {count - SHOWN} more; --json gives {listed}")
    for note in checked.notes:
        say(f"note: {note}")
    verdict = counted(count, "problem") if count else "nothing wrong"
    say(f"{checked.path} ({checked.format or 'not read'}): {counted(checked.documents, 'document')}, {verdict}")


def convert(
    source: Annotated[Path, argument(help=f"The corpus to read. {ANY_FORMAT}")],
    target: Annotated[Path, argument(help="The corpus to write.")],
    to: Annotated[
        To | None,
        option(
            help="What to write (default: a file, as its name says). shards: tables with the pictures in their rows."
        ),
    ] = None,
    size: Annotated[
        int | None,
        option(min=1, help="With --to shards: documents of a shard (default: 1000)."),
    ] = None,
    force: Force = False,
) -> None:
    """Write a corpus as .jsonl or .parquet.

    With --to shards a corpus becomes a folder of tables with the pictures in their rows, for `iconotext scale link`.

    **Examples**

    - `iconotext corpus convert corpus.jsonl corpus.parquet`
    - `iconotext corpus convert shard.jsonl.zip shard.parquet`
    - `iconotext corpus convert corpus.jsonl shards/ --to shards --size 500`
    """
    with known_errors():
        if to is To.SHARDS:
            check_unused({"--force": force}, "does not go with --to shards: leave it out")
            _write_shards(source, target, size)
            return
        check_unused({"--size": size}, "is for shards: add --to shards")
        from iconotext.corpus.convert import convert_corpus

        result = convert_corpus(source, target, force=force, watch=_watched(source))
        say(f"{target}: {counted(result.documents, 'document')}", err=True)
        if result.inside:
            pictures = counted(result.inside, "picture")
            say(f"{pictures} in rows or in a tar: named only; --to shards takes them along", err=True)


def _write_shards(source: Path, target: Path, size: int | None) -> None:
    from iconotext.corpus.convert import SHARD_DOCUMENTS
    from iconotext.corpus.shards import corpus_files, documents_of

    files = corpus_files(source)
    documents = (d for file in files for d in documents_of(file, inside=files != (source,)))
    _into_shards(
        progress(documents, total=sum(map(document_total, files)), label="Writing"), target, size or SHARD_DOCUMENTS
    )


def _into_shards(documents: Iterable[Document], target: Path, size: int) -> None:
    from iconotext.corpus.convert import write_shards

    result = write_shards(documents, target, size=size)
    pictures = counted(result.pictures, "picture")
    say(f"{target}: {counted(result.documents, 'document')} in {counted(result.shards, 'shard')}, {pictures}", err=True)
    if result.missing:
        say(f"{counted(result.missing, 'picture')} not at hand: named only", err=True)


def split(
    path: Annotated[Path, argument(metavar="PATH", help=f"The corpus to divide. {ANY_FORMAT}")],
    output: CorpusOutput,
    validation: Annotated[float, typer.Option(help="Share of the documents for validation.")] = 0.1,
    test: Annotated[float, typer.Option(help="Share of the documents for test.")] = 0.1,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Divide a corpus into train, validation and test, at random; splits that it has are replaced.

    Documents that share a picture go together, so that no picture is in two splits. A folder of shards, here or in a
    store, becomes at most as many new shards, with the pictures in their rows; a corpus with its pictures in a tar or
    in its rows becomes one shard. Name a new folder for shards.

    **Examples**

    - `iconotext corpus split corpus.jsonl -o split.jsonl --validation 0.1 --test 0.1`
    - `iconotext corpus split shards/ --output divided/`
    """
    with known_errors():
        from iconotext.corpus.shards import corpus_files, documents_of
        from iconotext.corpus.split import Shares, assign_splits
        from iconotext.corpus.store import FORMATS, write_corpus
        from iconotext.system.files import check_overwrite

        files = corpus_files(path)
        check_overwrite(output, force)
        into_shards = shards = files != (path,)

        def documents() -> Iterator[Document]:
            nonlocal into_shards
            for document in (d for file in files for d in documents_of(file, inside=shards)):
                into_shards = into_shards or any(isinstance(image.file, bytes) for image in document.images)
                yield document

        # Read twice, for the splits and to write, so that the documents need not be in memory.
        watched = progress(documents(), total=sum(map(document_total, files)), label="Reading")
        splits = assign_splits(watched, Shares(validation, test), seed=seed)
        if into_shards and any(output.suffix.lower() in row.suffixes for row in FORMATS.values() if row.write):
            raise OutputError(f"{output}: {path} has its pictures in rows or in a tar, so name a new folder for shards")
        parts = zip(progress(documents(), total=len(splits), label="Writing"), splits, strict=True)
        divided = (replace(document, split=part) for document, part in parts)
        if into_shards:
            _into_shards(divided, output, -(-len(splits) // len(files)))  # rounded up: at most as many shards
        else:
            write_corpus(divided, output, force=force)
        counts = ", ".join(f"{splits.count(name)} {name}" for name in ("train", "validation", "test"))
        say(f"{output}: {counted(len(splits), 'document')} ({counts})", err=True)


HEADER = ("corpus", "train/val/test", "median n/m", "mean n/m", "max n/m", "images", "density")
"""Columns of the sizes: n sentences, m images in a document."""


def stats(
    paths: Annotated[list[Path], argument(metavar="PATH...", help="Corpora, each a row of the table.")],
    json: Json = False,
) -> None:
    """Count documents, sentences, images and links: the columns of Table 1 of Hessel 2019.

    n is the number of sentences of a document, m that of its images. Density is the number of gold links divided by
    the number of possible links, over the documents whose links are known. Where documents have coherence relations, a
    second table has the share of each, as Tables 1 and 2 of Alikhani 2021.

    **Examples**

    - `iconotext corpus stats corpus.jsonl`
    - `iconotext corpus stats mscoco.jsonl dii.jsonl`
    - `iconotext corpus stats mscoco/ dii/ diy/ --json`
    """
    with known_errors():
        from iconotext.corpus.store import read_rows

        counts = [
            row_stats(progress(read_rows(path), total=document_total(path), label=f"Counting {path.name}"))
            for path in paths
        ]
        by_name = dict(zip(short_names(paths), counts, strict=True))
        if json:
            values = [{"corpus": str(path), **numbers.as_json()} for path, numbers in zip(paths, counts, strict=True)]
            say_json(values)
            return
        sizes = Grid("", HEADER, [[name, *size_cells(numbers)] for name, numbers in by_name.items()])
        show([sizes, *relation_grids(by_name)])
        for path, numbers in zip(paths, counts, strict=True):
            if numbers.unknown:
                documents = counted(numbers.documents, "document")
                say(f"{path}: the links of {numbers.unknown:,} of {documents} are not known")


def short_names(paths: Sequence[Path]) -> list[str]:
    """Short names of corpora: the ends of their paths, as long as necessary to distinguish them."""
    for length in range(1, max(len(path.parts) for path in paths)):
        names = ["/".join(path.parts[-length:]) for path in paths]
        if len(set(names)) == len(names) and all(names):
            return names
    return [str(path) for path in paths]


def size_cells(numbers: CorpusStats) -> tuple[str, ...]:
    """Cells of a corpus below ``HEADER``, without its name."""
    n, m = numbers.sentences, numbers.images
    return (
        _splits(numbers),
        f"{n.median:g}/{m.median:g}",
        f"{n.mean:.1f}/{m.mean:.1f}",
        f"{n.max}/{m.max}",
        f"{numbers.unique_images:,}",
        "N/A" if numbers.density is None else percent(numbers.density, 1),
    )


def _splits(numbers: CorpusStats) -> str:
    if set(numbers.splits) <= {"none"}:
        return f"{numbers.documents:,}"
    parts = "/".join(f"{numbers.splits.get(name, 0):,}" for name in ("train", "validation", "test"))
    undivided = numbers.splits.get("none", 0)
    return f"{parts} + {undivided:,}" if undivided else parts


def relation_grids(
    by_name: Mapping[str, CorpusStats], more: Mapping[str, Mapping[str, str]] = MappingProxyType({})
) -> list[Grid]:
    """Positive rates of coherence relations, a column for each corpus that has any.

    Args:
        more: Further columns: heading to cells by relation.
    """
    having = {name: numbers.relations for name, numbers in by_name.items() if numbers.relations}
    if not having:
        return []
    rows = []
    for relation in dict.fromkeys(relation for relations in having.values() for relation in relations):
        row = [relation]
        for relations in having.values():
            answered = relations.get(relation)
            if answered is None or answered.rate is None:
                row.append("")
            else:
                row.append(f"{percent(answered.rate, 1)} of {answered.total:,}")
        rows.append([*row, *(cells.get(relation, "") for cells in more.values())])
    return [Grid("", ["relation", *having, *more], rows)]


RULES = 12
"""Number of rules for dropped items that are shown; the report has all."""

MORE: Mapping[str, Mapping[str, Any]] = {**READING.more, "compare": {"case_sensitive": False}}
"""Further arguments of options, by the name of the setting."""


def builder_command(builder: Builder) -> Callable[..., None]:
    """Make the command of a builder, with an option for each of its settings."""
    kind, documents = builder.load()
    more = {field: help_ for field, help_ in MORE.items() if field in kind.model_fields}
    panel = Fields(short={"source": "-s"}, more=more)

    def build(*, settings: Any, output: CorpusOutput, workers: Workers = None, force: Force = False) -> None:
        with known_errors():
            from iconotext.corpus.builders.run import build_corpus

            report = build_corpus(
                builder.name, documents, settings, output, workers=workers, force=force, watcher=progress
            )
            show_build(report, output)

    build.__doc__ = inspect.cleandoc(kind.__doc__).replace("``", "`")
    build.__annotations__["settings"] = Annotated[kind, panel]
    return settings_options(build)


def show_build(report: BuildReport, output: Path) -> None:
    """Print counts beside the published ones, dropped items, and the corpus, on stderr."""
    from iconotext.corpus.builders.report import dropped_path, report_path

    if any(count.published is not None for count in report.counts):
        rows = [
            [
                count.name,
                f"{count.number:,}",
                "" if count.published is None else f"{'about ' * (count.rounding > 1)}{count.published:,}",
            ]
            for count in report.counts
        ]
        show([Grid("", ["", "here", "published"], rows)], err=True)
    else:
        for count in report.counts:
            say(f"{count.number:>11,}  {count.name}", err=True)
    for note in report.notes:
        say(as_typed(f"note: {note}"), err=True)
    if report.dropped:
        say("dropped:", err=True)
        for rule, number in report.dropped.most_common(RULES):
            say(as_typed(f"{number:>11,}  {rule}"), err=True)
            say(as_typed(f"{'':13}{'e.g. ' if number > 1 else ''}{report.first[rule]}"), err=True)
        if len(report.dropped) > RULES:
            say(f"             and by {len(report.dropped) - RULES} more rules, see the report", err=True)
    if report.stats is not None:
        stats = report.stats
        parts = [f"{stats.splits[name]:,} {name}" for name in ("train", "validation", "test") if name in stats.splits]
        say(f"{output}: {counted(stats.documents, 'document')}" + (f" ({', '.join(parts)})" if parts else ""), err=True)
    also = f", and {dropped_path(output)}: every item that was dropped" if report.dropped else ""
    say(f"{report_path(output)}: the counts{also}", err=True)
