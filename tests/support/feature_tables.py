"""Tables of features for tests, as other programs write them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np


def write_feature_table(path: Path, sources, chunks, *, dim: int, force: bool = False) -> None:
    """Write ``features.npy``, and ``id2row.json`` beside it; ``force`` replaces them."""
    assert force or not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    array = np.concatenate([np.zeros((0, dim), np.float32), *chunks])
    assert array.shape == (len(sources), dim)
    np.save(path, array)
    path.with_name("id2row.json").write_text(json.dumps({source: row for row, source in enumerate(sources)}))
