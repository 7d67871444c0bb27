"""Trees in the original layout of MSCOCO."""

from __future__ import annotations

import json
import random

from PIL import Image


def write_annotations(path, numbers, *, edition="2017", part="train", captions=5, images_last=False, **more):
    """A file of captions of photographs ``numbers``, as the editions write it."""
    before = f"COCO_{part}2014_" if edition == "2014" else ""
    value = {
        "info": {"description": "COCO Dataset", "year": int(edition), "nested": {"images": [1]}},
        "licenses": [{"id": 1, "name": "Attribution", "url": "http://creativecommons.org/licenses/by/2.0/"}],
        "images": [
            {
                "license": 1,
                "file_name": f"{before}{i:012}.jpg",
                "id": i,
                "height": 4,
                "width": 4,
                "coco_url": "http://x",
            }
            for i in numbers
        ],
        "annotations": [
            {"image_id": i, "id": 10 * i + c, "caption": f"Caption {c} of \n  picture {i}. "}
            for c in range(captions)
            for i in reversed(numbers)
        ],
        **more,
    }
    if images_last:
        value["images"] = value.pop("images")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def photograph(folder, name):
    folder.mkdir(parents=True, exist_ok=True)
    Image.frombytes("RGB", (8, 8), random.Random(name).randbytes(192)).save(folder / name)


def coco(root, count=110):
    """Photographs 1 to ``count`` in one annotation file of 2017 with their pictures."""
    write_annotations(root / "annotations/captions_train2017.json", range(1, count + 1))
    for i in range(1, count + 1):
        photograph(root / "train2017", f"{i:012}.jpg")
    return root
