"""``iconotext corpus``: check, count, convert, divide and build corpora."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import known_errors, progress
from iconotext.cli.corpus_captions import captions
from iconotext.cli.corpus_cite import cite
from iconotext.cli.corpus_clue import clue
from iconotext.cli.corpus_convert import convert
from iconotext.cli.corpus_documents import documents
from iconotext.cli.corpus_pairs import pairs
from iconotext.cli.corpus_progress import total, watched
from iconotext.cli.options import CorpusOutput, Force, Json, Seed

if TYPE_CHECKING:
    from rich.text import Text

    from iconotext.corpus.check import CheckedCorpus
    from iconotext.corpus.stats import CorpusStats

SHOWN = 20
"""Problems that ``check`` prints; ``--json`` gives all."""

corpus = typer.Typer(name="corpus", help="Check, count, convert, divide and build corpora.", no_args_is_help=True)
build = typer.Typer(
    name="build",
    help="Make a corpus out of files, out of photographs with captions, or out of a published data set.",
    no_args_is_help=True,
)
corpus.add_typer(build)
corpus.command()(convert)
build.command()(captions)
build.command()(cite)
build.command()(clue)
build.command()(documents)
build.command()(pairs)


CorpusArgument = Annotated[
    Path,
    typer.Argument(
        metavar="PATH", help="A corpus: .jsonl, .parquet, a folder with docs.json, an mmc4 shard.", show_default=False
    ),
]


@corpus.command()
def check(
    path: CorpusArgument,
    pictures: Annotated[
        bool, typer.Option("--pictures/--no-pictures", help="Decode every picture, or only see that it is there.")
    ] = True,
    json: Json = False,
) -> None:
    """List everything that is wrong with a corpus: fields, ids, pictures, pictures in two splits.

    The exit status is 1 when there is something.

    **Examples**

    - `iconotext corpus check corpus.jsonl`
    - `iconotext corpus check mscoco/`
    - `iconotext corpus check corpus.parquet --json | jq '.problems[].field'`
    """
    with known_errors():
        from iconotext.corpus.check import check_corpus
        from iconotext.corpus.store import read_records

        records = progress(read_records(path), total=total(path), label="Checking")
        checked = check_corpus(path, records, decode_pictures=pictures)
        if json:
            _print_json(_checked_json(checked))
        else:
            _show_checked(checked)
        if checked.problems:
            sys.exit(1)


@corpus.command()
def stats(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Corpora, each a row of the table.", show_default=False)
    ],
    json: Json = False,
) -> None:
    """Count documents, sentences, images and links: the columns of Table 1 of Hessel 2019.

    Density is the number of gold links divided by the number of possible links, over the documents whose links are
    known. Where documents have coherence relations, a second table has the share of each, as Tables 1 and 2 of
    Alikhani 2021.

    **Examples**

    - `iconotext corpus stats corpus.jsonl`
    - `iconotext corpus stats mscoco/ dii/ diy/ --json`
    """
    with known_errors():
        from iconotext.corpus.stats import corpus_stats

        found = [(path, corpus_stats(watched(path, "Counting"))) for path in paths]
        if json:
            _print_json([{"corpus": str(path), **numbers.as_json()} for path, numbers in found])
        else:
            _show_stats(found)


@corpus.command()
def split(
    path: CorpusArgument,
    output: CorpusOutput,
    validation: Annotated[float, typer.Option(help="Share of the documents for validation.")] = 0.1,
    test: Annotated[float, typer.Option(help="Share of the documents for test.")] = 0.1,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Divide a corpus into train, validation and test, at random; splits that it has are replaced.

    Documents that share a picture go together, so that no picture is in two splits.

    **Example**

    - `iconotext corpus split corpus.jsonl --output split.jsonl --validation 0.1 --test 0.1`
    """
    with known_errors():
        from dataclasses import replace

        from iconotext.corpus.split import Shares, assign_splits
        from iconotext.corpus.store import write_corpus
        from iconotext.write import refuse

        refuse(output, force)
        splits = assign_splits(watched(path, "Reading"), Shares(validation, test), seed=seed)
        documents = (
            replace(document, split=part) for document, part in zip(watched(path, "Writing"), splits, strict=True)
        )
        written = write_corpus(documents, output, force=force)
        counts = ", ".join(f"{splits.count(name)} {name}" for name in ("train", "validation", "test"))
        typer.echo(f"{output}: {written} documents ({counts})", err=True)


