"""DII-Stress: Story-DII with 45 captions of other photographs among the sentences (Hessel 2019, supplement §1)."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from pydantic import Field

from iconotext.corpus.row import SPLITS
from iconotext.corpus.stats import PUBLISHED
from iconotext.errors import CorpusError
from iconotext.papers.datasets.story_dii import DII
from iconotext.papers.datasets.vist import Story, StorySettings, read_stories

if TYPE_CHECKING:
    from iconotext.corpus.builders.run import Build, Values
    from iconotext.system.spool import Spool

TRIES = 20
"""Number of tries for each caption; nearly always enough, and never slow, however large the pool is."""


class Settings(StorySettings):
    """Make DII-Stress (Hessel 2019): Story-DII with 45 captions of other photographs of the split, in shuffled order.

    Needs what `story-dii` needs, and gives its documents the same ids.

    **Example**

    - `iconotext corpus build dii-stress --source VIST --output dii-stress.jsonl`
    """

    distractors: int = Field(45, ge=0)
    """Captions of other photographs."""

    seed: int = 0
    """Seed of the random choices."""


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """Documents of DII-Stress: those of Story-DII, with the same ids, images and splits.

    Distractors are drawn uniformly from the captions of the split's documents, without those about any of the
    document's photographs, whichever document they stand in. Then the sentences are shuffled. As in the paper, a
    distractor may have the very words of a true caption, if only it was written about another photograph; how often
    that is so is counted. (``mscoco`` and ``captions`` leave such distractors out.)
    """
    build.published = PUBLISHED["DII-Stress"]
    stories = read_stories(build, settings, DII)
    pools = {split: build.spool(_captions(each) for each in stories if each.split == split) for split in SPLITS}
    same = 0
    for story in stories:
        rng = random.Random(f"dii-stress {settings.seed} {story.id}")
        own = [part.text for part in story.parts]
        others = draw(rng, pools[story.split], settings.distractors, {part.photo for part in story.parts}, story.id)
        same += len(set(own) & set(others))
        order = list(range(len(own) + len(others)))  # of each place, which text; those of the story come first
        rng.shuffle(order)
        links = [(place, text) for place, text in enumerate(order) if text < len(own)]
        yield story.values([(own + others)[text] for text in order], links)
    build.report.count("captions of documents whose very words are among the distractors", same)


def _captions(story: Story) -> list[tuple[str, str]]:
    return [(part.text, part.photo) for part in story.parts]


def draw(rng: random.Random, pool: Spool[Any], count: int, without: Collection[str], name: str) -> list[str]:
    """Draw different captions, uniformly at random; two of them may have the same words."""
    each = len(pool[0]) if len(pool) else 0
    total = len(pool) * each
    chosen: dict[int, str] = {}
    for _ in range(TRIES * count if total else 0):
        if len(chosen) == count:
            break
        number = rng.randrange(total)
        text, photo = pool[number // each][number % each]
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
