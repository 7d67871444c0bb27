"""Routes for studies: raters choose which of two pictures fits a text better; results are shown once all votes are in.

Until then nothing that is sent reveals which system found a picture: neither the address of a study or picture, nor a
file name, nor metadata of the picture, which is encoded again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

from fastapi import HTTPException, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from pydantic import Field, StringConstraints

from iconotext.errors import ImageError, SettingError, StudyError
from iconotext.papers.studies.results import study_grids, study_results
from iconotext.papers.studies.study import (
    ANSWERS,
    Progress,
    next_pair,
    progress,
    rater_name,
    shown_images,
    undo,
    vote,
)
from iconotext.serve.answers import LARGEST, Described
from iconotext.serve.jobs import Jobs, TheJobs, of_app
from iconotext.serve.pages import page
from iconotext.serve.pool import PICTURE_SECONDS, Pool, encoded
from iconotext.system.processes import GoneError

Rater = Annotated[str, StringConstraints(max_length=100, pattern=r"^\s*\w[\w .'@+-]*$")]
"""A rater's name."""


class RaterIn(Described):
    """A rater."""

    rater: Rater


class VoteIn(RaterIn):
    """A rater's vote on the pair that he or she was shown."""

    pair: int = Field(ge=0, le=LARGEST)
    answer: Literal["a", "b", "same", "neither"]


class PairOut(Described):
    """Two pictures to choose from."""

    number: int
    text: str = Field(description="The text that the pictures are to fit.")
    identical: bool = Field(description="Whether both are the same picture.")


class TurnOut(Described):
    """The next pair for a rater, and the progress of all raters."""

    pair: PairOut | None = Field(description="Null if nothing is left for this rater, or not now.")
    judged: int = Field(description="Pairs that this rater has judged.")
    pairs: int
    votes: int = Field(description="Of all raters.")
    wanted: int
    finished: bool = Field(description="Whether all votes are in; the result may then be seen.")


TheStudies = Annotated[Mapping[str, Path], of_app("studies")]  # by name


def all_studies(jobs: TheJobs, studies: TheStudies) -> str:
    """The studies, with their progress."""
    rows = []
    for name in studies:
        with _study_file(studies, name) as path:
            rows.append((name, progress(path)))
    return page("studies.html", jobs.settings, here="/studies", title="Studies", studies=rows)


def judge(jobs: TheJobs, studies: TheStudies, study: str) -> str:
    """The pairs of a study, one after the other, to be judged."""
    with _study_file(studies, study) as path:
        return _page(jobs, studies, "study.html", study, progress(path), answers=ANSWERS)


def result(jobs: TheJobs, studies: TheStudies, study: str) -> str:
    """The raters' preferences, once all votes are in: the tables of ``iconotext analyze votes``."""
    with _study_file(studies, study) as path:
        results = study_results(path)
    grids = study_grids(results) if results.progress.finished else []
    return _page(jobs, studies, "study_result.html", study, results.progress, grids=grids)


def following(studies: TheStudies, study: str, body: RaterIn) -> TurnOut:
    """The pair that a rater is to judge; the same one again until he or she does."""
    with _study_file(studies, study) as path:
        return _turn(path, body.rater)


def say(studies: TheStudies, study: str, body: VoteIn) -> TurnOut:
    """Store a vote, and return the next pair. The vote is on disk when the answer comes."""
    with _study_file(studies, study) as path:
        vote(path, body.pair, body.rater, body.answer)
        return _turn(path, body.rater)


def take_back(studies: TheStudies, study: str, body: RaterIn) -> TurnOut:
    """Undo the last vote of a rater, and return its pair again."""
    with _study_file(studies, study) as path:
        undo(path, body.rater)
        return _turn(path, body.rater)


async def picture(
    studies: TheStudies,
    pool: Annotated[Pool, of_app("study_pool")],
    study: str,
    pair: int,
    side: Literal["a", "b"],
    rater: Annotated[Rater, Query()],
) -> Response:
    """A picture of a pair, at most 900 pixels a side, on the side on which this rater sees it."""
    with _study_file(studies, study) as path:
        a, b = await run_in_threadpool(shown_images, path, pair, rater)
        future = pool.submit(encoded, PICTURE_SECONDS, a if side == "a" else b)
        kind, data = await asyncio.wrap_future(future)
    return Response(data, media_type=f"image/{kind}")


@contextmanager
def _study_file(studies: Mapping[str, Path], study: str) -> Iterator[Path]:
    """The file of a study; errors in the study or in the request become HTTP answers."""
    if study not in studies:
        raise HTTPException(404, "there is no such study")
    try:
        yield studies[study]
    except SettingError as error:
        raise HTTPException(400, str(error)) from None
    except (StudyError, ImageError, GoneError) as error:
        message = str(error).replace(f"{studies[study]}: ", "")  # the name of the file may reveal what is compared
        raise HTTPException(409, message) from None


def _page(
    jobs: Jobs, studies: Mapping[str, Path], template: str, study: str, counts: Progress, **values: object
) -> str:
    title = "Study" if len(studies) == 1 else f"Study {list(studies).index(study) + 1}"
    return page(template, jobs.settings, here="/studies", title=title, study=study, progress=counts, **values)


def _turn(study: Path, rater: str) -> TurnOut:
    pair, counts = next_pair(study, rater), progress(study)
    return TurnOut(
        pair=pair and PairOut(number=pair.number, text=pair.text, identical=pair.identical),
        judged=counts.of_rater.get(rater_name(rater), 0),
        pairs=counts.pairs,
        votes=counts.votes,
        wanted=counts.needed,
        finished=counts.finished,
    )
