"""Photographs of noise with a document, and a relation model that says what its tests expect."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from iconotext.relations import RELATIONS
from tests.support.images import noise

NAMES = tuple(relation.name for relation in RELATIONS)


class Told:
    """A relation model for which every text that begins with "Yesterday" tells a story."""

    name = "told"
    relations = NAMES

    def text_logits(self, texts):
        return np.array([[3.0 * text.startswith("Yesterday") - 1] * len(NAMES) for text in texts], np.float32)

    def image_offsets(self, pooled):
        assert pooled.shape[1] == 1280
        return np.zeros((len(pooled), len(NAMES)), np.float32)


def write_photos(folder: Path) -> Path:
    (folder / "walk").mkdir(parents=True)
    for seed, name in enumerate(("0.png", "1.png", "2.png", "walk/tram.png")):
        (folder / name).write_bytes(noise(seed))
    (folder / "walk" / "walk.md").write_text(
        "# A walk\n\nYesterday a red tram came by.\n\n![A red tram](tram.png)\n\nWe took it home.\n"
    )
    return folder
