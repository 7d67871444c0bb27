"""Photographs with captions."""

from __future__ import annotations

import json


def write_lines(path, *values):
    path.write_text("\n".join(map(json.dumps, values)))
    return path


def write_album(folder, picture):
    """Forty photographs of noise with three captions each."""
    lines = []
    for i in range(40):
        picture(f"photos/{i}.png", seed=i, size=(16, 16))
        lines.append({"image": f"photos/{i}.png", "captions": [f"Picture {i}.", f"Number {i}.", f"Image {i}."]})
    return write_lines(folder / "captions.jsonl", *lines)
