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
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from iconotext.corpus.builders.find_images import MISSING, NamedImages
from iconotext.corpus.builders.settings import DataSetSettings
from iconotext.corpus.formats.json_stream import source_entries, source_file
from iconotext.errors import CorpusError
from iconotext.papers.datasets.clean_text import clean_text

if TYPE_CHECKING:
    from pathlib import Path

    from iconotext.corpus.builders.captioned.photos import Drop
    from iconotext.corpus.builders.run import Build, Values
    from iconotext.corpus.row import Split

WEB = "http://visionandlanguage.net/VIST/dataset.html"

SPLIT_NAMES: dict[Split, str] = {"train": "train", "validation": "val", "test": "test"}

PHOTOGRAPHS = 5
"""Of a story, each with a sentence."""

SUFFIXES = (".jpg", ".png", ".gif", ".jpeg", ".JPG", ".PNG", ".webp", ".bmp", ".tif", ".tiff")
"""Of the file of a photograph, the likeliest first."""


class StorySettings(DataSetSettings):
    """How stories are read."""

    text: Literal["text", "original_text"] = "text"
    """Which text of an annotation. text: in small letters, divided into tokens, with [male] and the like for names, as
    in Figure 2 of the paper. original_text: as it was typed."""

    verify: bool = True
    """Decode each photograph; else it only has to be there."""


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


Joined = tuple[str, tuple[Part, ...], dict[str, Any]]
"""Id, sentences in order, and meta of a story."""


@dataclass(frozen=True, slots=True)
class Tier:
    """A kind of annotation.

    Attributes:
        kind: In the names of its files.
        archive: What is downloaded.
        place: Field with the place of a sentence in its story, from 0.
        story: Field with the id of the story; None where there is none.
        joined: Makes what puts the sentences of each split together into stories, one split after the other: gives
            each as soon as it is whole, and drops those that never are.
    """

    kind: str
    archive: str
    place: str
    story: str | None
    joined: Callable[[], Callable[[Iterable[Part], Drop], Iterator[Joined]]]

    def about(self) -> str:
        """What its files are and where they come from."""
        return f"a file of {self.archive} of the Visual Storytelling Dataset, from {WEB}"


@dataclass(frozen=True, slots=True)
class Story:
    """Five sentences and their photographs, as the corpus names them, in the order of the story."""

    id: str
    split: Split
    parts: tuple[Part, ...]
    images: list[str]
    meta: dict[str, Any]

    def values(self, sentences: list[str], links: list[tuple[int, int]]) -> Values:
        """The columns of its document."""
        columns = {"sentences": sentences, "images": self.images, "links": links}
        return {"id": self.id, "split": self.split, **columns, "meta": self.meta}


