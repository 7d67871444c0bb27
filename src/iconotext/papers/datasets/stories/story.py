"""The Visual Storytelling Dataset (VIST): five photographs of one Flickr album with a sentence each.

Its annotations are lists of one object for each sentence. In the tier "description in isolation" (DII) three people
wrote a caption for each photograph of a fixed set of five; in the tier "story in sequence" (SIS) people chose five
photographs of the album and wrote a story, five of them for each album. The given splits are kept, and stories with
any missing or unreadable photograph are dropped (Hessel 2019, supplement §1); so are the few with an empty sentence, of
which the paper says nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from iconotext.corpus.builders.captioned.photos import Drop
from iconotext.corpus.builders.frame.build import Build, Values
from iconotext.corpus.builders.frame.json_source import source_entries, source_file
from iconotext.corpus.builders.images.named import MISSING, NamedImages
from iconotext.corpus.row import Split
from iconotext.errors import CorpusError
from iconotext.papers.datasets.labelled.answers import clean_text

WEB = "http://visionandlanguage.net/VIST/dataset.html"

SPLIT_NAMES: dict[Split, str] = {"train": "train", "validation": "val", "test": "test"}

PHOTOGRAPHS = 5
"""Of a story, each with a sentence."""

SUFFIXES = (".jpg", ".png", ".gif", ".jpeg", ".JPG", ".PNG", ".webp", ".bmp", ".tif", ".tiff")
"""Of the file of a photograph, the likeliest first."""


class StorySettings(BaseModel):
    """How stories are read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Literal["original_text", "text"] = "original_text"
    """Which text of an annotation: as it was typed, or in small letters, divided into tokens, with ``[male]`` and the
    like for names. The paper does not say; the sentences in its figures are as people typed them."""

    verify: bool = True
    """Whether each photograph is decoded; else it only has to be there."""


@dataclass(frozen=True, slots=True)
class Tier:
    """A kind of annotation.

    Attributes:
        folder: Where its files lie in what is downloaded.
        kind: In the names of its files.
        archive: What is downloaded.
        place: Field with the place of a sentence in its story, from 0.
        story: Field with the id of the story; None where there is none.
    """

    folder: str
    kind: str
    archive: str
    place: str
    story: str | None = None

    def about(self) -> str:
        """What its files are and where they come from."""
        return f"a file of {self.archive} of the Visual Storytelling Dataset, from {WEB}"


@dataclass(frozen=True, slots=True)
class Part:
    """A sentence about a photograph.

    Attributes:
        album: Id of the Flickr album.
        photo: Id of the photograph, its file name without suffix.
        text: What somebody wrote; empty where that is nothing.
        place: In the story, from 0.
        story: Id of the story; empty where there is none.
    """

    album: str
    photo: str
    text: str
    place: int
    story: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """Five sentences and their photographs, in the order of the story.

    Attributes:
        id: Of the document.
        split: It belongs to.
        album: Id of the Flickr album.
        title: Of the album; empty where nobody knows.
        parts: In order.
        meta: What else is known.
    """

    id: str
    split: Split
    album: str
    title: str
    parts: tuple[Part, ...]
    meta: dict[str, Any]


class Grouping(Protocol):
    """Puts the sentences of all splits together into stories, one split after the other."""

    def stories(self, parts: Iterable[Part], drop: Drop) -> Iterator[tuple[str, tuple[Part, ...], dict[str, Any]]]:
        """Id, parts in order and meta of each story of a split, as soon as it is whole."""


