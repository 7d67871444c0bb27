"""Documents out of photographs with captions, by the MSCOCO rule of Hessel 2019 (supplement §1).

The supplement takes half of the photographs as true and half as distractor images, makes groups of five of each at
random, and pairs the groups. Photographs in random order, ten at a time, the first five of each ten true, is the same
distribution, and is what we do. A document has the true images' captions and distractor captions that were written
about other photographs of the same split.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictStr, ValidationError

from iconotext.corpus.builders.topical import topical_groups
from iconotext.corpus.json_lines import json_lines
from iconotext.corpus.row import SPLITS, Split, problems_of
from iconotext.corpus.split import Shares
from iconotext.errors import CorpusError, SettingError
from iconotext.types import Document, Image, Sentence

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


@dataclass(frozen=True, slots=True)
class Photo:
    """A photograph with captions.

    Attributes:
        file: The picture.
        captions: What people wrote about it, at least one.
        split: None where it belongs to none yet; then it is for training.
    """

    file: Path
    captions: tuple[str, ...]
    split: Split | None = None


class CaptionSettings(BaseModel):
    """How documents are made."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pairs: int = Field(5, ge=1)
    """True images of a document, each with a caption of its own among the sentences."""

    distractor_images: int = Field(5, ge=0)
    """Images without a caption."""

    distractor_captions: int = Field(5, ge=0)
    """Captions of photographs that are not in the document."""

    versions: int = Field(5, ge=1)
    """Documents with the same images and other captions in training, at most as many as an image has captions."""

    shuffles: int = Field(1, ge=1)
    """How often the photographs are dealt out anew; each gives all documents again."""

    evaluation_shuffles: int | None = Field(None, ge=1)
    """The same for validation and test; none: ``shuffles``."""

    seed: int = 0
    """Of the first shuffle; the second has the next number, and so on."""

    topical: bool = False
    """Whether a document's images are close to each other, as in Story-DII, where they come from one album."""

    @property
    def images(self) -> int:
        """Images of a document."""
        return self.pairs + self.distractor_images

    def shuffles_of(self, split: Split) -> int:
        """How often the photographs of a split are dealt out."""
        return self.shuffles if split == "train" else self.evaluation_shuffles or self.shuffles


RULES: dict[Literal["mscoco", "dii", "dii-stress"], dict[str, Any]] = {
    "mscoco": {},
    "dii": {"distractor_images": 0, "distractor_captions": 0, "topical": True},
    "dii-stress": {"distractor_images": 0, "distractor_captions": 45, "topical": True},
}
"""Settings that differ from the default, for documents like those of a data set of the paper."""


class _Line(BaseModel):
    """A line of a file of captions; other keys are passed over."""

    image: Annotated[StrictStr, Field(min_length=1)]
    captions: Annotated[list[Annotated[StrictStr, Field(pattern=r"\S")]], Field(min_length=1)]
    split: Split | None = None


def read_photos(path: Path) -> list[Photo]:
    """Photographs of a file of JSON lines, ``{"image": ..., "captions": [...], "split": ...}``.

    Raises:
        CorpusError: A line breaks the format, a picture is missing or comes twice; names file, line and field.
    """
    photos: list[Photo] = []
    line_of: dict[Path, int] = {}
    for number, value, problem in json_lines(path):
        if problem is not None:
            raise CorpusError(f"{path}, {problem}")
        try:
            line = _Line.model_validate(value)
        except ValidationError as error:
            raise CorpusError(f"{path}, {problems_of(error, f'line {number}')[0]}") from error
        file = path.parent / line.image
        try:
            there = file.is_file()
        except (OSError, ValueError):
            there = False
        if not there:
            raise CorpusError(f"{path}, line {number}, field image: not found: {file}")
        first = line_of.setdefault(file, number)
        if first != number:
            raise CorpusError(f"{path}, line {number}, field image: {line.image} is also in line {first}")
        photos.append(Photo(file, tuple(" ".join(text.split()) for text in line.captions), line.split))
    return photos


def validation_as_test(photos: Sequence[Photo]) -> list[Photo]:
    """Photographs for validation become those for test, and those for training get free to be shared out.

    For sets of photographs that come with two splits, where models are to be chosen on others than they are judged on.

    Raises:
        SettingError: There are none for validation, or some for test already.
    """
    splits = {photo.split for photo in photos}
    if "validation" not in splits or "test" in splits:
        why = "has none for validation" if "validation" not in splits else "has photographs for test already"
        raise SettingError(f"--test-on-validation is for data without a test split, and this {why}: leave it out")
    return [replace(photo, split="test" if photo.split == "validation" else None) for photo in photos]


def share_out(photos: Sequence[Photo], shares: Shares, *, seed: int = 0) -> list[Photo]:
    """Give photographs without a split one, at random; those that have one keep it.

    Args:
        photos: Photographs.
        shares: Of those without a split.
        seed: Another one, another choice.

    Raises:
        SettingError: All photographs have a split.
    """
    free = [i for i, photo in enumerate(photos) if photo.split is None]
    if photos and not free:
        raise SettingError("all photographs have a split already: leave out --validation and --test")
    random.Random(f"photos {seed}").shuffle(free)
    result = [photo if photo.split else replace(photo, split="train") for photo in photos]
    start = 0
    for split, count in shares.counts(len(free)).items():
        for i in free[start : start + count]:
            result[i] = replace(photos[i], split=split)
        start += count
    return result


