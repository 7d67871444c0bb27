"""A study: pairs of images for people to choose from, in one HTML file, and the answers that its page saves.

``write_study`` writes the page and its key, ``read_study`` and ``read_answers`` read the key and files of answers. Each
pair compares a model, of which a study may have several, with the study's reference model. The page has the texts and
the pictures, encoded again, and nothing that reveals which model found a picture; the key says it, and stays with the
researcher.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from iconotext.corpus.image_files import ImageKeys
from iconotext.errors import CorpusError, SettingError, StudyError
from iconotext.recipe.toml import wrong_value
from iconotext.report.embedded import embed
from iconotext.report.page import filled
from iconotext.system.files import check_overwrite, write_text
from iconotext.system.strict_json import parse_json
from iconotext.types import Image
from iconotext_papers.analyses.top_images import Search, best_images

if TYPE_CHECKING:
    from iconotext.evaluate.pair_vectors import PairVectors

ANSWERS: Mapping[str, str] = MappingProxyType(
    {
        "a": "I prefer image A",
        "b": "I prefer image B",
        "same": "The images are exactly the same, or both fit equally well",
        "neither": "Neither of the images is a good match for this text",
    }
)
"""The possible answers of a rater, with their wording. The paper's third answer is "The images are exactly the same",
and its table counts it as "Both Good"; ours mentions both."""

RATERS = 3
"""Number of people who judge each pair."""

_NAME = re.compile(r"\w[\w .'@+-]{0,99}")


@dataclass(frozen=True, slots=True)
class Contenders:
    """A text, and the best image of each of two models.

    Attributes:
        model: Name of the compared model, such as a coherence-aware one.
        query: Name of the text, unique among those of this model.
        text: The text that the images should fit.
        first: Picture file of this model.
        second: Picture file of the model with which it is compared.
        relations: Coherence relations for which the pair counts, none or several.
    """

    model: str
    query: str
    text: str
    first: Path
    second: Path
    relations: tuple[str, ...] = ()


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Pair(_Stored):
    """A pair in the key of a study.

    Attributes:
        first: File name of the compared model's image.
        second: File name of the reference model's image.
        x: Whose image is the one that the page calls x.
        identical: Whether both are the same picture.
    """

    model: str
    query: str
    text: str
    relations: tuple[str, ...]
    first: str
    second: str
    x: Literal["first", "second"]
    identical: bool


class Study(_Stored):
    """The key of a study: what its page does not say.

    Attributes:
        study: Name that page, key and answers share.
        models: Names of the compared models.
        second: Name of the model with which they are compared.
        raters: Number of people who judge each pair.
    """

    study: str
    models: tuple[str, ...]
    second: str
    raters: int = Field(ge=1)
    pairs: tuple[Pair, ...]


class Answer(_Stored):
    """A rater's answer.

    Attributes:
        pair: Number of the pair, from 0.
        answer: One of ``ANSWERS``.
        a: The image that was shown as A.
        shown: When the pair was shown.
        answered: When it was answered.
    """

    pair: int = Field(ge=0)
    answer: Literal["a", "b", "same", "neither"]
    a: Literal["x", "y"]
    shown: datetime
    answered: datetime


class Answers(_Stored):
    """The file that a rater saves."""

    study: str
    rater: str
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a study.

    Attributes:
        pairs: Number of pairs.
        complete: Number of pairs with all their votes.
        needed: Number of votes that the study needs.
        votes: Number of votes so far.
        of_rater: Number of votes of each rater, by name.
    """

    pairs: int
    complete: int
    needed: int
    votes: int
    of_rater: Mapping[str, int]


def key_path(page: Path) -> Path:
    """Return the path of the key of a page: ``study.key.json`` beside ``study.html``."""
    return page.with_suffix(".key.json")


