"""The pages of models, and the same for programs: what was trained, how well, and on which documents it fails."""

from __future__ import annotations

import asyncio
import json
import math
import time
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, HTTPException
from fastapi.responses import HTMLResponse, Response

from iconotext.errors import CorpusError, SettingError
from iconotext.report.page import breakable, policy_of
from iconotext.serve import model_work
from iconotext.serve.collections import done, problems
from iconotext.serve.evaluations import Evaluations
from iconotext.serve.jobs import Jobs
from iconotext.serve.model_charts import Series, curve_chart, histogram
from iconotext.serve.model_comparison import agreement_of, differences, ranked
from iconotext.serve.model_folders import ModelFolder, model_folders, model_paths, objective_of, read_model_folder
from iconotext.serve.model_schemas import EvaluationOut, ModelOut
from iconotext.serve.model_work import PAGE, PICTURES, Task
from iconotext.serve.page import page
from iconotext.serve.settings import ServeSettings
from iconotext.serve.state import TheJobs, of_app

LISTED = 8
"""Documents that are listed as the hardest, and as the easiest ones."""

SVG = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "cache-control": "private, max-age=86400",
}
"""Of drawings: they have styles of their own, and are shown as pictures, where nothing in them runs. Their address says
which version they are, so that browsers may keep them."""


def check_models(settings: ServeSettings) -> None:
    """Raise where models cannot be shown.

    Raises:
        SettingError: The folder or the corpus is not there, or there is a corpus without models.
    """
    if settings.corpus is not None and settings.models is None:
        raise SettingError("corpus: models are measured on it: name their folder, too")
    if settings.corpus is not None and not settings.corpus.is_file():
        raise SettingError(f"{settings.corpus}: no file: name the one of a corpus")
    if settings.models is not None and not settings.models.is_dir():
        raise SettingError(f"{settings.models}: no folder: name the one in which the folders of models lie")


class Models:
    """The folder of models; what nobody can tell of one becomes the answer."""

    def __init__(self, jobs: Jobs, folder: Path) -> None:
        self.folder, self.evaluations, self._jobs = folder, Evaluations(jobs), jobs

    def known(self, name: str) -> ModelFolder:
        """A model."""
        path = next((each for each in model_paths(self.folder) if each.name == name), None)
        if path is None:
            raise HTTPException(404, "there is no such model")
        return read_model_folder(path)

    def task(self, model: ModelFolder) -> Task | None:
        """What measures a model; None where nothing can."""
        try:
            return self.evaluations.task(model)
        except CorpusError as error:
            raise HTTPException(409, str(error)) from None

    def measurable(self, name: str) -> Task:
        """What measures a model."""
        task = self.task(self.known(name))
        if task is None:
            raise HTTPException(409, "it is no model that was trained to link, or the server has no corpus")
        return task

    def measured(self, name: str) -> tuple[Task, dict[str, Any]]:
        """What measured a model, and what was found."""
        task = self.measurable(name)
        found = self.evaluations.kept(task)
        if found is None:
            raise HTTPException(409, f"{name} was not measured yet")
        return task, found

    def evaluation(self, task: Task) -> EvaluationOut:
        """How well a model links, and how far measuring that is."""
        return EvaluationOut.of_model(self.evaluations.kept(task), self.evaluations.measuring(task))

    async def document(self, name: str, number: int) -> Path:
        """Where a document as a model links it lies; it is linked now if nobody has looked at it before."""
        task, found = await asyncio.to_thread(self.measured, name)
        if not 0 <= number < len(found["rows"]):
            raise HTTPException(404, "there is no such document")
        folder = self.evaluations.folder(task) / str(number)
        if not (folder / PICTURES).exists():
            await done(self._jobs, model_work.show, task, number, str(folder), f"/models/{quote(name, safe='')}")
        return folder


TheModels = Annotated[Models, of_app("models")]
router = APIRouter(tags=["models"])


@router.get("/v1/models", responses=problems())
def all_models(models: TheModels) -> list[ModelOut]:
    """The models in the folder, by name."""
    return [ModelOut.of(each) for each in model_folders(models.folder)]


@router.get("/v1/models/{name}", responses=problems(404))
def one_model(models: TheModels, name: str) -> ModelOut:
    """A model, and how far its training is."""
    return ModelOut.of(models.known(name))


@router.get("/v1/models/{name}/evaluation", responses=problems(404, 409))
def evaluation(models: TheModels, name: str) -> EvaluationOut:
    """How well a model links the documents of the corpus, and how far measuring that is."""
    return models.evaluation(models.measurable(name))


@router.post("/v1/models/{name}/evaluation", status_code=202, responses=problems(404, 409, 503))
def measure(models: TheModels, name: str) -> EvaluationOut:
    """Measure a model on the corpus, unless that is done already for these weights and this corpus."""
    task = models.measurable(name)
    models.evaluations.begin(task)
    return models.evaluation(task)


@router.get("/models", response_class=HTMLResponse, include_in_schema=False)
def list_page(jobs: TheJobs, models: TheModels) -> str:
    """All models, and what each is worth."""
    listed = [(each, each.recipe and objective_of(each.recipe)) for each in model_folders(models.folder)]
    return page("models.html", jobs.settings, here="/models", title="Models", models=listed, now=time.time())