class Stories:
    """The stories of one tier that can be used.

    Args:
        build: The run that needs them.
        source: Folder with the files of annotations.
        images: Folder with the photographs; None: the source.
        settings: How they are read.
        tier: Which kind of annotation.
        grouping: Makes one that begins anew.

    Raises:
        CorpusError: A file is missing or breaks its format, or there is no photograph at all.
    """

    def __init__(
        self,
        build: Build,
        source: Path,
        images: Path | None,
        settings: StorySettings,
        tier: Tier,
        grouping: Callable[[], Grouping],
    ) -> None:
        self._build = build
        self._settings = settings
        self._tier = tier
        self._grouping = grouping
        self._files = {
            split: source_file(source, [f"{name}.{tier.kind}.json"], tier.about())
            for split, name in SPLIT_NAMES.items()
        }
        self._titles: dict[str, str] = {}
        self._check_images(images or source)

    def _check_images(self, folder: Path) -> None:
        """Read all files once: titles of albums, and photographs, which are then looked at."""
        names: dict[str, None] = {}
        for path in self._build.watch(self._files.values(), total=len(self._files), label="Annotations"):
            empty = True
            for key, _, value in source_entries(path, ("annotations", "albums"), self._tier.about()):
                if key == "albums":
                    self._add_title(value)
                    continue
                for entry in _objects(value):
                    try:
                        names[self._part(entry).photo] = None
                    except ValueError:
                        continue  # told when the stories are read
                    empty = False
            if empty:
                self._build.report.note(f"{path.name} has no annotation that can be read")
        if not names:
            files = ", ".join(str(path) for path in self._files.values())
            raise CorpusError(f"{files}: no annotation in them; each should be {self._tier.about()}")
        self.pictures = NamedImages(self._build, folder, _files)
        found = self.pictures.check(names, verify=self._settings.verify, total=len(names))
        if not found:
            raise CorpusError(
                f"{folder}: has none of the {len(names):,} photographs that the annotations name, as "
                f"{next(iter(names))}.jpg: unpack the archives of photographs from {WEB}, or name their folder "
                "with images=..."
            )
        self._build.report.count("photographs that annotations name", len(names))
        self._build.report.count("photographs that are there", found)

    def usable(self, *, tell: bool, only: Split | None = None) -> Iterator[Story]:
        """Stories in the order of the files, one in memory at a time but for those that are not whole.

        Args:
            tell: Whether what is left out, and how much there was, goes to the report.
            only: Of this split; None: of all.
        """
        report = self._build.report
        drop = report.drop if tell else _untold
        grouping, read = self._grouping(), Counter[str]()
        for split, path in self._files.items():
            if only not in (None, split):
                continue
            for id, parts, meta in grouping.stories(self._parts(path, drop), drop):
                read[split] += 1
                rule, reason = self._fault(parts)
                if rule:
                    drop(rule, id, reason)
                    continue
                yield Story(id, split, parts[0].album, self._titles.get(parts[0].album, ""), parts, meta)
        if tell:
            for split in self._files:
                report.count(f"stories with {PHOTOGRAPHS} sentences: {split}", read[split])

    def _parts(self, path: Path, drop: Drop) -> Iterator[Part]:
        for _, index, value in source_entries(path, ("annotations",), self._tier.about()):
            objects = _objects(value)
            if not objects:
                drop("annotation that cannot be read", f"{path.name}, annotation {index}", "neither object nor list")
            for entry in objects:
                try:
                    yield self._part(entry)
                except ValueError as error:
                    drop("annotation that cannot be read", f"{path.name}, annotation {index}", str(error))

    def _part(self, entry: object) -> Part:
        """The sentence of an annotation.

        Raises:
            ValueError: It has none; says why.
        """
        if not isinstance(entry, dict):
            raise ValueError("no object")
        place = entry.get(self._tier.place)
        if isinstance(place, str) and place.isascii() and place.isdigit():
            place = int(place)
        if not isinstance(place, int) or isinstance(place, bool) or place < 0:
            raise ValueError(f"{self._tier.place} is no place in a story")
        text = entry.get(self._settings.text)
        if not isinstance(text, str):
            raise ValueError(f"{self._settings.text} is no text")
        story = "" if self._tier.story is None else _id(entry, self._tier.story)
        return Part(_id(entry, "album_id"), _id(entry, "photo_flickr_id"), clean_text(text), place, story)

    def _add_title(self, album: object) -> None:
        if isinstance(album, dict) and isinstance(album.get("title"), str):
            try:
                self._titles[_id(album, "id")] = clean_text(album["title"])
            except ValueError:
                return  # nobody can ask for it

    def _fault(self, parts: tuple[Part, ...]) -> tuple[str, str]:
        """Rule and reason why a story cannot be used; empty where it can."""
        bad = [(part.photo, problem) for part in parts if (problem := self.pictures.problem(part.photo)) is not None]
        if bad:
            missing = any(problem == MISSING for _, problem in bad)
            rule = "story with a missing photograph" if missing else "story with a photograph that cannot be read"
            return rule, "; ".join(f"{photo}: {problem}" for photo, problem in dict(bad).items())
        empty = [part.photo for part in parts if not part.text]
        return ("story with an empty sentence", f"about {', '.join(empty)}") if empty else ("", "")


def story_rows(build: Build, stories: Stories) -> Iterator[Values]:
    """Documents of five sentences and five images, the first sentence about the first image, and so on."""
    twice = 0
    for story in stories.usable(tell=True):
        images = [stories.pictures.way(part.photo) for part in story.parts]
        links = [(i, i) for i in range(len(images))]
        twice += len(set(images)) < len(images)
        yield story_values(story, [part.text for part in story.parts], images, links)
    build.report.count("documents that show a photograph twice", twice)


def story_values(story: Story, sentences: list[str], images: list[str], links: list[tuple[int, int]]) -> Values:
    """The columns of a document."""
    meta = {"album_id": story.album, **story.meta} | ({"title": story.title} if story.title else {})
    return {
        "id": story.id,
        "split": story.split,
        "sentences": sentences,
        "images": images,
        "links": links,
        "meta": meta,
    }


def _files(photo: str) -> Iterator[str]:
    """Names that the file of a photograph may have."""
    return (f"{photo}{suffix}" for suffix in SUFFIXES)


def _objects(value: object) -> list[Any]:
    """The objects of an annotation, which is a list of one as published."""
    if isinstance(value, dict):
        return [value]
    return value if isinstance(value, list) else []


def _id(entry: dict[str, Any], field: str) -> str:
    """An id, which may be written as a number.

    Raises:
        ValueError: There is none.
    """
    value = entry.get(field)
    text = clean_text(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not text:
        raise ValueError(f"{field} is no id")
    return text


def _untold(rule: str, item: str, reason: str) -> None:
    """Nobody is told."""
