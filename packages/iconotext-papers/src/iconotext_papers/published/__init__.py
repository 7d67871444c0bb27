"""The tables of the three papers: rows, settings and published figures, in one TOML file for each paper.

``published_tables`` reads the tables, ``published_cells`` the figures of one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from iconotext_papers.published.sizes import TABLE_1

PAPERS = ("hessel2019", "li2021", "alikhani2021")

Figures = tuple[float, ...]
"""The figures of a cell; ``PublishedTable.figures`` names them."""

Cells = Mapping[str, Mapping[str, Figures]]
"""Figures by name of the row and name of the column, mostly a data set; cells without figures are left out."""


class Statement(NamedTuple):
    """A setting as a paper states it.

    Attributes:
        value: The paper's value; ``none`` states that there is no such setting.
        place: Place in the text: section, equation, footnote; or ``not mentioned``.
        where: Settings of the recipes that it is about; empty for all.
    """

    value: Any
    place: str
    where: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """Describes the training of a row's model.

    Attributes:
        name: Name as published; ``{relation}`` in it makes a row for each relation of the corpus.
        key: Name in files and on the command line.
        recipe: Name of the recipe; None for a row without training.
        settings: Values of the recipe's keys that differ in this row.
        of_table: Those of them that the table sets for all rows.
        stated: The paper's statements about this row alone.
        transferred: Data set of the training corpus if it is not the table's own; else "".
        needed: Whether the table itself needs it; else it is a row of another table of the same models.
        extra: Whether the paper lacks it; then it is trained only if it is named.
    """

    name: str
    key: str
    recipe: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    of_table: Mapping[str, Any] = field(default_factory=dict)
    stated: Mapping[str, Statement] = field(default_factory=dict)
    transferred: str = ""
    needed: bool = True
    extra: bool = False


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table as published in its paper.

    Attributes:
        name: ``2``, ``li2021/3``, ...
        title: Title of the table.
        summary: What its rows are, in one sentence; empty if it cannot be reproduced.
        paper: Name of the paper.
        figures: Names of the figures in a cell.
        columns: Names of the columns.
        datasets: Names of the data sets with figures.
        published: The published figures.
        rows: The training of each row; empty if the table cannot be reproduced.
        kind: The measurement of a row: links of documents, or retrieval of images by texts.
        state: Name of the table in the state of its folder: the table's name, or the paper's if tables share models.
        reference: Key of the row with which the others are compared.
        compared_with: Rows that are compared with another one instead, by name: with the one that they vary.
        varied: Settings in which the rows differ, so that they cannot be set for all of them.
        mixed: Whether a setting for all rows applies only to those whose encoders have it.
        sections: Sections beside the table: ``shares``, ``bias``, ``agreement``; or ``sweeps`` in place of the table.
        notes: Remarks for a reader, on all tables of the paper (what no setting holds) and on this one.
        runs: How often the paper trained or tested its models.
        stated: The paper's statements about all rows by keys of recipes.
        by_dataset: Keys, or ``row:key``, with other values on a data set, by data set.
        inputs: The paper's ``features.image``, ``regions`` and ``text.word_vectors``: the ``name``, parts of names that
            are ``like`` it, the ``width`` of its vectors.
        documents: Number of documents for training, validation and test of each data set, as rounded in the paper.
    """

    name: str
    title: str
    summary: str
    paper: str
    figures: tuple[str, ...]
    columns: tuple[str, ...]
    datasets: tuple[str, ...]
    published: Cells
    rows: tuple[PublishedRow, ...]
    kind: Literal["links", "retrieval"]
    state: str
    reference: str
    compared_with: Mapping[str, str]
    varied: tuple[str, ...]
    mixed: bool
    sections: tuple[str, ...]
    notes: tuple[str, ...]
    runs: str
    stated: Mapping[str, Statement]
    by_dataset: Mapping[str, Mapping[str, Any]]
    inputs: Mapping[str, Mapping[str, Any]]
    documents: Mapping[str, Sequence[int]]

    @property
    def has_losses(self) -> bool:
        """Whether the loss on the test documents is among its figures, which needs no gold links."""
        return "−L" in self.figures