class Stories:
    """The stories of one tier that can be used, one in memory at a time but for those that are not whole.

    Raises:
        CorpusError: A file is missing or breaks its format, or there is no photograph at all.
    """

    def __init__(self, build: Build, settings: StorySettings, tier: Tier) -> None:
        self._build = build
        self._settings = settings
        self._tier = tier
        self._files = {
            split: source_file(settings.source, [f"{name}.{tier.kind}.json"], tier.about())
            for split, name in SPLIT_NAMES.items()
        }
        self._titles: dict[str, str] = {}
        self._images = self._look_at_images(self._photographs())

    def _photographs(self) -> dict[str, None]:
        """Ids of all photographs; titles of albums are noted on the way."""
        names: dict[str, None] = {}
        for path in self._build.watch(self._files.values(), total=len(self._files), label="Annotations"):
            readable = 0
            for key, _, value in source_entries(path, ("annotations", "albums"), self._tier.about()):
                if key == "albums":
                    self._add_title(value)
                    continue
                for part in self._parts_of(value):
                    names[part.photo] = None
                    readable += 1
            if not readable:
                self._build.report.note(f"{path.name} has no annotation that can be read")
        if not names:
            files = ", ".join(str(path) for path in self._files.values())
            raise CorpusError(f"{files}: no annotation in them; each should be {self._tier.about()}")
        return names

    def _look_at_images(self, names: dict[str, None]) -> NamedImages:
        folder = self._settings.image_folder
        images = NamedImages(self._build, folder, names, _spellings, verify=self._settings.verify)
        if not images.there:
            raise CorpusError(
                f"{folder}: has none of the {len(names):,} photographs that the annotations name, as "
                f"{next(iter(names))}.jpg: unpack the archives of photographs from {WEB}, or name their folder "
                "with images=..."
            )
        self._build.report.count("photographs that annotations name", len(names))
        self._build.report.count("photographs that are there", images.there)
        return images

    def reported(self) -> Iterator[Story]:
        """All of them; what is left out, and how much there was, goes to the report."""
        read = Counter[str]()
        yield from self._usable(self._files, self._build.report.drop, read)
        for split in self._files:
            self._build.report.count(f"stories with {PHOTOGRAPHS} sentences: {split}", read[split])

    def of(self, split: Split) -> Iterator[Story]:
        """Those of a split; nothing is reported."""
        return self._usable([split], lambda rule, item, reason: None)

    def _usable(self, splits: Iterable[Split], drop: Drop, read: Counter[str] | None = None) -> Iterator[Story]:
        joined = self._tier.joined()
        for split in splits:
            for name, parts, meta in joined(self._parts(self._files[split], drop), drop):
                if read is not None:
                    read[split] += 1
                rule, reason = self._fault(parts)
                if rule:
                    drop(rule, name, reason)
                    continue
                title = self._titles.get(parts[0].album, "")
                meta = {"album_id": parts[0].album, **meta} | ({"title": title} if title else {})
                yield Story(name, split, parts, [self._images.path(part.photo) for part in parts], meta)

    def _parts(self, path: Path, drop: Drop) -> Iterator[Part]:
        for _, index, value in source_entries(path, ("annotations",), self._tier.about()):
            yield from self._parts_of(
                value, partial(drop, "annotation that cannot be read", f"{path.name}, annotation {index}")
            )

    def _parts_of(self, value: object, complain: Callable[[str], None] = lambda reason: None) -> Iterator[Part]:
        """The sentences of an annotation, which is a list of one as published."""
        entries = [value] if isinstance(value, dict) else value
        if not isinstance(entries, list) or not entries:
            complain("neither object nor list")
            return
        for entry in entries:
            try:
                yield self._part(entry)
            except ValueError as error:
                complain(str(error))

    def _part(self, entry: object) -> Part:
        """The sentence of an entry; ``ValueError``, which says why, where it has none."""
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
                return  # no caption can belong to it

    def _fault(self, parts: tuple[Part, ...]) -> tuple[str, str]:
        """Rule and reason why a story cannot be used; empty where it can."""
        problems = self._images.problems
        bad = {part.photo: problems[part.photo] for part in parts if part.photo in problems}
        if bad:
            rule = "story with a missing photograph"
            if MISSING not in bad.values():
                rule = "story with a photograph that cannot be read"
            return rule, "; ".join(f"{photo}: {problem}" for photo, problem in bad.items())
        empty = [part.photo for part in parts if not part.text]
        return ("story with an empty sentence", f"about {', '.join(empty)}") if empty else ("", "")


def story_documents(build: Build, stories: Stories) -> Iterator[Values]:
    """Each story as a document: sentence i belongs to image i."""
    twice = 0
    for story in stories.reported():
        twice += len(set(story.images)) < len(story.images)
        yield story.values([part.text for part in story.parts], [(i, i) for i in range(PHOTOGRAPHS)])
    build.report.count("documents that show a photograph twice", twice)


def _spellings(photo: str) -> Iterator[str]:
    """Names that the file of a photograph may have."""
    return (f"{photo}{suffix}" for suffix in SUFFIXES)


def _id(entry: dict[str, Any], field: str) -> str:
    """An id, which may be written as a number; ``ValueError`` where there is none."""
    value = entry.get(field)
    text = clean_text(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not text:
        raise ValueError(f"{field} is no id")
    return text
