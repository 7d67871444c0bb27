"""Documents in the layouts of RecipeQA, Reddit's r/DIY, VIST and ImageCLEF, for the builders of Hessel 2019.

    python packages/iconotext-papers/benchmarks/published_layouts.py FOLDER [--data DATA]
    iconotext papers build rqa --source FOLDER/recipeqa --output rqa.jsonl
    iconotext papers build diy --source FOLDER/reddit --output diy.jsonl --validation 0.1 --test 0.3
    iconotext papers build story-sis --source FOLDER/vist --output sis.jsonl
    iconotext papers build wiki --source FOLDER/imageclef --output wiki.jsonl

The papers' own files need a network. DATA (default: $ICONOTEXT_DATA) has other documents that people wrote:

- recipeqa: guides, recipes, diaries (``build``, ``cooking``, ``garden_home``, ``cited``). A paragraph or list item is
  a step, with the pictures that belong to any of its sentences. A third, by a digest of the id, is the validation part.
- reddit: sections of textbooks (``textbook``). The figures of a section are an album, with their authors' captions.
- vist: five pictures in their order, each with the sentence that belongs to it, from all of these documents. A document
  has a story for each five. A tenth of the documents is the validation part, a fifth the test part.
- imageclef: the sections of textbooks as articles, whose links nobody knows.

Pictures are links to the files of DATA.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import json
import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

GUIDES = ("build/documents.jsonl", "cooking/documents.jsonl", "garden_home/documents.jsonl", "cited/cited.jsonl")
TEXTBOOKS = "textbook/documents.jsonl"
PHOTOGRAPHS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=os.environ.get("ICONOTEXT_DATA", "../shared/data"))
    arguments = parser.parse_args()
    data = arguments.data.resolve() / "documents"
    guides = [document for name in GUIDES for document in documents(data / name)]
    textbooks = list(documents(data / TEXTBOOKS))
    recipeqa(guides, arguments.folder / "recipeqa")
    reddit(textbooks, arguments.folder / "reddit")
    vist(guides + textbooks, arguments.folder / "vist")
    imageclef(textbooks, arguments.folder / "imageclef")


def documents(path: Path) -> Iterator[dict[str, Any]]:
    """The documents of a corpus, with absolute paths of their pictures."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            document = json.loads(line)
            yield document | {"images": [path.parent / name for name in document["images"]]}


def share(document: dict[str, Any]) -> float:
    """A number from 0 to 1 that depends on the id of a document alone."""
    return int(digest(document["id"]), 16) / 16**12


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def picture(path: Path, folder: Path) -> str:
    """Link a picture into a folder under a name of digits, which Flickr and imgur both have; returns the name."""
    name = str(int(digest(str(path.relative_to(path.parents[2]))), 16))
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / f"{name}.jpg"
    if not link.is_symlink():
        link.symlink_to(path)
    return name


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def recipeqa(guides: list[dict[str, Any]], folder: Path) -> None:
    parts: dict[str, list[Any]] = {"train.json": [], "val.json": []}
    for document in guides:
        steps = []
        for _, numbers in groupby(range(len(document["sentences"])), key=lambda i: document["blocks"][i]):
            step = list(numbers)
            images = dict.fromkeys(image for sentence, image in document["links"] if sentence in step)
            names = [f"{picture(document['images'][image], folder / 'images')}.jpg" for image in images]
            steps.append({"title": "", "body": " ".join(document["sentences"][i] for i in step), "images": names})
        parts["val.json" if share(document) < 1 / 3 else "train.json"].append(
            {"recipe_id": document["id"], "context": steps}
        )
    for name, data in parts.items():
        write(folder / name, json.dumps({"data": data}))


def reddit(textbooks: list[dict[str, Any]], folder: Path) -> None:
    posts = []
    for document in textbooks:
        album = f"A{digest(document['id'])}"
        pictures = [picture(path, folder / "images") for path in document["images"]]
        containers = [
            f'<div id="{name}" class="post-image-container"><meta content="https://i.imgur.com/{name}.jpg">'
            f'<p class="post-image-description">{html.escape(caption or "")}</p></div>'
            for name, caption in zip(pictures, document["captions"], strict=True)
        ]
        write(
            folder / "albums" / f"{album}.html", "<!DOCTYPE html><html><body>" + "".join(containers) + "</body></html>"
        )
        post = {"id": album.lower(), "subreddit": "DIY", "title": document["id"], "score": 25}
        posts.append(post | {"url": f"https://imgur.com/a/{album}", "created_utc": 1_500_000_000})
    write(folder / "DIY_submissions.jsonl", "".join(json.dumps(post) + "\n" for post in posts))


def vist(texts: list[dict[str, Any]], folder: Path) -> None:
    parts: dict[str, list[Any]] = {"train": [], "val": [], "test": []}
    for document in texts:
        first: dict[int, int] = {}
        for sentence, image in sorted(document["links"]):
            first.setdefault(image, sentence)
        album = str(int(digest(document["id"]), 16))
        part = "val" if share(document) < 0.1 else "test" if share(document) < 0.3 else "train"
        order = sorted(first, key=lambda image: (first[image], image))
        for number in range(len(order) // PHOTOGRAPHS):
            for place, image in enumerate(order[number * PHOTOGRAPHS :][:PHOTOGRAPHS]):
                name = picture(document["images"][image], folder / "images")
                entry = {"album_id": album, "photo_flickr_id": name, "story_id": f"{album}-{number}"}
                text = document["sentences"][first[image]]
                parts[part].append([entry | {"worker_arranged_photo_order": place, "text": text}])
    for part, entries in parts.items():
        write(folder / f"{part}.story-in-sequence.json", json.dumps({"albums": [], "annotations": entries}))


def imageclef(textbooks: list[dict[str, Any]], folder: Path) -> None:
    for number, document in enumerate(textbooks, 1):
        paragraphs: dict[int, list[str]] = {}
        for sentence, block in zip(document["sentences"], document["blocks"], strict=True):
            paragraphs.setdefault(block, []).append(sentence)
        text = html.escape("\n\n".join(" ".join(paragraph) for paragraph in paragraphs.values()))
        article = f"<article><title>{html.escape(document['id'])}</title><text>{text}</text></article>"
        write(folder / "text" / "en" / "1" / f"{number}.xml", article)
        for path in document["images"]:
            name = picture(path, folder / "images" / "1")
            about = f'<caption article="text/en/1/{number}">A caption.</caption>'
            image = (
                f'<image file="images/1/{name}.jpg"><name>{name}.jpg</name><text xml:lang="en">{about}</text></image>'
            )
            write(folder / "metadata" / "1" / f"{name}.xml", image)


if __name__ == "__main__":
    main()
