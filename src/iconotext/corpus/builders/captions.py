"""Documents made from photographs with captions, by the rules of Hessel 2019 (supplement §1)."""

from __future__ import annotations

import random
import re
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import BaseModel, Field, model_validator

from iconotext.corpus.builders.build import BuilderSettings, Values
from iconotext.corpus.builders.photos import NO_IMAGE, Photo, caption_photos, captions_of, usable_photos
from iconotext.corpus.found_images import named_by_address
from iconotext.corpus.row import SPLITS, Split
from iconotext.corpus.split import Shares, share_out
from iconotext.errors import CorpusError, SettingError
from iconotext.features import FeatureCache, cached_image, downloads, load_image_backbone
from iconotext.features.model_folder import IMAGE_BACKBONES, find_model

if TYPE_CHECKING:
    from iconotext.corpus.builders.build import Build
    from iconotext.types import FloatMatrix

BATCH = 256  # photographs that are looked at together

NO_WORD = re.compile(r"[\W_]+")


class DocumentShape(BaseModel, frozen=True, extra="forbid", use_attribute_docstrings=True):
    """The composition of a document."""

    pairs: int = Field(5, ge=1)
    """Images with a caption of their own. It is among the sentences."""

    distractor_images: int = Field(5, ge=0)
    """Images without a caption."""

    distractor_captions: int = Field(5, ge=0)
    """Captions of other photographs. They are of the same split, and none has the words of a caption of the document's
    pictures, or of another of them."""

    versions: int = Field(5, ge=1)
    """Versions of a document in training. They have the same images and other captions, at most as many as an image has
    captions."""

    @property
    def size(self) -> int:
        """Number of images of a document."""
        return self.pairs + self.distractor_images


class CaptionSettings(DocumentShape):
    """How documents are composed, and how photographs are divided into groups."""

    shuffles: int = Field(1, ge=1)
    """How often photographs are dealt out. Each time gives all documents again."""

    evaluation_shuffles: int | None = Field(None, ge=1)
    """The same for evaluation (default: as shuffles). That is, for validation and test."""

    topical: bool = False
    """The images of a document are similar. They are so by the features of ``--backbone``, as in Story-DII, where they
    come from one album."""

    def shuffles_of(self, split: Split) -> int:
        """Return how often the photographs of a split are shuffled and divided into groups."""
        return self.shuffles if split == "train" else self.evaluation_shuffles or self.shuffles


@dataclass(frozen=True, slots=True)
class Group:
    """Photographs that are in a document together, in one version of it or several.

    If ``divided``, the first photographs are the true images; else the true images are still to be drawn.
    """

    split: Split
    shuffle: int
    number: int
    photos: tuple[int, ...]
    divided: bool = False

    @property
    def name(self) -> str:
        """The prefix of the ids of the group's documents."""
        return f"{self.split}-{self.shuffle}-{self.number:05}"


def deal(
    members: Mapping[Split, Sequence[int]],
    settings: CaptionSettings,
    *,
    seed: int = 0,
    vectors: FloatMatrix | None = None,
) -> Iterator[Group]:
    """Put photographs into groups, at random or by similarity.

    The supplement takes half of the photographs as true and half as distractor images, makes groups of five of each at
    random, and pairs the groups. Here photographs in random order are taken ten at a time, and five of each ten are
    true, which has the same distribution. Photographs that remain when the last group of a shuffle is full are not used
    in it.

    Args:
        members: Numbers of the photographs of each split; the groups depend on their order.
        seed: Seed of the first shuffle; the second has the next number, and so on.
        vectors: (photographs, d), indexed by their numbers, for the similarity of photographs; None for groups at
            random.
    """
    counts = {split: count for split in SPLITS if (count := len(members.get(split, ())))}
    for split, count in counts.items():
        if count < settings.size:
            raise CorpusError(
                f"{split} has {count} photographs, a document needs {settings.size}: "
                "give it more, or ask for smaller documents (pairs, distractor_images)"
            )
    for split, count in counts.items():
        for shuffle in range(seed, seed + settings.shuffles_of(split)):
            order = array("q", members[split])
            random.Random(f"{split} {shuffle}").shuffle(order)
            groups: Iterable[Sequence[int]]
            if vectors is not None:
                groups = topical_groups(order, vectors, settings.size)
            else:
                starts = range(0, count - settings.size + 1, settings.size)
                groups = (order[start : start + settings.size] for start in starts)
            for number, group in enumerate(groups):
                yield Group(split, shuffle, number, tuple(group))