def write_study(
    page: Path,
    contenders: Sequence[Contenders],
    *,
    second: str,
    raters: int = RATERS,
    seed: int = 0,
    force: bool = False,
) -> int:
    """Write a study, page and key; returns the number of identical pairs.

    If both models found the same picture (the same bytes, whatever its name), the pair stays, marked as identical:
    leaving it out would make the models look more different than they are.

    Args:
        seed: Seed of the sides of the pairs, and of the order and sides in which raters see them.
    """
    if raters < 1:
        raise SettingError(f"raters is {raters}, expected at least 1")
    if not contenders:
        raise StudyError("a study needs at least one pair of images")
    for path in (page, key_path(page)):
        check_overwrite(path, force)
    repeated = Counter((pair.model, pair.query) for pair in contenders).most_common(1)[0]
    if repeated[1] > 1:
        raise StudyError(f"query {repeated[0][1]!r}: two queries of {repeated[0][0]} have this name")
    files = list(dict.fromkeys(file for pair in contenders for file in (pair.first, pair.second)))
    embedded = embed([Image(file.name, file) for file in files], range(len(files)))
    uri_of = {file: embedded[number].uri or "" for number, file in enumerate(files)}
    for number, file in enumerate(files):
        if embedded[number].problem is not None:
            raise StudyError(f"the picture {file} cannot be shown: {embedded[number].problem}")
    # In an order that does not tell whose they are.
    places = {uri: place for place, uri in enumerate(sorted(set(uri_of.values())))}
    keys = ImageKeys()
    # Half of the pairs, to the nearest one, have the first model's image as x.
    swapped = np.random.default_rng(seed).permutation(np.arange(len(contenders)) % 2).tolist()
    pairs, shown = [], []
    for pair, swap in zip(contenders, swapped, strict=True):
        one, other = (keys.of(Image(file.name, file)) for file in (pair.first, pair.second))
        x, y = (pair.second, pair.first) if swap else (pair.first, pair.second)
        pairs.append(
            Pair(
                model=pair.model,
                query=pair.query,
                text=pair.text,
                relations=pair.relations,
                first=pair.first.name,
                second=pair.second.name,
                x="second" if swap else "first",
                identical=one == other,
            )
        )
        shown.append({"text": pair.text, "identical": one == other, "x": places[uri_of[x]], "y": places[uri_of[y]]})
    values = {"seed": seed, "pairs": shown, "pictures": list(places)}
    name = hashlib.sha256(json.dumps([values, second, [pair.model_dump() for pair in pairs]]).encode()).hexdigest()[:16]
    models = tuple(dict.fromkeys(pair.model for pair in contenders))
    study = Study(study=name, models=models, second=second, raters=raters, pairs=tuple(pairs))
    # No text ends the block of data that it stands in.
    data = json.dumps({"study": name, **values}, ensure_ascii=False).replace("<", "\\u003c")
    html = filled(
        "iconotext_papers.studies",
        "study.html",
        title="Which picture fits the text?",
        styles=["study.css"],
        scripts=["study.js"],
        answers=ANSWERS,
        data=data,
    )
    write_text(key_path(page), f"{study.model_dump_json(indent=1)}\n", force=force)
    write_text(page, html, force=force)
    return sum(pair.identical for pair in pairs)


Kind = TypeVar("Kind", bound=BaseModel)


def read_study(key: Path) -> Study:
    """Read the key of a study; ``StudyError`` if there is none, or it is damaged."""
    if key.suffix == ".html":
        key = key_path(key)
    return _read(key, Study, "the key of a study, which iconotext papers study write makes")


def read_answers(study: Study, files: Sequence[Path]) -> list[Answers]:
    """Read files of answers to a study, one for each rater; ``StudyError`` if one is of another study, or damaged."""
    found: dict[str, Path] = {}
    read = []
    for file in files:
        answers = _read(file, Answers, "a file of answers, which the page of a study saves")
        if answers.study != study.study:
            raise StudyError(f"{file}: has answers to another study ({answers.study}, not {study.study})")
        rater = rater_name(answers.rater)
        if rater in found:
            raise StudyError(f"{file}: answers of {rater} are in {found[rater]}, too: name the later file alone")
        found[rater] = file
        numbers = Counter(answer.pair for answer in answers.answers)
        wrong = [number for number, times in numbers.items() if number >= len(study.pairs) or times > 1]
        if wrong:
            raise StudyError(f"{file}: pair {wrong[0]} is answered twice, or is not in the study")
        read.append(answers.model_copy(update={"rater": rater}))
    return read


def progress_of(study: Study, answers: Sequence[Answers]) -> Progress:
    """Count the votes of a study."""
    votes = Counter(answer.pair for each in answers for answer in each.answers)
    return Progress(
        pairs=len(study.pairs),
        complete=sum(votes[number] >= study.raters for number in range(len(study.pairs))),
        needed=len(study.pairs) * study.raters,
        votes=votes.total(),
        of_rater={each.rater: len(each.answers) for each in sorted(answers, key=lambda each: each.rater)},
    )


def _read(file: Path, kind: type[Kind], what: str) -> Kind:
    try:
        values: Any = parse_json(file.read_text(encoding="utf-8"))
        return kind.model_validate_json(json.dumps(values), strict=True)
    except OSError as error:
        raise StudyError(f"{file}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"]))
        raise StudyError(f"{file}: is not {what}: {where}: {wrong_value(problem)}") from error
    except ValueError as error:
        raise StudyError(f"{file}: is not {what}: {error}") from error


def contenders(first: Search, second: Search, chosen: Mapping[int, tuple[str, ...]]) -> list[Contenders]:
    """Select the best images of two models among all of a corpus."""
    pairs = first.pairs
    queries, images = np.array(list(chosen), np.intp), np.arange(len(pairs.images))
    one, other = (best_images(search.score, queries, images)[0][:, 0].tolist() for search in (first, second))
    return [
        Contenders(first.model, pairs.ids[query], pairs.texts[query], _file(pairs, a), _file(pairs, b), chosen[query])
        for query, a, b in zip(queries.tolist(), one, other, strict=True)
    ]


def _file(pairs: PairVectors, image: int) -> Path:
    file = pairs.images[image].file
    if not isinstance(file, Path):
        raise CorpusError(f"picture {pairs.images[image].source}: is not a file, so it cannot be shown to raters")
    return file


def rater_name(name: str) -> str:
    """Check the name of a rater, and return it in the stored form.

    A name may come from anywhere, and is written to files that spreadsheets open.
    """
    name = " ".join(name.split())
    if not _NAME.fullmatch(name):
        raise SettingError(
            f"rater {name[:100]!r}: give up to 100 letters, digits, spaces and . _ - + @ ', "
            "beginning with a letter or a digit"
        )
    return name
