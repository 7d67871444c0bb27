"""Studies of pictures that differ by their colour, and raters who answer as a test wants."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from PIL import Image

from iconotext_papers.studies.study import Answers, Contenders, Study, read_answers, read_study, write_study

START = datetime(2026, 1, 1, tzinfo=UTC)


def picture(folder: Path, name: str, colour: tuple[int, int, int] = (9, 9, 9)) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (60, 40), colour).save(path)
    return path


def contenders(folder: Path, count: int, relations: tuple[str, ...] = ("Story",)) -> list[Contenders]:
    first = [picture(folder, f"first{n}.png", (200, n, 30)) for n in range(count)]
    second = [picture(folder, f"second{n}.png", (30, n, 200)) for n in range(count)]
    return [Contenders("cmcm", f"q{n}", f"Text {n}.", first[n], second[n], relations) for n in range(count)]


def study(folder: Path, count: int = 4, *, raters: int = 3, seed: int = 0) -> Study:
    path = folder / "study.html"
    write_study(path, contenders(folder, count), second="cmca", raters=raters, seed=seed)
    return read_study(path)


def answered(study: Study, rater: str, outcome: Callable[[int], str | None], *, minute: int = 0) -> str:
    """The file of a rater, to whom x is A in every other pair; outcomes are seen from the first model."""
    answers = []
    for number, pair in enumerate(study.pairs):
        wanted, a = outcome(number), "xy"[number % 2]
        if wanted is None:
            continue
        first_is_a = (pair.x == "first") == (a == "x")
        answer = {"better": "ab"[not first_is_a], "worse": "ab"[first_is_a], "both good": "same", "both bad": "neither"}
        shown = START + timedelta(minutes=minute)
        times = {"shown": shown.isoformat(), "answered": (shown + timedelta(seconds=5)).isoformat()}
        answers.append({"pair": number, "answer": answer[wanted], "a": a, **times})
    return json.dumps({"study": study.study, "rater": rater, "answers": answers})


def all_answers(folder: Path, study: Study, wanted: list[list[str]]) -> list[Answers]:
    """What raters answered: for each pair the outcomes of its votes."""
    files = []
    for rater in range(max(map(len, wanted), default=0)):
        given = [votes[rater] if rater < len(votes) else None for votes in wanted]
        files.append(folder / f"answers-r{rater}.json")
        files[-1].write_text(answered(study, f"r{rater}", given.__getitem__, minute=rater))
    return read_answers(study, files)