def documents_of(
    photos: Sequence[Photo], groups: Iterable[Group], pools: Mapping[Split, Sequence[str]], shape: DocumentShape
) -> Iterator[Values]:
    """Yield the documents of groups of photographs, with captions from the pools of all captions of each split.

    The id of a document has split, shuffle, number and version: ``train-0-00012-3``. A caption is a distractor only if
    no image of the document has a caption with the same words.
    """
    for group in groups:
        yield from _versions(group, [photos[i] for i in group.photos], pools[group.split], shape)


def _versions(group: Group, photos: Sequence[Photo], pool: Sequence[str], shape: DocumentShape) -> Iterator[Values]:
    name = group.name
    # The seeds, and the order of these draws, decide every document: a change here changes all corpora.
    rng = random.Random(name)
    drawn = list(photos)
    if not group.divided:
        rng.shuffle(drawn)  # in topical groups, the first photographs are the closest
    true = drawn[: shape.pairs]
    images = list(drawn)
    rng.shuffle(images)
    caption_words = {_words(text) for photo in drawn for text in photo.captions}
    place = {photo.image: i for i, photo in enumerate(images)}
    # More versions than captions would repeat documents; validation and test need no other wordings.
    versions = shape.versions if group.split == "train" else 1
    for version in range(min(versions, max(len(photo.captions) for photo in true))):
        rng = random.Random(f"{name}-{version}")
        # (text, the image it was written about): one that has fewer captions than there are versions starts again
        pairs: list[tuple[str, int | None]] = [
            (photo.captions[version % len(photo.captions)], place[photo.image]) for photo in true
        ]
        pairs += [(text, None) for text in _distractors(rng, pool, caption_words, shape.distractor_captions, name)]
        rng.shuffle(pairs)
        yield {
            "id": f"{name}-{version}",
            "split": group.split,
            "sentences": [text for text, _ in pairs],
            "images": [photo.image for photo in images],
            "links": [(sentence, image) for sentence, (_, image) in enumerate(pairs) if image is not None],
        }


def _distractors(rng: random.Random, pool: Sequence[str], caption_words: set[str], count: int, name: str) -> list[str]:
    """Return random captions without those of ``caption_words``, each once; ``CorpusError`` if there are too few."""
    chosen: dict[str, str] = {}
    for _ in range(20 * count):  # nearly always enough, and never slow however large the pool is
        if len(chosen) == count:
            break
        text = pool[rng.randrange(len(pool))]
        words = _words(text)
        if words not in caption_words:
            chosen.setdefault(words, text)
    if len(chosen) < count:
        by_words = {_words(text): text for text in pool}
        unused = [text for words, text in by_words.items() if words not in caption_words and words not in chosen]
        missing = count - len(chosen)
        if len(unused) < missing:
            raise CorpusError(
                f"document {name}: {count} distractor captions are asked for and the other photographs of its split "
                f"have {len(unused) + len(chosen)}; ask for fewer (distractor_captions)"
            )
        return [*chosen.values(), *rng.sample(unused, missing)]
    return list(chosen.values())


def _words(text: str) -> str:
    """Return the letters and digits of a text, equal for captions that differ only in punctuation and case."""
    return NO_WORD.sub("", text.casefold()) or text