def _print_json(value: object) -> None:
    from iconotext.corpus.strict_json import dump_json

    typer.echo(dump_json(value))


def _checked_json(checked: CheckedCorpus) -> dict[str, object]:
    return {
        "corpus": str(checked.path),
        "format": checked.format,
        "documents": checked.documents,
        "problems": [
            {"place": problem.place, "field": problem.field, "message": problem.message} for problem in checked.problems
        ],
        "notes": list(checked.notes),
    }


def _show_checked(checked: CheckedCorpus) -> None:
    for problem in checked.problems[:SHOWN]:
        typer.echo(f"{checked.path}, {problem}")
    hidden = len(checked.problems) - SHOWN
    if hidden > 0:
        typer.echo(f"... and {hidden} more; --json gives all")
    for note in checked.notes:
        typer.echo(f"note: {note}")
    count = len(checked.problems)
    verdict = "nothing wrong" if not count else "1 problem" if count == 1 else f"{count} problems"
    typer.echo(f"{checked.path} ({checked.format}): {checked.documents} documents, {verdict}")


def _show_stats(found: list[tuple[Path, CorpusStats]]) -> None:
    """A row for each corpus, as Table 1 of the paper has it."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("corpus", overflow="fold", min_width=10)
    for name in ("train/val/test", "median\nn/m", "mean\nn/m", "max\nn/m", "images", "density"):
        table.add_column(name, justify="right", no_wrap=True)
    distinct = len({path.name for path, _ in found}) == len(found)
    for path, numbers in found:
        n, m = numbers.sentences, numbers.images
        table.add_row(
            Text(path.name if distinct and path.name else str(path)),
            _splits(numbers),
            f"{n.median:g}/{m.median:g}",
            f"{n.mean:.1f}/{m.mean:.1f}",
            f"{n.max}/{m.max}",
            f"{numbers.unique_images:,}",
            "N/A" if numbers.density is None else f"{numbers.density:.1%}",
        )
    Console().print(table)
    _show_relations(found, [Text(path.name if distinct and path.name else str(path)) for path, _ in found])
    for path, numbers in found:
        if numbers.unknown:
            typer.echo(f"{path}: nobody knows the links of {numbers.unknown:,} of {numbers.documents:,} documents")


def _show_relations(found: list[tuple[Path, CorpusStats]], names: list[Text]) -> None:
    """Positive rates of coherence relations, a column for each corpus that has any, and the published ones."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from iconotext.evaluate.published.alikhani2021 import TABLE_1, TABLE_2

    having = [(name, numbers) for name, (_, numbers) in zip(names, found, strict=True) if numbers.relations]
    if not having:
        return
    published = TABLE_1 | TABLE_2
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("relation", no_wrap=True)
    for name, _ in having:
        table.add_column(name, justify="right", overflow="fold", min_width=10)
    table.add_column("published", justify="right", no_wrap=True)
    for relation in dict.fromkeys(relation for _, numbers in having for relation in numbers.relations):
        cells = []
        for _, numbers in having:
            answered = numbers.relations.get(relation)
            rate = answered.rate if answered is not None else None
            cells.append("" if answered is None or rate is None else f"{rate:.1%} of {answered.known:,}")
        table.add_row(relation, *cells, f"{published[relation]:.1f}%" if relation in published else "")
    Console().print(table)


def _splits(numbers: CorpusStats) -> str:
    """Documents of each split, or their number where there are no splits."""
    if set(numbers.splits) <= {"none"}:
        return f"{numbers.documents:,}"
    parts = "/".join(f"{numbers.splits.get(name, 0):,}" for name in ("train", "validation", "test"))
    rest = numbers.splits.get("none", 0)
    return f"{parts} + {rest:,}" if rest else parts
