"""RQA: the recipes of RecipeQA, whose steps are sentences and come with pictures (Hessel 2019, supplement §1).

RecipeQA is made of questions, each with the steps of a recipe as its context. Recipes are recovered from the contexts
by their ids. Contexts of one recipe can differ, as those of questions about titles have none; the paper does not say
which counts. Here it is the one with the most pictures of steps that have text, of these the one with the most such
steps, then the longest, then the first.

The paper reserves training recipes for validation before it drops the small ones, and does not say how many. Here they
are drawn at random after all rules, 946 of 7,448, which leaves the same chance to each, and exactly the published
sizes if all rules leave as many recipes as in the paper.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from iconotext.corpus.builders.captioned.photos import is_text
from iconotext.corpus.builders.frame.build import Build, Values
from iconotext.corpus.builders.frame.json_source import source_entries, source_file
from iconotext.corpus.builders.images.named import NamedImages
from iconotext.corpus.published_sizes import PUBLISHED
from iconotext.corpus.row import Split
from iconotext.corpus.split import Shares, share_out
from iconotext.corpus.unique_id import UniqueIds
from iconotext.errors import CorpusError
from iconotext.papers.datasets.labelled.answers import clean_text

WEB = "https://hucvl.github.io/recipeqa/"

FILES = {"training": ("train.json", "recipeqa36k_train.json"), "validation": ("val.json", "recipeqa36k_val.json")}
"""Part of RecipeQA to the names of its file; the validation part becomes our test."""

ABOUT = f"the questions of RecipeQA, from {WEB}"

NAMESPACE = "recipeqa:"
"""Before the names of pictures that nobody looked for."""

REFUSED = re.compile(r'[<>:"|?*]')
"""Characters that some file systems refuse in a name; some files have ``_`` in their place."""

LEAST = 2
"""Images, and sentences, of a document."""

QUESTIONS = {"training": 29_600, "validation": 3_500}
RECIPES = {"training": (8_100, 100), "validation": (983, 1)}
"""How many there are, and to what that is rounded."""


class RqaSettings(BaseModel):
    """How recipes are made."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    validation: float = Field(946 / 7448, ge=0, lt=1)
    """Share of the training recipes that is reserved for validation."""

    pictures: Literal["files", "names"] = "files"
    """Whether images are files, or only the names that RecipeQA gives them, as ``recipeqa:NAME``."""

    verify: bool = True
    """Whether each picture is decoded; else it only has to be there."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a recipe.

    Attributes:
        text: Title and body.
        images: Names of its pictures, each once.
    """

    text: str
    images: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Context:
    """What a question says of a recipe.

    Attributes:
        recipe: Its id.
        steps: In order, those without text too.
    """

    recipe: str
    steps: tuple[Step, ...]

    @property
    def told(self) -> tuple[Step, ...]:
        """Steps that have text."""
        return tuple(step for step in self.steps if step.text)

    @property
    def richness(self) -> tuple[int, int, int]:
        """The context with the greatest counts: pictures of steps with text, such steps, characters."""
        told = self.told
        images = {name for step in told for name in step.images}
        return len(images), len(told), sum(len(step.text) for step in told)


@dataclass(slots=True)
class Part:
    """The training or the validation part of RecipeQA.

    Attributes:
        name: Which.
        path: Its file.
        best: Numbers of the questions whose contexts count, ascending.
        kept: The same, of recipes that all rules leave.
    """

    name: str
    path: Path
    best: array[int]
    kept: array[int]


def rqa_rows(build: Build, source: Path, settings: RqaSettings, images: Path | None = None) -> Iterator[Values]:
    """Documents of RQA: training and validation recipes in the order of the questions, then those for test.

    Each step is a sentence, linked to its pictures. A picture that is missing or cannot be read is left out; the
    document stays if it still has two images.

    Args:
        build: The run; its seed is that of the choice for validation.
        source: Folder with ``train.json`` and ``val.json``, also in folders in it.
        settings: How recipes are made.
        images: Folder with the pictures, also in folders in it; None: the source.

    Raises:
        CorpusError: A file is missing or breaks its format, or there is no picture at all.
    """
    about = f"{ABOUT} (its test part is not used)"
    parts = [Part(name, source_file(source, names, about), array("q"), array("q")) for name, names in FILES.items()]
    for part in build.watch(parts, total=len(parts), label="Recipes"):
        _choose(build, part)
    if not any(part.best for part in parts):
        raise CorpusError(f"{', '.join(str(part.path) for part in parts)}: no recipe in them; they should have {ABOUT}")
    pictures = None if settings.pictures == "names" else _images(build, parts, images or source, settings)
    for part in parts:
        _filter(build, part, pictures)
    training, validation = parts
    reserved = share_out([None] * len(training.kept), Shares(settings.validation, 0), seed=build.seed)
    splits: dict[str, list[Split]] = {training.name: reserved, validation.name: ["test"] * len(validation.kept)}
    build.published = PUBLISHED["RQA"]
    ids, both = UniqueIds(), 0
    for part in parts:
        for split, (_, context) in zip(splits[part.name], _contexts(part, part.kept), strict=True):
            values = _document(build, context, split, pictures)
            values["id"] = ids.take(context.recipe)
            both += values["id"] != context.recipe
            yield values
    build.report.count("recipes of the validation part that are in the training part too", both)
    build.report.note("Table 1 of the paper has 88K different images, its supplement 69K in all: they contradict")