@router.get("/models/{name}", response_class=HTMLResponse, include_in_schema=False)
def model_page(jobs: TheJobs, models: TheModels, name: str) -> str:
    """A model: how it was trained, and how well it links."""
    model = models.known(name)
    task = models.task(model)
    found = models.evaluations.kept(task) if task else None
    rows = ranked(found["rows"]) if found else []
    listed = min(LISTED, (len(rows) + 1) // 2)
    others = [each.name for each in model_folders(models.folder) if each.state == "trained" and each.name != name]
    told: dict[str, Any] = {"name": name, "model": model, "objective": model.recipe and objective_of(model.recipe)}
    told |= {"charts": _charts(model), "key": task and task.key, "others": others, "now": time.time()}
    told |= {"measuring": task and models.evaluations.measuring(task), "found": found}
    told |= {"hardest": rows[:listed], "easiest": rows[: -listed - 1 : -1], "breakable": breakable}
    return page("model.html", jobs.settings, here="/models", title=name, **told)


@router.get("/models/{name}/{chart}.svg", include_in_schema=False)
async def drawing(models: TheModels, name: str, chart: str, dark: bool = False) -> Response:
    """A curve of training, or the histogram of the AUC."""
    if chart == "auc-by-document":
        _, found = await asyncio.to_thread(models.measured, name)
        values = [row["auc"] for row in found["rows"] if row["auc"] is not None]
        data = histogram(values, found["auc"], dark)
    else:
        model = await asyncio.to_thread(models.known, name)
        if chart not in _charts(model) or model.curves is None:
            raise HTTPException(404, "there is no such drawing")
        series, unit, _ = _charts(model)[chart]
        data = curve_chart(model.curves.epochs, series, unit, model.metrics.get("best_epoch"), dark)
    return Response(data, media_type="image/svg+xml", headers=SVG)


@router.get("/models/{name}/documents/{number}", response_class=HTMLResponse, include_in_schema=False)
async def reading_view(models: TheModels, name: str, number: int) -> HTMLResponse:
    """A document of the corpus as a model links it, by the pictures alone. Its own policy holds."""
    view = (await models.document(name, number) / PAGE).read_text(encoding="utf-8")
    return HTMLResponse(view, headers={"content-security-policy": f"{policy_of(view)}; frame-ancestors 'none'"})


@router.get("/models/{name}/with/{other}", response_class=HTMLResponse, include_in_schema=False)
async def two_models(jobs: TheJobs, models: TheModels, name: str, other: str) -> str:
    """Two models, document by document."""
    names, title = (name, other), f"{name} and {other}"
    tasks = [await asyncio.to_thread(models.measurable, each) for each in names]
    found = [await asyncio.to_thread(models.evaluations.kept, task) for task in tasks]
    missing = [each for each, kept in zip(names, found, strict=True) if kept is None]
    told: dict[str, Any] = {"name": name, "other": other, "listed": LISTED, "missing": missing}
    if found[0] is not None and found[1] is not None:
        metrics = await done(jobs, model_work.compared, *(str(models.evaluations.folder(task)) for task in tasks))
        told |= {"found": found, "metrics": metrics, "rows": differences(found[0]["rows"], found[1]["rows"])}
    return page("model-pair.html", jobs.settings, here="/models", title=title, **told)


@router.get("/models/{name}/with/{other}/documents/{number}", response_class=HTMLResponse, include_in_schema=False)
async def side_by_side(jobs: TheJobs, models: TheModels, name: str, other: str, number: int) -> str:
    """A document with what two models say of each of its pictures."""
    folders = [await models.document(each, number) for each in (name, other)]
    one, two = (json.loads((folder / PICTURES).read_text(encoding="utf-8")) for folder in folders)
    rows = [(await asyncio.to_thread(models.measured, each))[1]["rows"][number] for each in (name, other)]
    pictures = agreement_of(one["pictures"], two["pictures"])
    values = {"told": one, "pictures": pictures, "rows": rows, "number": number}
    title = f"{rows[0]['title']}: {name} and {other}"
    return page("model-document.html", jobs.settings, here="/models", title=title, name=name, other=other, **values)


def _charts(model: ModelFolder) -> dict[str, tuple[list[Series], str, str]]:
    """By name the lines of a drawing, their unit, and what there is to see in words."""
    if model.curves is None:
        return {}
    values = model.curves.values
    loss = [Series("training", values["train_loss"]), Series("validation", values["validation_loss"])]
    loss.append(Series("were everything alike", values["no_information"], dashed=True))
    auc = [Series("validation", tuple(100 * value for value in values["validation_auc"]))]
    drawn = {"loss": (loss, "loss"), "auc": (auc, "AUC (%)")}
    found = {}
    for name, (lines, unit) in drawn.items():
        known = [line for line in lines if not all(map(math.isnan, line.values))]
        if known:
            words = "; ".join(f"{each.label} from {each.values[0]:.3g} to {each.values[-1]:.3g}" for each in known)
            found[name] = known, unit, f"{unit} by epoch: {words}"
    return found
