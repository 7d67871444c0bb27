"""Story-SIS: stories that people wrote about five photographs that they chose from an album."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from iconotext.corpus.builders.captioned.photos import Drop
from iconotext.corpus.builders.frame.build import Build, Values
from iconotext.corpus.published_sizes import PUBLISHED
from iconotext.papers.datasets.stories.story import PHOTOGRAPHS, Part, Stories, StorySettings, Tier, story_rows

SIS = Tier("sis", "story-in-sequence", "SIS-with-labels.tar.gz", "worker_arranged_photo_order", "story_id")


def story_sis_rows(build: Build, source: Path, settings: StorySettings, images: Path | None = None) -> Iterator[Values]:
    """Documents of Story-SIS, in the order of the annotations; their ids are ``sis-STORY``.

    Args:
        build: The run.
        source: Folder with ``{train,val,test}.story-in-sequence.json``, also in a folder in it.
        settings: How they are read.
        images: Folder with the photographs, also in folders in it; None: the source.

    Raises:
        CorpusError: A file is missing or breaks its format, or there is no photograph at all.
    """
    build.published = PUBLISHED["Story-SIS"]
    yield from story_rows(build, Stories(build, source, images, settings, SIS, Told))


class Told:
    """Puts sentences together that have the same story id."""

    def __init__(self) -> None:
        self._whole: set[str] = set()

    def stories(self, parts: Iterable[Part], drop: Drop) -> Iterator[tuple[str, tuple[Part, ...], dict[str, Any]]]:
        """Id, parts in order and meta of each story, as soon as it is whole; those that never are, are dropped."""
        waiting: dict[str, list[Part]] = {}
        for part in parts:
            name = f"sis-{part.story}"
            found = waiting.setdefault(part.story, [])
            if part.story in self._whole:
                del waiting[part.story]
                drop("sentence of a story that is whole", name, f"about photograph {part.photo}")
                continue
            found.append(part)
            if len(found) < PHOTOGRAPHS:
                continue
            del waiting[part.story]
            self._whole.add(part.story)
            if len({each.place for each in found}) < PHOTOGRAPHS:
                drop("story with two sentences at one place", name, f"{sorted(each.place for each in found)}")
            elif len({each.album for each in found}) > 1:
                drop("story of several albums", name, ", ".join(dict.fromkeys(each.album for each in found)))
            else:
                yield name, tuple(sorted(found, key=lambda each: each.place)), {"story_id": part.story}
        for story, found in waiting.items():
            drop("story that is not whole", f"sis-{story}", f"{len(found)} of {PHOTOGRAPHS} sentences")
