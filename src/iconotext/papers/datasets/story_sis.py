"""Story-SIS: stories that people wrote about five photographs that they chose from an album."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from iconotext.corpus.stats import PUBLISHED
from iconotext.papers.datasets.vist import PHOTOGRAPHS, Joined, Part, StorySettings, Tier, story_documents

if TYPE_CHECKING:
    from iconotext.corpus.builders.photos import Drop
    from iconotext.corpus.builders.run import Build, Values
    from iconotext.corpus.row import Split


class Settings(StorySettings):
    """Make Story-SIS (Hessel 2019) of the Visual Storytelling Dataset: five photographs, a story of five sentences.

    Needs `{train,val,test}.story-in-sequence.json` and the photographs, in any folders. Stories with a missing
    or broken photograph are dropped.

    **Example**

    - `iconotext corpus build story-sis --source VIST --output sis.jsonl`
    """


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """Documents of Story-SIS, in the order of the annotations; their ids are ``sis-STORY``."""
    build.published = PUBLISHED["Story-SIS"]
    yield from story_documents(build, settings, SIS)


def joined(parts: Mapping[Split, Iterable[Part]], drop: Drop) -> Iterator[Joined]:
    """Assemble sentences with the same story id to stories, see ``Tier.joined``."""
    whole: set[str] = set()
    for split, some in parts.items():
        waiting: dict[str, list[Part]] = {}
        for part in some:
            name = f"sis-{part.story}"
            if part.story in whole:
                drop("sentence of a story that is whole", name, f"about photograph {part.photo}")
                continue
            found = waiting.setdefault(part.story, [])
            found.append(part)
            if len(found) < PHOTOGRAPHS:
                continue
            del waiting[part.story]
            whole.add(part.story)
            if len({each.place for each in found}) < PHOTOGRAPHS:
                drop("story with two sentences at one place", name, f"{sorted(each.place for each in found)}")
            elif len({each.album for each in found}) > 1:
                drop("story of several albums", name, ", ".join(dict.fromkeys(each.album for each in found)))
            else:
                yield split, name, tuple(sorted(found, key=lambda each: each.place)), {"story_id": part.story}
        for story, found in waiting.items():
            drop("story that is not whole", f"sis-{story}", f"{len(found)} of {PHOTOGRAPHS} sentences")


SIS = Tier("story-in-sequence", "SIS-with-labels.tar.gz", "worker_arranged_photo_order", "story_id", joined)
