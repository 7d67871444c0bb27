"""What a reader of a reproduced table must know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.papers.tables.folder import VALIDATION_K
from iconotext.papers.tables.rows import BIAS, DETECTION, SHARES, TRANSFER

if TYPE_CHECKING:
    from iconotext.evaluate.results import Evaluation
    from iconotext.train.prepared import Prepared

_LI_TITLES = {SHARES: "Fig. 5 of Li et al. 2021", BIAS: "Bias alleviation in Li et al. 2021"}


def title_of(table: str) -> str:
    """What a table is called."""
    _, slash, number = table.partition("/")
    if not slash:
        return f"Table {table} of Hessel et al. 2019"
    return _LI_TITLES.get(table, f"Table {number} of Li et al. 2021")


def table_notes(
    table: str,
    evaluations: Mapping[str, Evaluation],
    rows: Mapping[str, Mapping[str, Any]],
    overrides: Sequence[str],
    prepared: Prepared,
    *,
    seeds: int,
    source: Path | None,
) -> list[str]:
    """The notes below a table.

    Args:
        table: Its name.
        evaluations: Name of each line to its scores.
        rows: Name of each line to what ``results.json`` says of it.
        overrides: Settings that were given.
        prepared: The corpus.
        seeds: Of each row that is trained.
        source: Corpus file that a transferred row is trained on.
    """
    notes = []
    if evaluations:
        some = next(iter(evaluations.values()))
        of_seeds = "" if seeds == 1 else f" of the means over {seeds} seeds"
        notes.append(
            f"In percent. Ours: means over {len(some.defined):,} test documents{of_seeds}, in brackets 95 % bootstrap "
            "intervals over them; bold is within one point of the best of its column."
        )
        if some.undefined:
            notes.append(f"{len(some.undefined):,} more test documents have no defined AUC and do not count.")
    short = [name for name, row in rows.items() if len(row.get("seeds", range(seeds))) < seeds]
    if short:
        notes.append(
            f"Fewer seeds than {seeds}: " + ", ".join(f"{name} ({len(rows[name]['seeds'])})" for name in short) + "."
        )
    ks = [(row["model"], row["k"]) for row in rows.values() if "k" in row]
    if ks:
        told = {DETECTION: "is best on the test documents, which flatters it, as in the paper", VALIDATION_K: "is best "
                "on the validation documents"}  # fmt: skip
        notes.append("Object detection: " + "; ".join(f"K = {k} {told[key]}" for key, k in ks) + ".")
    if overrides:
        everywhere = all(":" not in each.partition("=")[0] for each in overrides)
        where = ", in all rows" if everywhere else ""
        notes.append(f"Other settings than the paper's{where}: {', '.join(overrides)}.")
    if table == "li2021/3":
        notes.append("The caption of the published table says SIS; its text says DII, and so does row 1 (Table 2).")
    if table == TRANSFER and source is not None:
        notes.append(
            f"1 is trained on the gold links of {source} and knows its words only (published: MSCOCO); 2 on "
            "the documents of the table without any links."
        )
    if prepared.meta["images_left_out"]:
        notes.append(
            f"{prepared.meta['images_left_out']:,} pictures that cannot be read are left out, except for object "
            "detection, where they count with the score 0."
        )
    return notes
