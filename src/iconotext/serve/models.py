"""The pages of models, and the same for programs: what was trained, how well, and on which documents it fails."""

from __future__ import annotations

import asyncio
import json
import math
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, HTTPException
from fastapi.responses import HTMLResponse, Response

from iconotext.errors import CorpusError, IconotextError, SettingError
from iconotext.report.page import breakable, policy_of
from iconotext.serve import model_work
from iconotext.serve.collections import problems
from iconotext.serve.evaluations import Evaluations
from iconotext.serve.jobs import Jobs
from iconotext.serve.model_charts import Series, curve_chart, histogram
from iconotext.serve.model_comparison import agreement_of, differences, ranked
from iconotext.serve.model_folders import ModelFolder, model_folders, model_paths, objective_of, read_model_folder
from iconotext.serve.model_schemas import EvaluationOut, ModelOut
from iconotext.serve.model_work import PAGE, PICTURES, Task
from iconotext.serve.page import page
from iconotext.serve.settings import ServeSettings

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


def routes(jobs: Jobs) -> APIRouter:
    """The routes of models; none where the server has no folder of models."""
    router, settings = APIRouter(), jobs.settings
    if settings.models is None:
        return router
    root, evaluations = settings.models, Evaluations(jobs)
    shown = APIRouter(include_in_schema=False)
    told = APIRouter(prefix="/v1", tags=["models"])

    def known(name: str) -> ModelFolder:
        path = next((each for each in model_paths(root) if each.name == name), None)
        if path is None:
            raise HTTPException(404, "there is no such model")
        return read_model_folder(path)

    def task_of(model: ModelFolder) -> Task | None:
        try:
            return evaluations.task(model)
        except CorpusError as error:
            raise HTTPException(409, str(error)) from None

    def measurable(name: str) -> Task:
        task = task_of(known(name))
        if task is None:
            raise HTTPException(409, "it is no model that was trained to link, or the server has no corpus")
        return task

    def measured(name: str) -> tuple[Task, dict[str, Any]]:
        task = measurable(name)
        found = evaluations.kept(task)
        if found is None:
            raise HTTPException(409, f"{name} was not measured yet")
        return task, found

    async def done(function: Any, *arguments: Any) -> Any:
        future = jobs.pool.submit(function, settings.max_seconds, *arguments)
        try:
            return await asyncio.wrap_future(future)
        except IconotextError as error:
            raise HTTPException(409, str(error)) from None

    async def document(name: str, number: int) -> Path:
        """Where a document as a model links it lies; it is linked now if nobody has looked at it before."""
        task, found = await asyncio.to_thread(measured, name)
        if not 0 <= number < len(found["rows"]):
            raise HTTPException(404, "there is no such document")
        folder = evaluations.folder(task) / str(number)
        if not (folder / PICTURES).exists():
            await done(model_work.show, task, number, str(folder), f"/models/{quote(name, safe='')}")
        return folder

    # For programs.

    @told.get("/models", responses=problems())
    def all_models() -> list[ModelOut]:
        """The models in the folder, by name."""
        return [ModelOut.of(each) for each in model_folders(root)]

    @told.get("/models/{name}", responses=problems(404))
    def one_model(name: str) -> ModelOut:
        """A model, and how far its training is."""
        return ModelOut.of(known(name))

    @told.get("/models/{name}/evaluation", responses=problems(404, 409))
    def evaluation(name: str) -> EvaluationOut:
        """How well a model links the documents of the corpus, and how far measuring that is."""
        task = measurable(name)
        return EvaluationOut.of_model(evaluations.kept(task), evaluations.measuring(task))

    @told.post("/models/{name}/evaluation", status_code=202, responses=problems(404, 409, 503))
    def measure(name: str) -> EvaluationOut:
        """Measure a model on the corpus, unless that is done already for these weights and this corpus."""
        task = measurable(name)
        evaluations.begin(task)
        return EvaluationOut.of_model(evaluations.kept(task), evaluations.measuring(task))

    # For people.

    @shown.get("/models", response_class=HTMLResponse)
    def list_page() -> str:
        """All models, and what each is worth."""
        models = [(each, each.recipe and objective_of(each.recipe)) for each in model_folders(root)]
        return page("models.html", settings, here="/models", title="Models", models=models, now=time.time())

    @shown.get("/models/{name}", response_class=HTMLResponse)
    def model_page(name: str) -> str:
        """A model: how it was trained, and how well it links."""
        model = known(name)
        task = task_of(model)
        found = evaluations.kept(task) if task else None
        rows = ranked(found["rows"]) if found else []
        listed = min(LISTED, (len(rows) + 1) // 2)
        others = [each.name for each in model_folders(root) if each.state == "trained" and each.name != name]
        return page(
            "model.html",
            settings,
            here="/models",
            title=name,
            name=name,
            model=model,
            objective=model.recipe and objective_of(model.recipe),
            charts=_charts(model),
            found=found,
            key=task and task.key,
            measuring=evaluations.measuring(task) if task else None,
            hardest=rows[:listed],
            easiest=rows[: -listed - 1 : -1],
            others=others,
            breakable=breakable,
            now=time.time(),
        )

    @shown.get("/models/{name}/{chart}.svg")
    async def drawing(name: str, chart: str, dark: bool = False) -> Response:
        """A curve of training, or the histogram of the AUC."""
        if chart == "auc-by-document":
            _, found = await asyncio.to_thread(measured, name)
            values = [row["auc"] for row in found["rows"] if row["auc"] is not None]
            data = histogram(values, found["auc"], dark)
        else:
            model = await asyncio.to_thread(known, name)
            if chart not in _charts(model) or model.curves is None:
                raise HTTPException(404, "there is no such drawing")
            series, unit, _ = _charts(model)[chart]
            data = curve_chart(model.curves.epochs, series, unit, model.metrics.get("best_epoch"), dark)
        return Response(data, media_type="image/svg+xml", headers=SVG)

    @shown.get("/models/{name}/documents/{number}", response_class=HTMLResponse)
    async def reading_view(name: str, number: int) -> HTMLResponse:
        """A document of the corpus as a model links it, by the pictures alone. Its own policy holds."""
        view = (await document(name, number) / PAGE).read_text(encoding="utf-8")
        return HTMLResponse(view, headers={"content-security-policy": f"{policy_of(view)}; frame-ancestors 'none'"})

    @shown.get("/models/{name}/with/{other}", response_class=HTMLResponse)
    async def two_models(name: str, other: str) -> str:
        """Two models, document by document."""
        names, title = (name, other), f"{name} and {other}"
        tasks = [await asyncio.to_thread(measurable, each) for each in names]
        found = [await asyncio.to_thread(evaluations.kept, task) for task in tasks]
        missing = [each for each, kept in zip(names, found, strict=True) if kept is None]
        told = {"name": name, "other": other, "listed": LISTED, "missing": missing}
        if found[0] is None or found[1] is None:
            return page("model-pair.html", settings, here="/models", title=title, **told)
        metrics = await done(model_work.compared, *(str(evaluations.folder(task)) for task in tasks))
        told |= {"found": found, "metrics": metrics, "rows": differences(found[0]["rows"], found[1]["rows"])}
        return page("model-pair.html", settings, here="/models", title=title, **told)

    @shown.get("/models/{name}/with/{other}/documents/{number}", response_class=HTMLResponse)
    async def side_by_side(name: str, other: str, number: int) -> str:
        """A document with what two models say of each of its pictures."""
        folders = [await document(each, number) for each in (name, other)]
        one, two = (json.loads((folder / PICTURES).read_text(encoding="utf-8")) for folder in folders)
        rows = [(await asyncio.to_thread(measured, each))[1]["rows"][number] for each in (name, other)]
        pictures = agreement_of(one["pictures"], two["pictures"])
        values = {"told": one, "pictures": pictures, "rows": rows, "number": number}
        title = f"{rows[0]['title']}: {name} and {other}"
        return page("model-document.html", settings, here="/models", title=title, name=name, other=other, **values)

    router.include_router(told)
    router.include_router(shown)
    return router


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
