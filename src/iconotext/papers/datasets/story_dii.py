"""Story-DII: captions that people wrote about five photographs of an album, each seen alone.

No annotation names a story. Published are, for each album, a fixed set of five photographs three times, in runs of the
places 0 to 4; each run is a document. The same sentences in another order, such as all captions of one photograph
together, give the same number of documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from iconotext.corpus.published_sizes import PUBLISHED
from iconotext.papers.datasets.vist import PHOTOGRAPHS, Joined, Part, Stories, StorySettings, Tier, story_documents

if TYPE_CHECKING:
    from iconotext.corpus.builders.captioned.photos import Drop
    from iconotext.corpus.builders.run import Build, Values


class Settings(StorySettings):
    """Make Story-DII (Hessel 2019) of the Visual Storytelling Dataset: five photographs, five captions.

    Needs `{train,val,test}.description-in-isolation.json` and the photographs, in any folders. Stories with a missing
    or broken photograph are dropped.

    **Example**

    - `iconotext corpus build story-dii --source VIST --output dii.jsonl`
    """


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """Documents of Story-DII, in the order of the annotations.

    Ids are ``dii-ALBUM-NUMBER``: the number counts the album's sets of captions from 1, those that are dropped too.

    Raises:
        CorpusError: A file is missing or breaks its format, or there is no photograph at all.
    """
    build.published = PUBLISHED["Story-DII"]
    yield from story_documents(build, Stories(build, settings, DII))


class _Open:
    """A story that is not whole."""

    def __init__(self, album: str, number: int) -> None:
        self.number = number
        self.name = f"dii-{album}-{number}"
        self.parts: dict[int, Part] = {}


class Captions:
    """Puts captions together.

    Each goes to the story of its album's caption before it, if that lacks its place, else to the earliest one that
    does, else it begins another.
    """

    def __init__(self) -> None:
        self._numbers = Counter[str]()

    def stories(self, parts: Iterable[Part], drop: Drop) -> Iterator[Joined]:
        """The stories of a split, see ``Tier.joined``."""
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
                yield story.name, tuple(story.parts[i] for i in range(PHOTOGRAPHS)), {"version": story.number}
        for stories in waiting.values():
            for story in sorted(stories, key=lambda each: each.number):
                drop("story that is not whole", story.name, f"{len(story.parts)} of {PHOTOGRAPHS} captions")

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
            story = _Open(part.album, self._numbers[part.album])
        stories.insert(0, story)
        return story


DII = Tier(
    "description-in-isolation", "DII-with-labels.tar.gz", "photo_order_in_story", None, lambda: Captions().stories
)