def topical_groups(order: Sequence[int], vectors: FloatMatrix, size: int) -> list[list[int]]:
    """Form groups by greedy nearest neighbours: the first remaining photograph takes the closest others.

    Closeness is the cosine after subtraction of the mean over all of them. The first groups are the closest; the last
    ones are made of the remaining photographs. Fewer than ``size`` that remain at the end are in no group.

    Args:
        order: Numbers of photographs, in the order in which they may choose.
        vectors: (photographs, d), indexed by these numbers.
    """
    if len(order) < size:
        return []
    unit = vectors[np.asarray(order, dtype=np.intp)].astype(np.float32)
    unit -= unit.mean(axis=0)
    unit /= np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-12)
    numbers = np.asarray(order, dtype=np.intp)  # of the photographs that ``unit`` has rows for
    left = np.ones(len(numbers), dtype=bool)
    groups: list[list[int]] = []
    while (remaining := int(left.sum())) >= size:
        if remaining < len(left) // 2:  # rows of photographs that are taken cost time
            numbers, unit, left = numbers[left], unit[left], np.ones(remaining, dtype=bool)
        first = int(left.argmax())
        closeness = unit @ unit[first]
        closeness[~left] = -np.inf  # rows of photographs that are taken
        closeness[first] = np.inf  # it comes first in its group
        nearest = np.argpartition(-closeness, size - 1)[:size]
        # argpartition leaves its result in any order: the closest come first, of equally close ones the earlier.
        nearest = nearest[np.lexsort((nearest, -closeness[nearest]))]
        left[nearest] = False
        groups.append([int(number) for number in numbers[nearest]])
    return groups


RULES: dict[str, dict[str, Any]] = {
    "mscoco": {},
    "dii": {"distractor_images": 0, "distractor_captions": 0, "topical": True},
    "dii-stress": {"distractor_images": 0, "distractor_captions": 45, "topical": True},
}
"""Settings that differ from the default, for documents like those of a data set of the paper."""


