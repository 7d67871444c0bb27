"""``iconotext papers reproduce``: train and evaluate the rows of a table, beside the published figures."""

from __future__ import annotations

import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import known_errors
from iconotext.cli.options import Download, argument, option
from iconotext.cli.output import complain, say, say_json
from iconotext.cli.output import show as show_sections
from iconotext.cli.train import Bars, Lines
from iconotext.errors import SettingError
from iconotext_papers.published import TABLES

if TYPE_CHECKING:
    from iconotext_papers.tables.runner import Reproduction


def _check_table(table: str) -> str:
    """The name of an existing table; an unknown one is reported before other options are checked."""
    with known_errors():
        from iconotext_papers.tables.rows import find_table

        find_table(table)
    return table


def reproduce(
    table: Annotated[
        str,
        argument(
            metavar="TABLE",
            help=" ".join(
                ["A table or figure of a paper.", *(f"{row.name}: {row.summary}" for row in TABLES.values())]
            ),
            callback=_check_table,
        ),
    ],
    corpus: Annotated[
        list[str],
        option(
            "--corpus",
            "-c",
            metavar="[NAME=]FILE",
            help="The corpus, with gold links in its test split. For Alikhani 2021, text-image pairs with "
            "relations. Of tables of links several, each with the name of the data set that it stands "
            "for (MSCOCO=a.jsonl, DII=b.jsonl).",
        ),
    ],
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            help="Folder of the results (default: reproduced/TABLE). It also has the models and tables.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        option(
            "--set",
            metavar="[ROW:]KEY=VALUE",
            help="Another value for a key of the recipes. Of all rows, such as dim=256, or of one "
            "(transformer:dim=256); may be repeated.",
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, max=100, help="How often to train each row. Means and differences are shown.")
    ] = 1,
    from_: Annotated[
        Path | None, option("--from", help="Corpus to transfer from, for li2021/4. A model learns its gold links.")
    ] = None,
    jobs: Annotated[int | None, option(min=1, help="Models trained at a time (default: half the cores).")] = None,
    only: Annotated[
        list[str] | None,
        option(metavar="ROW", help="Only this row: nostruct, transformer, and so on. May be repeated."),
    ] = None,
    dataset: Annotated[
        str | None,
        option(help="Data set whose figures are shown (default: all). MSCOCO, Story-DII, and so on, of the paper."),
    ] = None,
    download: Download = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print results.json instead of the table.")] = False,
) -> None:
    """Train and evaluate every row of a results table of Hessel 2019, Li 2021 or Alikhani 2021.

    The published figures stand beside ours. Tables are 2, 3, S1, S2, S3, S4 and fine-tuning (Hessel 2019);
    li2021/2, li2021/3, li2021/4, li2021/5, li2021/bias; alikhani2021/4, alikhani2021/5, alikhani2021/7, alikhani2021/8,
    alikhani2021/fig5, alikhani2021/fig8, alikhani2021/search.

    Models are trained in processes of their own. The same command goes on where it was stopped, and does nothing twice.
    The folder gets `table.md`, `table.html`, `curves.svg`, `results.json`, and for each row the scores of every test
    document (`results/ROW.parquet`, which `iconotext papers analyze` reads) and the model (`models/ROW`).

    With `--seeds 3` each row is trained with three seeds. Figures are then means over seeds, and each row gets its
    paired difference to the paper's own model, with an interval that counts documents and seeds. Tables of Li 2021 have
    differences in any case.

    **Examples**

    - `iconotext papers reproduce 2 -c mscoco/ --set features.image=features.npy`
    - `iconotext papers reproduce 3 --corpus rqa/ --dataset RQA --jobs 4`
    - `iconotext papers reproduce 2 -c MSCOCO=mscoco/ -c DII=dii/ -c SIS=sis/`
    - `iconotext papers reproduce S1 -c c.jsonl --only assignment`
    - `iconotext papers reproduce li2021/4 --corpus dii.jsonl --from mscoco.jsonl`
    - `iconotext papers reproduce li2021/bias --corpus dii.jsonl`
    - `iconotext papers reproduce alikhani2021/5 --corpus clue.jsonl --seeds 3`
    """
    with known_errors(download=download, goes_on=True):
        from iconotext_papers.tables import runner, several_corpora

        many_corpora = len(corpus) > 1 or _is_named(corpus[0])
        if many_corpora and dataset is not None:
            raise SettingError(f"dataset={dataset}: the names of the corpora say it; leave it out")
        show = Bars() if sys.stderr.isatty() else Lines()
        with closing(show):
            run = (
                partial(several_corpora.reproduce_corpora, table, several_corpora.named_corpora(table, corpus))
                if many_corpora
                else partial(runner.reproduce, table, Path(corpus[0]), dataset=dataset)
            )
            reproduction = run(
                output,
                watch=show,
                overrides=set_ or [],
                only=only or [],
                seeds=seeds,
                source=from_,
                jobs=jobs,
                report=show.report,
                notify=show.notify,
            )
        _print_reproduction(reproduction, as_json=as_json)


def _is_named(corpus: str) -> bool:
    """Whether the name of a data set precedes the file; names of files may have an equals sign, too."""
    name, equals, _ = corpus.partition("=")
    return bool(equals) and not set(name) & set("/\\.") and not Path(corpus).exists()


def _print_reproduction(reproduction: Reproduction, *, as_json: bool) -> None:
    from iconotext_papers.tables.comparison import TABLE

    if as_json:
        say_json(reproduction.results)
    else:
        if sys.stdout.isatty():
            show_sections(reproduction.sections)
        else:
            typer.echo((reproduction.folder / TABLE).read_text(encoding="utf-8"), nl=False)
        say(f"\n{reproduction.folder}: table.md, table.html, results.json and more", err=True)
    for key, problem in reproduction.failed.items():
        complain(f"{key}: {problem}")
    if reproduction.failed:
        done = any(path.stem not in reproduction.failed for path in reproduction.folder.rglob("results/*"))
        complain(f"{'the other rows are' if done else 'no row is'} done; the same command tries these again")
        sys.exit(1)
