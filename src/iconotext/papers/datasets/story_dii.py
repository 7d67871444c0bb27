"""Story-DII: captions that people wrote about five photographs of an album, each seen alone.

No annotation names a story. Published are, for each album, a fixed set of five photographs three times, in runs of the
places 0 to 4; each run is a document. The same sentences in another order, such as all captions of one photograph
together, give the same number of documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from iconotext.corpus.stats import PUBLISHED
from iconotext.papers.datasets.vist import PHOTOGRAPHS, Joined, Part, StorySettings, Tier, story_documents

if TYPE_CHECKING:
    from iconotext.corpus.builders.photos import Drop
    from iconotext.corpus.builders.run import Build, Values
    from iconotext.corpus.row import Split


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
    """
    build.published = PUBLISHED["Story-DII"]
    yield from story_documents(build, settings, DII)


def joined(parts: Mapping[Split, Iterable[Part]], drop: Drop) -> Iterator[Joined]:
    """Assemble captions to stories, see ``Tier.joined``.

    A caption goes to the story of the preceding caption of its album if its place is free there, else to the earliest
    story with the place free, else it begins another story.
    """
    begun = Counter[str]()
    for split, some in parts.items():
        waiting: dict[str, dict[int, dict[int, Part]]] = {}  # of an album, the one that got the last caption is last
        for part in some:
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


DII = Tier("description-in-isolation", "DII-with-labels.tar.gz", "photo_order_in_story", None, joined)
