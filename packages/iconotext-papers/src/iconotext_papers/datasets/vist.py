"""The Visual Storytelling Dataset (VIST): Story-DII, Story-SIS and DII-Stress, five photographs of a Flickr album each.

Its annotations are lists of one object for each sentence. In the tier "description in isolation" (DII) three people
wrote a caption for each photograph of a fixed set of five; in the tier "story in sequence" (SIS) people chose five
photographs of the album and wrote a story, five of them for each album. The given splits are kept, and stories with
any missing or unreadable photograph are dropped (Hessel 2019, supplement §1); so are the few with an empty sentence, of
which the paper says nothing.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from iconotext.corpus.builders.build import MISSING
from iconotext.corpus.formats.json_stream import source_entries, source_file
from iconotext.corpus.row import SPLITS, Split
from iconotext.errors import CorpusError
from iconotext_papers.datasets.downloads import DataSetSettings, NamedImages
from iconotext_papers.datasets.wiki import clean_text
from iconotext_papers.published.sizes import PUBLISHED

if TYPE_CHECKING:
    from pathlib import Path

    from iconotext.corpus.builders.build import Build, Values
    from iconotext.corpus.builders.photos import Drop
    from iconotext.system.spool import Spool

WEB = "http://visionandlanguage.net/VIST/dataset.html"

SPLIT_NAMES: dict[Split, str] = {"train": "train", "validation": "val", "test": "test"}

PHOTOGRAPHS = 5
"""Number of photographs in a story, each with a sentence."""

SUFFIXES = (".jpg", ".png", ".gif", ".jpeg", ".JPG", ".PNG", ".webp", ".bmp", ".tif", ".tiff")
"""Suffixes of the file of a photograph, the most likely one first."""


class StorySettings(DataSetSettings):
    """How stories are read."""

    text: Literal["text", "original_text"] = "text"
    """Which text of an annotation. text: in small letters, divided into tokens, with [male] and the like for names, as
    in Figure 2 of the paper. original_text: as it was typed."""

    verify: bool = True
    """Decode each photograph. Else it only has to be there."""


@dataclass(frozen=True, slots=True)
class Part:
    """A sentence about a photograph.

    Attributes:
        album: Id of the Flickr album.
        photo: Id of the photograph, its file name without suffix.
        text: The sentence; may be empty.
        place: Place in the story, from 0.
        story: Id of the story; empty if there is none.
    """

    album: str
    photo: str
    text: str
    place: int
    story: str = ""


Joined = tuple[Split, str, tuple[Part, ...], dict[str, Any]]
"""Split, id, sentences in order, and meta of a story."""


@dataclass(frozen=True, slots=True)
class Tier:
    """A kind of annotation.

    Attributes:
        kind: The word for it in the names of its files.
        archive: Name of the archive to download.
        place: Field with the place of a sentence in its story, from 0.
        story: Field with the id of the story; None if there is none.
        joined: Assembles the sentences of each split to stories, one split after the other: yields each as soon as it
            is complete, and drops stories that never are.
    """

    kind: str
    archive: str
    place: str
    story: str | None
    joined: Callable[[Mapping[Split, Iterable[Part]], Drop], Iterator[Joined]]

    def about(self) -> str:
        """Contents and origin of its files, for error messages."""
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
        """Return the columns of its document."""
        columns = {"sentences": sentences, "images": self.images, "links": links}
        return {"id": self.id, "split": self.split, **columns, "meta": self.meta}


def read_stories(build: Build, settings: StorySettings, tier: Tier) -> Sequence[Story]:
    """Return the usable stories of one tier, on disk; stories that are left out, and the totals, are reported."""
    files = {
        split: source_file(settings.source, [f"{name}.{tier.kind}.json"], tier.about())
        for split, name in SPLIT_NAMES.items()
    }
    titles: dict[str, str] = {}
    parts: dict[Split, Sequence[Part]] = {}
    for split, path in build.watch(files.items(), total=len(files), label="Annotations"):
        parts[split] = build.spool(_parts(build, settings, tier, path, titles))
        if not len(parts[split]):
            build.report.note(f"{path.name} has no annotation that can be read")
    names = dict.fromkeys(part.photo for split_parts in parts.values() for part in split_parts)
    if not names:
        raise CorpusError(
            f"{', '.join(map(str, files.values()))}: no annotation in them; each should be {tier.about()}"
        )
    folder = settings.image_folder
    images = NamedImages(
        build, folder, names, lambda photo: [f"{photo}{suffix}" for suffix in SUFFIXES], verify=settings.verify
    )
    if not images.there:
        raise CorpusError(
            f"{folder}: has none of the {len(names):,} photographs that the annotations name, as "
            f"{next(iter(names))}.jpg: unpack the archives of photographs from {WEB}, or name their folder "
            "with images=..."
        )
    build.report.count("photographs that annotations name", len(names))
    build.report.count("photographs that are there", images.there)
    return build.spool(_usable(build, tier, parts, titles, images))


def _usable(
    build: Build, tier: Tier, parts: Mapping[Split, Iterable[Part]], titles: Mapping[str, str], images: NamedImages
) -> Iterator[Story]:
    whole = Counter[Split]()
    for split, name, story, meta in tier.joined(parts, build.report.drop):
        whole[split] += 1
        if fault := _fault(story, images.problems):
            build.report.drop(fault[0], name, fault[1])
            continue
        title = titles.get(story[0].album, "")
        meta = {"album_id": story[0].album, **meta} | ({"title": title} if title else {})
        yield Story(name, split, story, [images.path(part.photo) for part in story], meta)
    for split in parts:
        build.report.count(f"stories with {PHOTOGRAPHS} sentences: {split}", whole[split])


def _fault(parts: tuple[Part, ...], problems: Mapping[str, str]) -> tuple[str, str] | None:
    """Return rule and reason why a story cannot be used; None if it can."""
    bad = {part.photo: problems[part.photo] for part in parts if part.photo in problems}
    if bad:
        fault = "missing photograph" if MISSING in bad.values() else "photograph that cannot be read"
        return f"story with a {fault}", "; ".join(f"{photo}: {problem}" for photo, problem in bad.items())
    empty = [part.photo for part in parts if not part.text]
    return ("story with an empty sentence", f"about {', '.join(empty)}") if empty else None


def _parts(build: Build, settings: StorySettings, tier: Tier, path: Path, titles: dict[str, str]) -> Iterator[Part]:
    """Yield the sentences of a file, whose annotations are lists of one object; the titles of albums are noted."""
    for key, index, value in source_entries(path, ("annotations", "albums"), tier.about()):
        if key == "albums":
            if isinstance(value, dict) and isinstance(value.get("title"), str):
                with suppress(ValueError):  # an album without an id, to which no caption can belong
                    titles[_id(value, "id")] = clean_text(value["title"])
            continue
        complain = partial(build.report.drop, "annotation that cannot be read", f"{path.name}, annotation {index}")
        entries = [value] if isinstance(value, dict) else value
        if not isinstance(entries, list) or not entries:
            complain("neither object nor list")
            continue
        for entry in entries:
            try:
                yield _part(entry, settings, tier)
            except ValueError as error:
                complain(str(error))


def _part(entry: object, settings: StorySettings, tier: Tier) -> Part:
    """Make the sentence of an entry; ``ValueError``, with the reason, if there is none."""
    if not isinstance(entry, dict):
        raise ValueError("no object")
    place = entry.get(tier.place)
    if isinstance(place, str) and place.isascii() and place.isdigit():
        place = int(place)
    if not isinstance(place, int) or isinstance(place, bool) or place < 0:
        raise ValueError(f"{tier.place} is no place in a story")
    text = entry.get(settings.text)
    if not isinstance(text, str):
        raise ValueError(f"{settings.text} is no text")
    story = "" if tier.story is None else _id(entry, tier.story)
    return Part(_id(entry, "album_id"), _id(entry, "photo_flickr_id"), clean_text(text), place, story)


def story_documents(build: Build, settings: StorySettings, tier: Tier) -> Iterator[Values]:
    """Make each story a document: sentence i belongs to image i."""
    twice = 0
    for story in read_stories(build, settings, tier):
        twice += len(set(story.images)) < len(story.images)
        yield story.values([part.text for part in story.parts], [(i, i) for i in range(PHOTOGRAPHS)])
    build.report.count("documents that show a photograph twice", twice)


def _id(entry: dict[str, Any], field: str) -> str:
    """Return an id, which may be written as a number; ``ValueError`` if there is none."""
    value = entry.get(field)
    text = clean_text(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not text:
        raise ValueError(f"{field} is no id")
    return text


class DiiSettings(StorySettings):
    """Make Story-DII (Hessel 2019) of the Visual Storytelling Dataset: five photographs, five captions.

    Needs `{train,val,test}.description-in-isolation.json` and the photographs, in any folders. Stories with a missing
    or broken photograph are dropped.

    **Example**

    - `iconotext papers build story-dii --source VIST --output dii.jsonl`
    """


def dii_documents(build: Build, settings: DiiSettings) -> Iterator[Values]:
    """Documents of Story-DII, in the order of the annotations.

    Ids are ``dii-ALBUM-NUMBER``: the number counts the album's sets of captions from 1, those that are dropped too.
    """
    build.published = PUBLISHED["Story-DII"]
    yield from story_documents(build, settings, DII)


def join_captions(parts: Mapping[Split, Iterable[Part]], drop: Drop) -> Iterator[Joined]:
    """Assemble captions to stories, see ``Tier.joined``.

    No annotation names a story. Published are, for each album, a fixed set of five photographs three times, in runs of
    the places 0 to 4; each run is a document. The same sentences in another order, such as all captions of one
    photograph together, give the same number of documents.

    A caption goes to the story of the preceding caption of its album if its place is free there, else to the earliest
    story with the place free, else it begins another story.
    """
    begun = Counter[str]()
    for split, split_parts in parts.items():
        # By album, number of the story and place; the story that got the album's last caption is its last entry.
        waiting: dict[str, dict[int, dict[int, Part]]] = {}
        for part in split_parts:
            if part.place >= PHOTOGRAPHS:
                drop("caption without a place in a story", f"photograph {part.photo}", f"place {part.place}")
                continue
            stories = waiting.setdefault(part.album, {})
            lacking = [number for number, story in stories.items() if part.place not in story]
            number = next(reversed(stories), 0)
            if number not in lacking:
                begun[part.album] += not lacking
                number = min(lacking, default=begun[part.album])
            story = stories.pop(number, {})
            story[part.place] = part
            if len(story) < PHOTOGRAPHS:
                stories[number] = story
            else:
                whole = tuple(story[i] for i in range(PHOTOGRAPHS))
                yield split, f"dii-{part.album}-{number}", whole, {"version": number}
        for album, stories in waiting.items():
            for number, story in sorted(stories.items()):
                drop("story that is not whole", f"dii-{album}-{number}", f"{len(story)} of {PHOTOGRAPHS} captions")


DII = Tier("description-in-isolation", "DII-with-labels.tar.gz", "photo_order_in_story", None, join_captions)


class SisSettings(StorySettings):
    """Make Story-SIS (Hessel 2019) of the Visual Storytelling Dataset: five photographs, a story of five sentences.

    Needs `{train,val,test}.story-in-sequence.json` and the photographs, in any folders. Stories with a missing
    or broken photograph are dropped.

    **Example**

    - `iconotext papers build story-sis --source VIST --output sis.jsonl`
    """


def sis_documents(build: Build, settings: SisSettings) -> Iterator[Values]:
    """Documents of Story-SIS, in the order of the annotations; their ids are ``sis-STORY``."""
    build.published = PUBLISHED["Story-SIS"]
    yield from story_documents(build, settings, SIS)


def join_sentences(parts: Mapping[Split, Iterable[Part]], drop: Drop) -> Iterator[Joined]:
    """Assemble sentences with the same story id to stories, see ``Tier.joined``."""
    whole: set[str] = set()
    for split, split_parts in parts.items():
        waiting: dict[str, list[Part]] = {}
        for part in split_parts:
            name = f"sis-{part.story}"
            if part.story in whole:
                drop("sentence of a story that is whole", name, f"about photograph {part.photo}")
                continue
            story_parts = waiting.setdefault(part.story, [])
            story_parts.append(part)
            if len(story_parts) < PHOTOGRAPHS:
                continue
            del waiting[part.story]
            whole.add(part.story)
            if len({part.place for part in story_parts}) < PHOTOGRAPHS:
                drop("story with two sentences at one place", name, f"{sorted(part.place for part in story_parts)}")
            elif len({part.album for part in story_parts}) > 1:
                drop("story of several albums", name, ", ".join(dict.fromkeys(part.album for part in story_parts)))
            else:
                yield split, name, tuple(sorted(story_parts, key=lambda part: part.place)), {"story_id": part.story}
        for story, story_parts in waiting.items():
            drop("story that is not whole", f"sis-{story}", f"{len(story_parts)} of {PHOTOGRAPHS} sentences")


SIS = Tier("story-in-sequence", "SIS-with-labels.tar.gz", "worker_arranged_photo_order", "story_id", join_sentences)


TRIES = 20
"""Number of tries for each caption; nearly always enough, and never slow, however large the pool is."""


class StressSettings(StorySettings):
    """Make DII-Stress (Hessel 2019): Story-DII with 45 captions of other photographs of the split, in shuffled order.

    Needs what `story-dii` needs, and gives its documents the same ids.

    **Example**

    - `iconotext papers build dii-stress --source VIST --output dii-stress.jsonl`
    """

    distractors: int = Field(45, ge=0)
    """Captions of other photographs."""

    seed: int = 0
    """Seed of the random choices."""


def stress_documents(build: Build, settings: StressSettings) -> Iterator[Values]:
    """Documents of DII-Stress: those of Story-DII, with the same ids, images and splits.

    Distractors are drawn uniformly from the captions of the split's documents, without those about any of the
    document's photographs, whichever document they stand in. Then the sentences are shuffled. As in the paper, a
    distractor may have the very words of a true caption, if only it was written about another photograph; how often
    that is so is counted. (``mscoco`` and ``captions`` leave such distractors out.)
    """
    build.published = PUBLISHED["DII-Stress"]
    stories = read_stories(build, settings, DII)
    pools = {split: build.spool(_captions(story) for story in stories if story.split == split) for split in SPLITS}
    same = 0
    for story in stories:
        rng = random.Random(f"dii-stress {settings.seed} {story.id}")
        texts = [part.text for part in story.parts]
        distractors = draw_distractors(
            rng, pools[story.split], settings.distractors, {part.photo for part in story.parts}, story.id
        )
        same += len(set(texts) & set(distractors))
        order = list(range(len(texts) + len(distractors)))  # of each place, which text; those of the story come first
        rng.shuffle(order)
        links = [(place, text) for place, text in enumerate(order) if text < len(texts)]
        yield story.values([(texts + distractors)[text] for text in order], links)
    build.report.count("captions of documents whose very words are among the distractors", same)


def _captions(story: Story) -> list[tuple[str, str]]:
    return [(part.text, part.photo) for part in story.parts]


def draw_distractors(
    rng: random.Random, pool: Spool[Any], count: int, without: Collection[str], name: str
) -> list[str]:
    """Draw different captions, uniformly at random; two of them may have the same words."""
    per_story = len(pool[0]) if len(pool) else 0
    total = len(pool) * per_story
    chosen: dict[int, str] = {}
    for _ in range(TRIES * count if total else 0):
        if len(chosen) == count:
            break
        number = rng.randrange(total)
        text, photo = pool[number // per_story][number % per_story]
        if photo not in without:
            chosen[number] = text
    if len(chosen) < count:
        left = {
            number: text
            for number, (text, photo) in enumerate(caption for story in pool for caption in story)
            if photo not in without and number not in chosen
        }
        if len(chosen) + len(left) < count:
            raise CorpusError(
                f"{name}: {count} captions about other pictures of its split are needed, and there are "
                f"{len(chosen) + len(left)}: ask for fewer with distractors={len(chosen) + len(left)}"
            )
        chosen |= {number: left[number] for number in rng.sample(list(left), count - len(chosen))}
    return list(chosen.values())
