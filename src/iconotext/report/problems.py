"""The problems of documents and images as a table of tab-separated values, and the promises in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path

from iconotext.plain_text import cell, counted, percent, readable
from iconotext.types import Claim, Promise

NAME = "problems.tsv"
_HEAD = "path\twhat\twhy\n"


@dataclass(frozen=True, slots=True)
class Problem:
    """One line of the table: ``what`` is the address of the image in the file, or "document"."""

    path: str
    what: str
    why: str

    def __str__(self) -> str:
        """Return one line for a terminal."""
        parts = (self.path, self.why) if self.what == "document" else (self.path, self.what, self.why)
        return " ".join(": ".join(map(readable, parts)).split())


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


_WRONG: dict[Claim, tuple[str, str]] = {
    "document": ("picture of another document", "show a picture of another document"),
    "paragraph": ("figure whose paragraph is known", "lead to a wrong paragraph"),
    "sentence": ("figure whose sentence is known", "lead to a wrong sentence"),
}
"""The object of each claim's test, and the fault of links that break the promise."""


def promise_lines(promises: Iterable[Promise], pictures: int | None = None) -> list[str]:
    """Return a line for each claim: the number of pictures with the promise, or the reason why there is none.

    Args:
        pictures: Number in the document that the lines stand in; lines about more say "of all documents".
    """
    return [_line(promise, pictures) for promise in promises]


def strongest_promise(promises: Iterable[Promise], pictures: int | None = None) -> str | None:
    """Return a short text about the strongest claim that a picture passed; None without any. See ``promise_lines``."""
    given = [promise for promise in promises if promise.kept]
    return _passed(given[-1], pictures) if given else None


def _line(promise: Promise, pictures: int | None) -> str:
    if not promise.tested:
        return f"Right {promise.claim}: no promise, {promise.refused or 'there are no pictures'}"
    left = f"; {promise.untested:,} not tested, {promise.refused}" if promise.untested else ""
    thing, _, rest = _WRONG[promise.claim][0].partition(" ")
    return f"{_passed(promise, pictures)} (tested on {counted(promise.calibration, thing)} {rest}){left}"


def _passed(promise: Promise, pictures: int | None) -> str:
    whose = " of all documents" if pictures is not None and promise.tested > pictures else ""
    passed = f"{promise.kept:,} of {counted(promise.tested, 'picture')}{whose} have a link that is sure enough"
    wrong = f"of such links, at most {percent(promise.max_false)} {_WRONG[promise.claim][1]}"
    wrong += ", counted over all collections" * (promise.collections > 1)
    return f"Right {promise.claim}: {passed}{f'; {wrong}' if promise.kept else ''}"
