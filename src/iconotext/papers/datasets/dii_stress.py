"""DII-Stress: Story-DII with 45 captions of other photographs among the sentences (Hessel 2019, supplement §1)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from pydantic import Field

from iconotext.corpus.builders.frame.build import Build, Values
from iconotext.corpus.published_sizes import PUBLISHED
from iconotext.corpus.row import SPLITS, Split
from iconotext.papers.datasets.stories.caption_pool import caption_pool
from iconotext.papers.datasets.stories.story import Stories, StorySettings, story_values
from iconotext.papers.datasets.story_dii import dii_stories


class DiiStressSettings(StorySettings):
    """How stories are read, and what is added to them."""

    distractors: int = Field(45, ge=0)
    """Captions of other photographs."""


def dii_stress_rows(
    build: Build, source: Path, settings: DiiStressSettings, images: Path | None = None
) -> Iterator[Values]:
    """Documents of DII-Stress: those of Story-DII, with the same ids, images and splits.

    Distractors are drawn uniformly from the captions of the split's documents, without those about any of the
    document's photographs, whichever document they stand in. Then the sentences are shuffled. As in the paper, a
    distractor may have the very words of a true caption, if only it was written about another photograph; how often
    that is so is counted. (``mscoco`` and ``captions`` leave such distractors out.)

    Args:
        build: The run; its seed is that of the distractors and of the order.
        source: As for Story-DII.
        settings: How stories are read, and how many distractors there are.
        images: As for Story-DII.

    Raises:
        CorpusError: A file is missing or breaks its format, there is no photograph at all, or a split has too few
            captions.
    """
    stories = dii_stories(build, source, settings, images)
    build.published = PUBLISHED["DII-Stress"]
    same = 0
    with ExitStack() as stack:
        pools = {
            split: stack.enter_context(caption_pool(_captions(stories, split), build.work / f"captions-{split}"))
            for split in SPLITS
        }
        for story in stories.usable(tell=True):
            rng = random.Random(f"dii-stress {build.seed} {story.id}")
            own = [part.text for part in story.parts]
            photos = {part.photo for part in story.parts}
            others = pools[story.split].draw(rng, settings.distractors, photos, story.id)
            same += len(set(own) & set(others))
            order = list(range(len(own) + len(others)))  # of each place, which text; those of the story come first
            rng.shuffle(order)
            links = [(place, text) for place, text in enumerate(order) if text < len(own)]
            ways = [stories.pictures.way(part.photo) for part in story.parts]
            sentences = [(own + others)[text] for text in order]
            yield story_values(story, sentences, ways, links)
    build.report.count("captions of documents whose very words are among the distractors", same)


def _captions(stories: Stories, split: Split) -> Iterator[tuple[str, str]]:
    for story in stories.usable(tell=False, only=split):
        for part in story.parts:
            yield part.text, part.photo
