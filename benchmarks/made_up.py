"""Small made-up inputs for the commands: documents, photographs, corpora.

No line of the package is used here, so that two versions of it can be given the same files.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

THINGS = "dog cat tram bridge cake door river tower bench apple train wheel".split()
DIM = 16


def write_all(folder: Path) -> None:
    """Write every input into a folder of its own below ``folder``."""
    articles(folder / "articles")
    linked_documents(folder / "linked")
    things(folder / "things")
    related_pairs(folder / "related")
    captions(folder / "captions")
    mmc4(folder / "mmc4")
    obelics(folder / "obelics")


def picture(path: Path, seed: int, size: tuple[int, int] = (96, 80)) -> None:
    """A photograph of nothing, smooth enough to survive JPEG, and another one for every seed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    small = np.random.default_rng(seed).integers(0, 256, (6, 6, 3), dtype=np.uint8)
    Image.fromarray(small).resize(size, Image.Resampling.BICUBIC).save(path)


def lines(path: Path, rows: Iterable[Any]) -> None:
    """A JSON value a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def table(folder: Path, names: Sequence[str], values: np.ndarray[Any, Any]) -> None:
    """Features of images: ``features.npy`` and ``id2row.json``."""
    np.save(folder / "features.npy", values.astype(np.float32))
    written(folder / "id2row.json", json.dumps({name: row for row, name in enumerate(names)}))


def articles(folder: Path) -> None:
    """Markdown and HTML with captions, references to figures, a repeated picture, an icon and a missing picture."""
    picture(folder / "icon.png", 1, (12, 12))
    for number in range(4):
        mine = THINGS[3 * number : 3 * number + 3]
        for place, thing in enumerate(mine):
            picture(folder / f"img/{thing}.png", 10 * number + place)
        blocks = [f"# About a {mine[0]}\n\nThis page has three pictures. Figure 2 shows the {mine[1]} from above."]
        for place, thing in enumerate(mine):
            blocks += [
                f"Here we look at a {thing} in the morning. It was a long way to get there.",
                f"![A {thing} in the sun](img/{thing}.png)",
                f"*Figure {place + 1}: the {thing} as we found it.*",
            ]
        blocks += ["![](icon.png)", "![gone](img/gone.png)", f"In the end we took the {mine[2]} home."]
        written(folder / f"{number}.md", "\n\n".join(blocks) + "\n")
    figures = "".join(
        f'<p>The {thing} comes number {place}.</p><figure><img src="img/{thing}.png" alt="{thing}">'
        f"<figcaption>One {thing}, seen from the left.</figcaption></figure>"
        for place, thing in enumerate(THINGS[:4])
    )
    written(folder / "page.html", f"<html><body><h1>Things</h1>{figures}<p>That was all.</p></body></html>")


def linked_documents(folder: Path) -> None:
    """A corpus of documents with pictures, captions, places and gold links."""
    rows = []
    for number in range(48):
        mine = [THINGS[(number + 5 * place) % len(THINGS)] for place in range(3)]
        sentences = [f"We saw a {thing} on day {number}." for thing in mine] + ["Then it rained.", "Nobody came."]
        for place in range(3):
            picture(folder / f"img/{number}-{place}.png", 100 * number + place)
        rows.append(
            {
                "id": f"d{number}",
                "split": ("train", "train", "validation", "test")[number % 4],
                "sentences": sentences,
                "blocks": [0, 2, 4, 4, 6],
                "images": [f"img/{number}-{place}.png" for place in range(3)],
                "positions": [1, 3, 5],
                "captions": [f"A {mine[0]} by the road", None, f"The {mine[2]}"],
                "links": [[place, place] for place in range(3)],
                "meta": {"language": "en"},
            }
        )
    lines(folder / "corpus.jsonl", rows)
    vectors = np.random.default_rng(3).normal(size=(len(THINGS), 300))
    words = [" ".join([thing, *(f"{value:.5f}" for value in row)]) for thing, row in zip(THINGS, vectors, strict=True)]
    written(folder / "words.txt", f"{len(words)} 300\n" + "\n".join(words) + "\n")


def things(folder: Path) -> None:
    """A corpus that can be learned: an image shows one of a few things, a sentence names one. Features, no pictures."""
    rng = np.random.default_rng(0)
    looks = np.random.default_rng(7).normal(size=(len(THINGS), DIM))
    rows, features, names = [], [], []
    for number in range(60):
        chosen, order = rng.permutation(len(THINGS))[:4], rng.permutation(4)
        own = [f"{number}-{place}" for place in range(3)]
        names += own
        features.append(looks[chosen[:3]] + 0.1 * rng.normal(size=(3, DIM)))
        rows.append(
            {
                "id": f"d{number}",
                "split": ("train", "train", "train", "validation", "test")[number % 5],
                "sentences": [f"a {THINGS[chosen[place]]} and word{rng.integers(5)} here" for place in order],
                "images": own,
                "links": [[int(np.flatnonzero(order == place)[0]), place] for place in range(3)],
            }
        )
    lines(folder / "corpus.jsonl", rows)
    table(folder, names, np.concatenate(features))


def related_pairs(folder: Path) -> None:
    """Text-image pairs with coherence relations that can be learned, half of them of Clue and half of CITE."""
    rng = np.random.default_rng(0)
    looks = np.random.default_rng(7).normal(size=(len(THINGS), DIM))
    rows, features, names = [], [], []
    for number in range(160):
        thing, story, action, meta = int(rng.integers(len(THINGS))), *(bool(rng.integers(2)) for _ in range(3))
        features.append(looks[thing] + action + 0.1 * rng.normal(size=DIM))
        names.append(f"i{number}")
        words = ["once upon a time" if story else "here is", THINGS[thing], "today" if meta else "", f"w{number % 5}"]
        answers = {"Visible": not story, "Story": story, "Action": action, "Meta": None if number % 3 == 0 else meta}
        rows.append(
            {
                "id": f"p{number}",
                "split": ("train", "train", "train", "validation", "test")[number % 5],
                "sentences": [" ".join(filter(None, words))],
                "images": [f"i{number}"],
                "links": [[0, 0]],
                "relations": answers,
            }
        )
    lines(folder / "pairs.jsonl", rows)
    table(folder, names, np.array(features))


def captions(folder: Path) -> None:
    """Photographs with three captions each, one of them no picture at all."""
    for number in range(60):
        picture(folder / f"photos/{number}.png", number, (72, 72))
    written(folder / "photos/7.png", "no picture")
    lines(
        folder / "captions.jsonl",
        (
            {
                "image": f"photos/{number}.png",
                "captions": [f"A {THINGS[number % 12]}, photo {number}.", f"Number {number} is here.", "Something."],
            }
            for number in range(60)
        ),
    )


def mmc4(folder: Path) -> None:
    """Two shards, one of them in an archive: a broken line, a page without images, two pages of one address."""

    def page(number: int, images: int = 2, sentences: int = 3) -> str:
        infos = [
            {
                "image_name": f"{number:04}{i}.png",
                "raw_url": f"https://host.example/{number}/{i}.png",
                "face_detections": None,
                "matched_text_index": i % sentences,
                "matched_sim": 0.2 + 0.1 * i,
            }
            for i in range(images)
        ]
        value = {
            "text_list": [f"Sentence {i} of the {THINGS[number]}." for i in range(sentences)],
            "image_info": infos,
            "similarity_matrix": [[0.25] * sentences] * images,
            "could_have_url_duplicate": 0,
            "url": f"https://page.example/{number}",
        }
        return json.dumps(value) + "\n"

    written(folder / "docs_no_face_shard_1_v3.jsonl", page(1) + "{broken\n" + page(2, images=0) + page(1) + page(3))
    with zipfile.ZipFile(folder / "docs_no_face_shard_0_v3.jsonl.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("docs_no_face_shard_0_v3.jsonl", page(1) + page(4) + page(5))
    for number in (1, 4):
        picture(folder / f"images/{number:04}0.png", number)


def obelics(folder: Path) -> None:
    """A shard of pages of texts and images, one of them without images."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number in range(6):
        shown = [f"https://a.example/{number}/{each}.jpg" for each in range(2 if number != 3 else 0)]
        pieces: list[Any] = [f"A title\n\nThis is the {THINGS[number]}. A second sentence, of 3.5 metres!"]
        for address in shown:
            entry = {"document_url": f"https://a.example/p{number}", "unformatted_src": address, "src": address}
            pieces += [entry | {"alt_text": "A café", "original_width": 640}, "More of it.\n\nAnd more."]
        rows.append(
            {
                "images": [piece["src"] if isinstance(piece, dict) else None for piece in pieces],
                "metadata": json.dumps([piece if isinstance(piece, dict) else None for piece in pieces]),
                "general_metadata": json.dumps({"url": f"https://a.example/p{number}", "warc_filename": "1.warc.gz"}),
                "texts": [piece if isinstance(piece, str) else None for piece in pieces],
            }
        )
    text = pa.string()
    schema = pa.schema(
        [
            ("images", pa.list_(text)),
            ("metadata", text),
            ("general_metadata", text),
            ("texts", pa.list_(text)),
        ]
    )
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / "train-00000-of-01335.parquet")