@cache
def published_tables() -> dict[str, PublishedTable]:
    """Return the tables of the three papers by name."""
    tables = {}
    for paper in PAPERS:
        content = _content(paper)
        for name in content["tables"]:
            tables[name] = _table(content, name)
    return tables


def published_cells(table: str) -> Cells:
    """The figures of a table."""
    return published_tables()[table].published


def published_rates() -> dict[str, float]:
    """Return the share of pairs with each relation, in percent (Alikhani 2021, Tables 1 and 2)."""
    tables = (published_cells("alikhani2021/1"), published_cells("alikhani2021/2"))
    return {relation: figures[0] for cells in tables for relation, rows in cells.items() for figures in rows.values()}


def published_facts(paper: str) -> dict[str, Any]:
    """Return figures that a paper gives outside its tables; the TOML file describes them."""
    facts: dict[str, Any] = _content(paper)["facts"]
    return facts


@cache
def _content(paper: str) -> dict[str, Any]:
    return tomllib.loads((files(__name__) / f"{paper}.toml").read_text(encoding="utf-8"))


def _table(content: Mapping[str, Any], name: str) -> PublishedTable:
    entry = content["tables"][name]
    rows = _rows(content, entry)
    group = content["rows"].get(entry.get("rows"), {})
    columns = tuple(entry.get("columns", ()))
    published: dict[str, dict[str, Figures]] = {
        row.name: {} for row in rows if row.needed and not row.extra and "{relation}" not in row.name
    }
    for row, cells in entry.get("published", {}).items():
        published[row] = {column: tuple(cell) for column, cell in zip(columns, cells, strict=True) if cell}
    return PublishedTable(
        name=name,
        title=entry["title"],
        summary=entry.get("summary", ""),
        paper=content["paper"],
        figures=tuple(entry.get("figures", content.get("figures", ()))),
        columns=columns,
        datasets=tuple(content.get("datasets", columns)),
        published=published,
        rows=rows,
        kind=content["kind"],
        state=entry.get("state", content.get("state", name)),
        reference=entry.get("reference", content["reference"]),
        compared_with={row: said["compared_with"] for row, said in group.items() if "compared_with" in said},
        varied=tuple(entry.get("own", content["own"])),
        mixed=content.get("mixed", False),
        sections=tuple(entry.get("sections", ())),
        notes=(*content.get("notes", ()), *entry.get("notes", ())),
        runs=content.get("runs", "number not mentioned"),
        stated=_statements(content),
        by_dataset=entry.get("by_dataset", content.get("by_dataset", {})),
        inputs={**content.get("inputs", {}), **entry.get("inputs", {})},
        documents={name: sizes.documents for name, sizes in TABLE_1.items()} | content.get("documents", {}),
    )


def _statements(content: Mapping[str, Any]) -> dict[str, Statement]:
    return {key: Statement(*fields) for key, fields in content.get("stated", {}).items()}


def _rows(content: Mapping[str, Any], table: Mapping[str, Any]) -> tuple[PublishedRow, ...]:
    group: dict[str, dict[str, Any]] = content["rows"][table["rows"]] if "rows" in table else {}
    rows = []
    for name, row in group.items():
        recipe = f"{content['recipes']}/{row['recipe']}" if "recipe" in row else None
        settings = {**table.get("set", {}), **row.get("set", {})} if recipe else {}
        key = row.get("key") or row["recipe"]
        needed = name in table.get("only", group)
        transferred, extra = row.get("transferred", ""), row.get("extra", False)
        of_table = table.get("set", {}) if recipe else {}
        stated = _statements(row)
        rows.append(PublishedRow(name, key, recipe, settings, of_table, stated, transferred, needed, extra))
    return tuple(rows)


TABLES = {name: table for name, table in published_tables().items() if table.rows}
"""The tables that ``iconotext papers reproduce`` makes, by name."""
