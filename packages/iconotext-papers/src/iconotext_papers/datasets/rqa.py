"""RQA: the recipes of RecipeQA, whose steps are sentences and come with images (Hessel 2019, supplement §1).

RecipeQA is made of questions, each with the steps of a recipe as its context. Recipes are recovered from the contexts
by their ids. Contexts of one recipe can differ, as those of questions about titles have none; the paper does not say
which counts. Here it is the one with the most images of steps that have text, of these the one with the most such
steps, then the longest, then the first.

The paper reserves training recipes for validation before it drops the small ones, and does not say how many. Here they
are drawn after all rules (``docs/decisions/0009-what-li-2021-leaves-open.md``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from iconotext.corpus.builders.photos import is_text
from iconotext.corpus.formats.json_stream import source_entries, source_file
from iconotext.corpus.row import Split, UniqueIds
from iconotext.corpus.split import Shares, share_out
from iconotext.errors import CorpusError
from iconotext_papers.datasets.downloads import DataSetSettings, NamedImages
from iconotext_papers.datasets.wiki import clean_text
from iconotext_papers.published.sizes import PUBLISHED

if TYPE_CHECKING:
    from iconotext.corpus.builders.build import Build, Values

WEB = "https://hucvl.github.io/recipeqa/"

FILES = {"training": ("train.json", "recipeqa36k_train.json"), "validation": ("val.json", "recipeqa36k_val.json")}
"""Names of the file of each part of RecipeQA; the validation part becomes our test split."""

ABOUT = f"the questions of RecipeQA, from {WEB}"

NAMESPACE = "recipeqa:"
"""Prefix of the names of images if no folder of images was given."""

REFUSED = re.compile(r'[<>:"|?*]')
"""Characters that some file systems refuse in a name; some files have ``_`` instead."""

LEAST = 2
"""Smallest number of images, and of sentences, of a document."""

QUESTIONS = {"training": 29_600, "validation": 3_500}
RECIPES = {"training": (8_100, 100), "validation": (983, 1)}
"""Number of recipes, and the rounded number in the paper."""


class Settings(DataSetSettings):
    """Make RQA (Hessel 2019) of RecipeQA: a document for each recipe, a sentence for each step, linked to its pictures.

    Needs `train.json` and `val.json`, which becomes the test split, and the pictures, in any folders.

    **Example**

    - `iconotext papers build rqa --source recipeqa --output rqa.jsonl`
    """

    validation: float = Field(946 / 7448, ge=0, lt=1)
    """Share of training for validation."""

    pictures: Literal["files", "names"] = "files"
    """What images are. Files, or only the names that RecipeQA gives them, as recipeqa:NAME."""

    verify: bool = True
    """Decode each picture. Else it only has to be there."""

    seed: int = 0
    """Seed of the random choices."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a recipe: title and body, and the names of its images, each once."""

    text: str
    images: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe in the context of a question.

    Attributes:
        steps: The steps that have text, in order.
        empty: Number of other steps.
        content: A value that differs if any step differs.
    """

    id: str
    steps: tuple[Step, ...]
    empty: int
    content: int

    @property
    def images(self) -> dict[str, None]:
        """Names of its images, each once, in order."""
        return dict.fromkeys(name for step in self.steps for name in step.images)

    @property
    def richness(self) -> tuple[int, int, int]:
        """Counts by which the richest context is chosen: images of steps with text, such steps, characters."""
        return len(self.images), len(self.steps), sum(len(step.text) for step in self.steps)


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """Documents of RQA: training and validation recipes in the order of the questions, then those for test.

    Each step is a sentence, linked to its images. An image that is missing or cannot be read is left out; the document
    stays if it still has two images.
    """
    about = f"{ABOUT} (its test part is not used)"
    files = {name: source_file(settings.source, names, about) for name, names in FILES.items()}
    watched = build.watch(files.items(), total=len(files), label="Recipes")
    recipes = {name: build.spool(_recipes(build, name, path)) for name, path in watched}
    if not any(map(len, recipes.values())):
        raise CorpusError(f"{', '.join(map(str, files.values()))}: no recipe in them; they should have {ABOUT}")
    images = None if settings.pictures == "names" else _images(build, chain(*recipes.values()), settings)
    training, validation = (
        build.spool(_large_enough(build, name, path.name, recipes[name], images)) for name, path in files.items()
    )
    build.published = PUBLISHED["RQA"]
    reserved = share_out([None] * len(training), Shares(settings.validation, 0), seed=settings.seed)
    splits: list[Split] = reserved + ["test"] * len(validation)
    ids, shared = UniqueIds(), 0
    for split, recipe in zip(splits, chain(training, validation), strict=True):
        name = ids.take(recipe.id)
        shared += name != recipe.id
        yield {"id": name, "split": split, **_columns(recipe, images)}
    build.report.count("recipes of the validation part that are in the training part too", shared)
    build.report.note("Table 1 of the paper has 88K different images, its supplement 69K in all: they contradict")


def _recipes(build: Build, part: str, path: Path) -> Iterator[Recipe]:
    """Yield the recipes of a part of RecipeQA, each from its richest context, in the order of these contexts."""
    best: dict[str, tuple[tuple[int, int, int], int]] = {}
    first: dict[str, int] = {}  # content of the first context of each recipe
    differing: set[str] = set()
    questions = 0
    for _, index, value in source_entries(path, ("data",), ABOUT):
        questions += 1
        try:
            recipe = _recipe(value)
        except ValueError as error:
            build.report.drop("question that cannot be read", f"{path.name}, question {index}", str(error))
            continue
        if first.setdefault(recipe.id, recipe.content) != recipe.content:
            differing.add(recipe.id)
        if recipe.id not in best or recipe.richness > best[recipe.id][0]:
            best[recipe.id] = recipe.richness, index
    count = build.report.count
    if not best:
        build.report.note(f"{path.name} has no recipe")
    count(f"{path.name}: questions", questions, QUESTIONS[part], rounding=100)
    published, rounding = RECIPES[part]
    count(f"{path.name}: different recipes", len(best), published, rounding=rounding)
    count(f"{path.name}: recipes whose contexts differ", len(differing))
    # The file is read a second time rather than kept: a part of RecipeQA has several questions about each recipe.
    richest = {index for _, index in best.values()}
    for _, index, value in source_entries(path, ("data",), ABOUT):
        if index in richest:
            yield _recipe(value)


def _images(build: Build, recipes: Iterable[Recipe], settings: Settings) -> NamedImages:
    """Check the images of the steps with text; ``CorpusError`` if there is none at all."""
    folder = settings.image_folder
    names = dict.fromkeys(name for recipe in recipes for name in recipe.images)
    images = NamedImages(build, folder, names, lambda name: (name, REFUSED.sub("_", name)), verify=settings.verify)
    if names and not images.there:
        raise CorpusError(
            f"{folder}: has none of the {len(names):,} pictures of the recipes, as {next(iter(names))}: unpack "
            f"images.zip from {WEB}, name its folder with images=..., or write only the names with pictures=names"
        )
    build.report.count("pictures of steps with text", len(names))
    build.report.count("pictures that are there", images.there)
    for name, problem in images.problems.items():
        build.report.drop("picture that cannot be used", name, problem)
    return images


def _large_enough(
    build: Build, part: str, file: str, recipes: Sequence[Recipe], images: NamedImages | None
) -> Iterator[Recipe]:
    """Yield the recipes that have two images and two steps."""
    drop, count = build.report.drop, build.report.count
    empty = imageless = accepted = 0
    for recipe in recipes:
        usable = [name for name in recipe.images if images is None or name not in images.problems]
        empty += recipe.empty
        if not usable:
            imageless += 1
            drop("no image of a step with text", recipe.id, f"{part} part")
        elif len(usable) < LEAST:
            drop(f"fewer than {LEAST} images", recipe.id, f"{part} part")
        elif len(recipe.steps) < LEAST:
            drop(f"fewer than {LEAST} steps", recipe.id, f"{part} part")
        else:
            accepted += 1
            yield recipe
    count(f"{file}: steps without text", empty)
    count(f"{file}: recipes with pictures of steps with text", len(recipes) - imageless)
    count(f"{file}: recipes with {LEAST} pictures and {LEAST} steps", accepted)


def _columns(recipe: Recipe, images: NamedImages | None) -> Values:
    usable = [name for name in recipe.images if images is None or name not in images.problems]
    number = {name: i for i, name in enumerate(usable)}
    return {
        "sentences": [step.text for step in recipe.steps],
        "images": [f"{NAMESPACE}{name}" if images is None else images.path(name) for name in usable],
        "links": [(s, number[name]) for s, step in enumerate(recipe.steps) for name in step.images if name in number],
        "meta": {"recipe": recipe.id},
    }


def _recipe(value: object) -> Recipe:
    """Read the recipe in the context of a question; ``ValueError``, with the reason, if there is none."""
    if not isinstance(value, dict):
        raise ValueError("not an object")
    identifier = value.get("recipe_id")
    has_id = isinstance(identifier, str | int) and not isinstance(identifier, bool)
    name = clean_text(str(identifier)) if has_id else ""
    if not name:
        raise ValueError("recipe_id is not an id")
    context = value.get("context")
    if not isinstance(context, list):
        raise ValueError("context is not a list")
    steps = tuple(_step(step, number) for number, step in enumerate(context))
    with_text = tuple(step for step in steps if step.text)
    return Recipe(name, with_text, len(steps) - len(with_text), hash(steps))


def _step(value: object, number: int) -> Step:
    """Read a step of a context; ``ValueError`` if it is not a step."""
    if not isinstance(value, dict):
        raise ValueError(f"step {number} is not an object")
    images = value.get("images") or []
    if not isinstance(images, list) or not all(isinstance(name, str) and is_text(name) for name in images):
        raise ValueError(f"images of step {number} are not a list of names")
    text = " ".join(filter(None, (_words(value, field, number) for field in ("title", "body"))))
    return Step(text, tuple(dict.fromkeys(name.strip() for name in images if name.strip())))


def _words(step: dict[str, Any], field: str, number: int) -> str:
    text = step.get(field)
    if text is not None and not isinstance(text, str):
        raise ValueError(f"{field} of step {number} is not a text")
    return clean_text(text or "")
