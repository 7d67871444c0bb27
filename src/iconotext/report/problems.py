"""The problems of documents and images as a table of tab-separated values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path

from iconotext.plain_text import cell, counted, readable

NAME = "problems.tsv"
_HEAD = "path\twhat\twhy\n"


@dataclass(frozen=True, slots=True)
class Problem:
    """One line of the table: ``what`` is the address of the image in the file, or "document"."""

    path: str
    what: str
    why: str


def problem_lines(problems: Iterable[Problem]) -> list[str]:
    """Return lines for a terminal: one for each document with a problem, and one for each reason of images."""
    alike: dict[object, list[Problem]] = {}
    for problem in problems:
        alike.setdefault(problem if problem.what == "document" else problem.why, []).append(problem)
    return [_line(first, len(others)) for first, *others in alike.values()]


def _line(problem: Problem, others: int) -> str:
    more = f", and {counted(others, 'other picture')}" if others else ""
    where = problem.path if problem.what == "document" else f"{problem.path}: {problem.what}{more}"
    return " ".join(f"{readable(where)}: {readable(problem.why)}".split())


def problem_table(problems: Iterable[Problem]) -> str:
    """Return the table, with a line of column names; no cell can be taken for a formula by a spreadsheet."""
    return _HEAD + "".join(
        "\t".join(cell(" ".join(text.split())) for text in astuple(problem)) + "\n" for problem in problems
    )


def is_problem_table(path: Path) -> bool:
    """Return whether a file is such a table."""
    try:
        with path.open("rb") as file:
            return file.read(len(_HEAD)) == _HEAD.encode()
    except OSError:
        return False