class Settings(CaptionSettings, BuilderSettings):
    """Make documents out of photographs with captions, by the rules of Hessel 2019 (supplement §1).

    In training there are up to five versions of a document, with other captions of the same images; in validation and
    test one, with the first captions. Distractor captions come from other photographs of the same split.

    **Examples**

    - `iconotext corpus build captions -s captions.jsonl -o corpus.jsonl --test 0.1`
    - `iconotext corpus build captions -s photos/ -o c.jsonl --evaluation-shuffles 5`
    - `iconotext corpus build captions -s annotations/ --images 2014/ -o coco.jsonl`
    - `iconotext corpus build captions -s photos/ -o dii.parquet --rule dii`
    """

    source: Path
    """File of captions, or folder with one. JSON lines {"image": ..., "captions": [...]}, or MSCOCO's annotations."""

    format: Literal["auto", "jsonl", "coco"] = "auto"
    """Format of the captions. auto: as the files look."""

    images: Path | None = None
    """Folder of the images. It is needed where they are not in the source or beside it."""

    rule: Literal["mscoco", "dii", "dii-stress"] = "mscoco"
    """How documents are composed. mscoco: 5 pairs, 5 other images, 5 other captions; dii: 5 pairs of similar images;
    dii-stress: and 45 other captions."""

    validation: float = Field(0, ge=0)
    """Share of photographs for validation. It is taken of those without a split."""

    test: float = Field(0, ge=0)
    """The same for test."""

    test_on_validation: bool = False
    """Test on the photographs meant for validation. --validation then takes a share of those for training."""

    backbone: str = "efficientnet-lite0"
    """Backbone that says which images are similar. It is used for topical documents."""

    download: bool = False
    """Fetch a missing backbone from the Hugging Face hub."""

    verify: bool = True
    """Decode each image to its end. Else it only has to be there."""

    seed: int = 0
    """Seed of the random choices."""

    @model_validator(mode="before")
    @classmethod
    def _by_rule(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {**RULES.get(values.get("rule", "mscoco"), {}), **values}


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """Yield documents made from the photographs of a source."""
    shares = Shares(settings.validation, settings.test)
    if settings.test_on_validation and not settings.validation:
        raise SettingError("test_on_validation=True leaves none to validate on: say how many, as validation=0.1")
    if not settings.download:
        find_model(settings.backbone, IMAGE_BACKBONES)  # fail now rather than after everything was read
    format_ = None if settings.format == "auto" else settings.format
    captioned = caption_photos(build, settings.source, format_, settings.images)
    photos, read = usable_photos(build, captioned, verify=settings.verify)
    _count_photos(build, settings, photos, read)
    members = _divided(photos, settings, shares)
    for split, numbers in members.items():
        build.report.count(f"photographs for {split}", len(numbers))
    vectors = _vectors(build, photos, settings) if settings.topical else None
    groups = deal(members, settings, seed=settings.seed, vectors=vectors)
    pools = {split: captions_of(build, photos, numbers) for split, numbers in members.items()}
    total = sum(settings.shuffles_of(split) * (len(numbers) // settings.size) for split, numbers in members.items())
    watched = build.watch(groups, total=total, label="Making documents")
    yield from documents_of(photos, watched, pools, settings)


def _count_photos(build: Build, settings: Settings, photos: Sequence[Photo], read: int) -> None:
    """Report the numbers of photographs; ``CorpusError`` if none of their pictures exists."""
    report = build.report
    missing = report.dropped[NO_IMAGE]
    if missing and not read:
        where = "images=... names their folder" if settings.images is None else f"is {settings.images} their folder?"
        raise CorpusError(
            f"{settings.source}: none of the pictures of {missing:,} captioned photographs is there: {where}"
        )
    report.count("photographs that are there and have captions", read)
    report.count("photographs that are used", len(photos))
    report.count("captions of them", sum(len(photo.captions) for photo in photos))


def _divided(photos: Sequence[Photo], settings: Settings, shares: Shares) -> dict[Split, array[int]]:
    """Return the numbers of the photographs of each split, in their order."""
    splits = [photo.split for photo in photos]
    if settings.test_on_validation:
        splits = validation_as_test(splits)
    if settings.validation or settings.test:
        splits = [*share_out(splits, shares, seed=settings.seed)]
    members: dict[Split, array[int]] = {split: array("q") for split in SPLITS}
    for number, split in enumerate(splits):
        members[split or "train"].append(number)
    return {split: numbers for split, numbers in members.items() if numbers}


def validation_as_test(splits: Collection[Split | None]) -> list[Split | None]:
    """Turn validation photographs into test photographs, and training ones into photographs without a split.

    For sets of photographs that come with two splits, if models are to be chosen on other photographs than they are
    judged on. Raises ``SettingError`` if there are none for validation, or some for test already.
    """
    if "validation" not in splits or "test" in splits:
        why = "has none for validation" if "validation" not in splits else "has photographs for test already"
        raise SettingError(f"test_on_validation=True is for data without a test split, and this {why}: leave it out")
    return ["test" if split == "validation" else None for split in splits]


def _vectors(build: Build, photos: Sequence[Photo], settings: Settings) -> FloatMatrix:
    """Return (photographs, d) features of the images."""
    files = []
    for photo in photos:
        if named_by_address(photo.image):
            raise CorpusError(f"image {photo.image}: is an address, and topical documents need pictures to look at")
        files.append(build.folder / photo.image)
    with downloads() if settings.download else nullcontext():
        backbone = cached_image(load_image_backbone(settings.backbone), FeatureCache())
    parts = []
    starts = range(0, len(files), BATCH)
    for start in build.watch(starts, total=len(starts), label="Looking at photographs"):
        batch = files[start : start + BATCH]
        features = backbone.encode(batch)
        for file, problem in zip(batch, features.problems, strict=True):
            if problem is not None:
                raise CorpusError(f"{file}: {problem}; repair it or take it out: features need every picture")
        parts.append(features.pooled)
    return np.concatenate(parts).astype(np.float32) if parts else np.zeros((0, 0), np.float32)
