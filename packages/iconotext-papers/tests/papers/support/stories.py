"""Trees in the layout of the Visual Storytelling Dataset."""

from __future__ import annotations

import json

from PIL import Image

DII_FILE = "description-in-isolation.json"


SIS_FILE = "story-in-sequence.json"


def caption(album, photo, place, text=None, **more):
    """An annotation of the tier DII, with the fields and in the list of one that are published."""
    text = f"A photo {photo} of album {album}." if text is None else text
    return [
        {
            "original_text": text,
            "album_id": album,
            "photo_flickr_id": photo,
            "photo_order_in_story": place,
            "worker_id": "W1",
            "text": text.lower().replace(".", " ."),
            "tier": "descriptions-in-isolation",
        }
        | more
    ]


def sentence(album, photo, place, story, text=None, **more):
    """An annotation of the tier SIS."""
    text = f"We saw {photo} in story {story}." if text is None else text
    return [
        {
            "original_text": text,
            "album_id": album,
            "photo_flickr_id": photo,
            "setting": "first-2-pick-and-tell",
            "worker_id": "W1",
            "story_id": story,
            "tier": "story-in-sequence",
            "worker_arranged_photo_order": place,
            "text": text.lower(),
            "storylet_id": f"{story}{place}",
        }
        | more
    ]


def told(album, photos, story):
    return [sentence(album, photo, place, story) for place, photo in enumerate(photos)]


def described(album, photos, versions=1):
    """As published: one run of five after the other."""
    return [
        caption(album, photo, place, f"Version {version} of {photo}.")
        for version in range(1, versions + 1)
        for place, photo in enumerate(photos)
    ]


def vist(folder, kind, train, val=(), test=(), albums=(), inside=""):
    """The three files of a tier, with all that the published ones have at their top."""
    for split, entries in (("train", train), ("val", val), ("test", test)):
        path = folder / inside / f"{split}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        value = {
            "images": [{"id": "1", "album_id": "a", "datetaken": "2004-11-27 10:40:46", "license": "1"}],
            "info": {"description": "VIST", "version": "1.0", "contributor": ["x"]},
            "albums": [{"id": id, "title": title, "description": ""} for id, title in albums],
            "type": "dii",
            "annotations": list(entries),
        }
        path.write_text(json.dumps(value))
    return folder


def photos(folder, *names):
    for number, name in enumerate(names):
        path = folder / (name if "." in name.rpartition("/")[2] else f"{name}.jpg")
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (number % 256, 99, 7)).save(path)


FIVE = ["11", "12", "13", "14", "15"]


OTHERS = ["21", "22", "23", "24", "25"]


THIRD = ["31", "32", "33", "34", "35"]