def build_captions(
    photos: Sequence[Photo], settings: CaptionSettings | None = None, *, vectors: FloatMatrix | None = None
) -> Iterator[Document]:
    """Documents out of captioned photographs; the same ones for the same arguments.

    A document's id says split, shuffle, number and version: ``train-0-00012-3``. A caption counts as another picture's
    only if no picture of the document has the same words. Photographs that are left over when the last document of a
    shuffle is full are not used in it.

    Args:
        photos: In any number; their order matters for which documents come out.
        settings: None for the rule of MSCOCO.
        vectors: (photos, d), what says how close two photographs are; needed for topical documents only.

    Raises:
        CorpusError: A split has too few photographs for a document, or too few captions for its distractors.
        SettingError: Topical documents are asked for without vectors, or vectors do not fit the photographs.
    """
    settings = settings or CaptionSettings()
    if settings.topical and (vectors is None or vectors.ndim != 2 or len(vectors) != len(photos)):
        raise SettingError(f"topical documents need a vector for each of {len(photos)} photographs")
    members: dict[Split, list[int]] = defaultdict(list)
    for i, photo in enumerate(photos):
        members[photo.split or "train"].append(i)
    for split in SPLITS:
        if 0 < len(members[split]) < settings.images:
            raise CorpusError(
                f"{split} has {len(members[split])} photographs, a document needs {settings.images}: "
                "give it more, or ask for smaller documents (pairs, distractor_images)"
            )
    for split in filter(members.get, SPLITS):
        yield from _of_split(split, photos, members[split], settings, vectors)


def _of_split(
    split: Split,
    photos: Sequence[Photo],
    members: Sequence[int],
    settings: CaptionSettings,
    vectors: FloatMatrix | None,
) -> Iterator[Document]:
    pool = [text for i in members for text in photos[i].captions]
    for shuffle in range(settings.seed, settings.seed + settings.shuffles_of(split)):
        order = list(members)
        random.Random(f"{split} {shuffle}").shuffle(order)
        if settings.topical and vectors is not None:
            groups = topical_groups(order, vectors, settings.images)
        else:
            size = settings.images
            groups = [order[start : start + size] for start in range(0, len(order) - size + 1, size)]
        for number, group in enumerate(groups):
            yield from _versions(split, shuffle, number, [photos[i] for i in group], pool, settings)


def _versions(
    split: Split, shuffle: int, number: int, group: list[Photo], pool: Sequence[str], settings: CaptionSettings
) -> Iterator[Document]:
    """The documents of one group of photographs."""
    name = f"{split}-{shuffle}-{number:05}"
    rng = random.Random(name)
    rng.shuffle(group)  # where they are topical, the first ones are the closest
    true = group[: settings.pairs]
    images = list(group)
    rng.shuffle(images)
    versions = settings.versions if split == "train" else 1
    for version in range(min(versions, max(len(photo.captions) for photo in true))):
        rng = random.Random(f"{name}-{version}")
        # (text, the image it was written about): one that has fewer captions than there are versions starts again
        pairs: list[tuple[str, int | None]] = [
            (photo.captions[version % len(photo.captions)], images.index(photo)) for photo in true
        ]
        pairs += [(text, None) for text in _distractors(rng, pool, group, settings.distractor_captions, name)]
        rng.shuffle(pairs)
        yield Document(
            id=f"{name}-{version}",
            sentences=tuple(Sentence(text) for text, _ in pairs),
            images=tuple(Image(source=photo.file.as_posix(), file=photo.file) for photo in images),
            links=tuple((sentence, image) for sentence, (_, image) in enumerate(pairs) if image is not None),
            split=split,
        )


def _distractors(rng: random.Random, pool: Sequence[str], group: Sequence[Photo], count: int, name: str) -> list[str]:
    """Captions, no two with the same words, that no photograph of the group has.

    Raises:
        CorpusError: There are not so many.
    """
    own = {_words(text) for photo in group for text in photo.captions}
    chosen: dict[str, str] = {}
    for _ in range(20 * count):  # nearly always enough, and never slow however large the pool is
        if len(chosen) == count:
            break
        text = pool[rng.randrange(len(pool))]
        words = _words(text)
        if words not in own:
            chosen.setdefault(words, text)
    if len(chosen) < count:
        others = {_words(text): text for text in pool}
        rest = [text for words, text in others.items() if words not in own and words not in chosen]
        missing = count - len(chosen)
        if len(rest) < missing:
            raise CorpusError(
                f"document {name}: {count} distractor captions are asked for and the other photographs of its split "
                f"have {len(rest) + len(chosen)}; ask for fewer (distractor_captions)"
            )
        return [*chosen.values(), *rng.sample(rest, missing)]
    return list(chosen.values())


def _words(text: str) -> str:
    """What two captions that say the same have in common: letters and digits."""
    return "".join(character for character in text.casefold() if character.isalnum()) or text