def _choose(build: Build, part: Part) -> None:
    """Which question's context counts for each recipe."""
    best: dict[str, tuple[tuple[int, int, int], int]] = {}
    seen: dict[str, int] = {}  # what the first context of a recipe holds
    differing: set[str] = set()
    questions = 0
    for _, index, value in source_entries(part.path, ("data",), ABOUT):
        questions += 1
        try:
            context = _context(value)
        except ValueError as error:
            build.report.drop("question that cannot be read", f"{part.path.name}, question {index}", str(error))
            continue
        richness = context.richness
        content = hash(context.steps)
        if seen.setdefault(context.recipe, content) != content:
            differing.add(context.recipe)
        earlier = best.get(context.recipe)
        if earlier is None or richness > earlier[0]:
            best[context.recipe] = richness, index
    part.best = array("q", sorted(index for _, index in best.values()))
    count = build.report.count
    if not best:
        build.report.note(f"{part.path.name} has no recipe")
    count(f"{part.path.name}: questions", questions, QUESTIONS[part.name], rounding=100)
    found, rounding = RECIPES[part.name]
    count(f"{part.path.name}: different recipes", len(best), found, rounding=rounding)
    count(f"{part.path.name}: recipes whose contexts differ", len(differing))


def _images(build: Build, parts: list[Part], folder: Path, settings: RqaSettings) -> NamedImages:
    """The pictures of the steps with text, each looked at.

    Raises:
        CorpusError: There is none at all.
    """
    names: dict[str, None] = {}
    for part in parts:
        for _, context in _contexts(part, part.best):
            names.update((name, None) for step in context.told for name in step.images)
    pictures = NamedImages(build, folder, _files)
    found = pictures.check(names, verify=settings.verify, total=len(names))
    if names and not found:
        raise CorpusError(
            f"{folder}: has none of the {len(names):,} pictures of the recipes, as {next(iter(names))}: unpack "
            f"images.zip from {WEB}, name its folder with images=..., or write only the names with pictures=names"
        )
    build.report.count("pictures of steps with text", len(names))
    build.report.count("pictures that are there", found)
    for name in names:
        if (problem := pictures.problem(name)) is not None:
            build.report.drop("picture that cannot be used", name, problem)
    return pictures


def _filter(build: Build, part: Part, pictures: NamedImages | None) -> None:
    """Which recipes the rules leave."""
    drop = build.report.drop
    empty = imageless = 0
    for index, context in _contexts(part, part.best):
        told = context.told
        empty += len(context.steps) - len(told)
        images = {name for step in told for name in step.images if pictures is None or pictures.problem(name) is None}
        if not images:
            imageless += 1
            drop("no image of a step with text", context.recipe, f"{part.name} part")
        elif len(images) < LEAST:
            drop(f"fewer than {LEAST} images", context.recipe, f"{part.name} part")
        elif len(told) < LEAST:
            drop(f"fewer than {LEAST} steps", context.recipe, f"{part.name} part")
        else:
            part.kept.append(index)
    build.report.count(f"{part.path.name}: steps without text", empty)
    build.report.count(f"{part.path.name}: recipes with pictures of steps with text", len(part.best) - imageless)
    build.report.count(f"{part.path.name}: recipes with {LEAST} pictures and {LEAST} steps", len(part.kept))


def _document(build: Build, context: Context, split: Split, pictures: NamedImages | None) -> Values:
    """A recipe as a document, still without an id."""
    sentences = [step.text for step in context.told]
    numbers: dict[str, int] = {}
    links = []
    for sentence, step in enumerate(context.told):
        for name in step.images:
            if pictures is None or pictures.problem(name) is None:
                links.append((sentence, numbers.setdefault(name, len(numbers))))
    ways = [f"{NAMESPACE}{name}" if pictures is None else pictures.way(name) for name in numbers]
    return {"split": split, "sentences": sentences, "images": ways, "links": links, "meta": {"recipe": context.recipe}}


def _contexts(part: Part, wanted: array[int]) -> Iterator[tuple[int, Context]]:
    """Number of the question and context, for ascending numbers."""
    numbers = iter(wanted)
    following = next(numbers, None)
    for _, index, value in source_entries(part.path, ("data",), ABOUT):
        if following is None:
            break
        if index == following:
            yield index, _context(value)
            following = next(numbers, None)


def _context(value: object) -> Context:
    """The context of a question.

    Raises:
        ValueError: It has none; says why.
    """
    if not isinstance(value, dict):
        raise ValueError("not an object")
    recipe = value.get("recipe_id")
    name = clean_text(str(recipe)) if isinstance(recipe, str | int) and not isinstance(recipe, bool) else ""
    if not name:
        raise ValueError("recipe_id is not an id")
    steps = value.get("context")
    if not isinstance(steps, list):
        raise ValueError("context is not a list")
    return Context(name, tuple(_step(step, number) for number, step in enumerate(steps)))


def _step(value: object, number: int) -> Step:
    """A step of a context.

    Raises:
        ValueError: It is none.
    """
    if not isinstance(value, dict):
        raise ValueError(f"step {number} is not an object")
    images = value.get("images") or []
    if not isinstance(images, list) or not all(isinstance(name, str) and is_text(name) for name in images):
        raise ValueError(f"images of step {number} are not a list of names")
    text = " ".join(filter(None, (_words(value, field, number) for field in ("title", "body"))))
    return Step(text, tuple(dict.fromkeys(name.strip() for name in images if name.strip())))


def _files(name: str) -> tuple[str, ...]:
    """Names that the file of a picture may have."""
    return name, REFUSED.sub("_", name)


def _words(step: dict[str, Any], field: str, number: int) -> str:
    text = step.get(field)
    if text is not None and not isinstance(text, str):
        raise ValueError(f"{field} of step {number} is not a text")
    return clean_text(text or "")
