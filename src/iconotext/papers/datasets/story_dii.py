"""Story-DII: captions that people wrote about five photographs of an album, each seen alone.

No annotation names a story. Published are, for each album, a fixed set of five photographs three times, in runs of the
places 0 to 4; each run is a document. The same sentences in another order, such as all captions of one photograph
together, give the same number of documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from iconotext.corpus.builders.captioned.photos import Drop
from iconotext.corpus.builders.frame.build import Build, Values
from iconotext.corpus.published_sizes import PUBLISHED
from iconotext.papers.datasets.stories.story import PHOTOGRAPHS, Part, Stories, StorySettings, Tier, story_rows

DII = Tier("dii", "description-in-isolation", "DII-with-labels.tar.gz", "photo_order_in_story")


def story_dii_rows(build: Build, source: Path, settings: StorySettings, images: Path | None = None) -> Iterator[Values]:
    """Documents of Story-DII, in the order of the annotations.

    Ids are ``dii-ALBUM-NUMBER``: the number counts the album's sets of captions from 1, those that are dropped too.

    Args:
        build: The run.
        source: Folder with ``{train,val,test}.description-in-isolation.json``, also in a folder in it.
        settings: How they are read.
        images: Folder with the photographs, also in folders in it; None: the source.

    Raises:
        CorpusError: A file is missing or breaks its format, or there is no photograph at all.
    """
    build.published = PUBLISHED["Story-DII"]
    yield from story_rows(build, dii_stories(build, source, settings, images))


def dii_stories(build: Build, source: Path, settings: StorySettings, images: Path | None) -> Stories:
    """The stories of the tier DII.

    Raises:
        CorpusError: See ``Stories``.
    """
    return Stories(build, source, images, settings, DII, Captions)


class _Open:
    """A story that is not whole."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.parts: dict[int, Part] = {}


class Captions:
    """Puts captions together.

    Each goes to the story of its album's caption before it, if that lacks its place, else to the earliest one that
    does, else it begins another.
    """

    def __init__(self) -> None:
        self._numbers = Counter[str]()

    def stories(self, parts: Iterable[Part], drop: Drop) -> Iterator[tuple[str, tuple[Part, ...], dict[str, Any]]]:
        """Id, parts in order and meta of each story, as soon as it is whole; those that never are, are dropped."""
        waiting: dict[str, list[_Open]] = {}  # by album; the one that got the last caption stands first
        for part in parts:
            if part.place >= PHOTOGRAPHS:
                drop("caption without a place in a story", f"photograph {part.photo}", f"place {part.place}")
                continue
            stories = waiting.setdefault(part.album, [])
            story = self._home(part, stories)
            story.parts[part.place] = part
            if len(story.parts) == PHOTOGRAPHS:
                stories.remove(story)
                if not stories:
                    del waiting[part.album]
                meta = {"version": story.number}
                yield _name(part.album, story), tuple(story.parts[i] for i in range(PHOTOGRAPHS)), meta
        for album, stories in waiting.items():
            for story in sorted(stories, key=lambda each: each.number):
                drop("story that is not whole", _name(album, story), f"{len(story.parts)} of {PHOTOGRAPHS} captions")

    def _home(self, part: Part, stories: list[_Open]) -> _Open:
        """The story that a caption belongs to, which then stands first."""
        if stories and part.place not in stories[0].parts:
            return stories[0]
        lacking = [each for each in stories if part.place not in each.parts]
        if lacking:
            story = min(lacking, key=lambda each: each.number)
            stories.remove(story)
        else:
            self._numbers[part.album] += 1
            story = _Open(self._numbers[part.album])
        stories.insert(0, story)
        return story


def _name(album: str, story: _Open) -> str:
    return f"dii-{album}-{story.number}"
