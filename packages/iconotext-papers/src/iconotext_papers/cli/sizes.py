"""``iconotext papers analyze sizes``: the sizes of corpora beside the published ones."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from iconotext.cli.common import known_errors, progress
from iconotext.cli.corpus import HEADER, document_total, relation_grids, short_names, size_cells
from iconotext.cli.options import Json, argument
from iconotext.cli.output import say_json, show
from iconotext.corpus.stats import row_stats
from iconotext.plain_text import percent
from iconotext.report.tables import Grid
from iconotext_papers.published import published_rates
from iconotext_papers.published.sizes import TABLE_1


def sizes(
    paths: Annotated[list[Path], argument(metavar="PATH...", help="Corpora, each a row of the table.")],
    as_json: Json = False,
) -> None:
    """Count the documents, sentences and images of corpora beside Table 1 of Hessel 2019, and the relations.

    The second table has the published sizes, the third the share of each coherence relation beside Tables 1 and 2 of
    Alikhani 2021, where documents have any.

    **Examples**

    - `iconotext papers analyze sizes mscoco.jsonl dii.jsonl`
    - `iconotext papers analyze sizes cite.jsonl clue.jsonl`
    """
    with known_errors():
        from iconotext.corpus.store import read_rows

        counts = [
            row_stats(progress(read_rows(path), total=document_total(path), label=f"Counting {path.name}"))
            for path in paths
        ]
        by_name = dict(zip(short_names(paths), counts, strict=True))
        if as_json:
            values = [{"corpus": str(path), **numbers.as_json()} for path, numbers in zip(paths, counts, strict=True)]
            say_json([*values, *({"published": name, **asdict(sizes)} for name, sizes in TABLE_1.items())])
            return
        ours = Grid("", HEADER, [[name, *size_cells(numbers)] for name, numbers in by_name.items()])
        rates = {relation: percent(rate / 100, 1) for relation, rate in published_rates().items()}
        show([ours, _published_grid(), *relation_grids(by_name, {"published": rates})])


def _published_grid() -> Grid:
    """The rows of Table 1, with mean and maximum if the supplement has them."""
    rows = [
        (
            name,
            "/".join(f"{documents // 1000}K" for documents in sizes.documents),
            "/".join(map(str, sizes.median)),
            "/".join(f"{mean:g}" for mean in sizes.mean or ()),
            "/".join(map(str, sizes.max or ())),
            f"{sizes.images // 1000}K",
            "N/A" if sizes.density is None else percent(sizes.density / 100),
        )
        for name, sizes in TABLE_1.items()
    ]
    return Grid("Table 1 of Hessel 2019 and its supplement, as published, rounded", HEADER, rows)
