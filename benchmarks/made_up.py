"""Small made-up inputs for every command: documents, photographs, and each published data set in its own layout.

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
import zstandard
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
    mscoco(folder / "coco")
    vist(folder / "vist")
    recipeqa(folder / "recipeqa")
    reddit(folder / "reddit")
    imageclef(folder / "clef")
    clue(folder / "clue")
    cite(folder / "cite")
    mmc4(folder / "mmc4")
    obelics(folder / "obelics")
    released(folder / "released")


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


def mscoco(folder: Path) -> None:
    """One annotation file of 2017 with its pictures; one picture is missing."""
    numbers = range(1, 111)
    value = {
        "info": {"description": "COCO Dataset", "year": 2017},
        "licenses": [{"id": 1, "name": "Attribution", "url": "http://creativecommons.org/licenses/by/2.0/"}],
        "images": [
            {"license": 1, "file_name": f"{i:012}.jpg", "id": i, "height": 8, "width": 8, "coco_url": "http://x"}
            for i in numbers
        ],
        "annotations": [
            {"image_id": i, "id": 10 * i + c, "caption": f"Caption {c} of \n  picture {i}. "}
            for c in range(5)
            for i in numbers
        ],
    }
    written(folder / "annotations/captions_train2017.json", json.dumps(value))
    for i in numbers:
        if i != 17:
            picture(folder / f"train2017/{i:012}.jpg", i, (8, 8))


def vist(folder: Path) -> None:
    """Albums of five photographs, described and told, in the files of the Visual Storytelling Dataset."""
    described: dict[str, list[Any]] = {"train": [], "val": [], "test": []}
    told: dict[str, list[Any]] = {"train": [], "val": [], "test": []}
    for album in range(15):
        split = ("train", "train", "train", "val", "test")[album % 5]
        photos = [f"{album}{place:02d}" for place in range(5)]
        for photo in photos:
            if photo != "703":
                picture(folder / f"images/{photo}.jpg", int(photo), (16, 16))
        for version in range(1, 3):
            described[split] += [
                [
                    {
                        "original_text": f"Version {version} of {THINGS[(album + place) % 12]} {photo}.",
                        "album_id": str(album),
                        "photo_flickr_id": photo,
                        "photo_order_in_story": place,
                        "worker_id": "W1",
                        "text": f"version {version} of {photo} .",
                        "tier": "descriptions-in-isolation",
                    }
                ]
                for place, photo in enumerate(photos)
            ]
        told[split] += [
            [
                {
                    "original_text": f"We saw {photo} in story {album}.",
                    "album_id": str(album),
                    "photo_flickr_id": photo,
                    "setting": "first-2-pick-and-tell",
                    "worker_id": "W1",
                    "story_id": str(album),
                    "tier": "story-in-sequence",
                    "worker_arranged_photo_order": place,
                    "text": f"we saw {photo} .",
                    "storylet_id": f"{album}{place}",
                }
            ]
            for place, photo in enumerate(photos)
        ]
    for tier, name, entries in (
        ("dii", "description-in-isolation", described),
        ("sis", "story-in-sequence", told),
    ):
        for split, entry in entries.items():
            value = {
                "images": [{"id": "1", "album_id": "0", "datetaken": "2004-11-27 10:40:46", "license": "1"}],
                "info": {"description": "VIST", "version": "1.0", "contributor": ["x"]},
                "albums": [{"id": str(album), "title": f"Album {album}", "description": ""} for album in range(15)],
                "type": tier,
                "annotations": entry,
            }
            written(folder / tier / f"{split}.{name}.json", json.dumps(value))


def recipeqa(folder: Path) -> None:
    """Questions about recipes of three steps, in the two files that are public; one picture is missing."""
    for file, count in (("train", 12), ("val", 4)):
        questions = []
        for number in range(count):
            name = f"{file}{number}"
            steps = [
                {
                    "id": step,
                    "title": f"Step {step}",
                    "body": f"Do {step} of {name}. Then wait.",
                    "images": [f"{name}_{step}_0.jpg"],
                    "videos": [],
                }
                for step in range(3)
            ]
            for step in range(3):
                if (file, number, step) != ("train", 5, 1):
                    picture(folder / f"images/{name}_{step}_0.jpg", len(name) * 1000 + 10 * number + step, (16, 16))
            questions += [
                {
                    "recipe_id": name,
                    "context": steps,
                    "qid": f"{number}-{task}",
                    "task": task,
                    "question_text": "Choose the best image",
                    "question": ["@placeholder", f"{name}_1_0.jpg"],
                    "choice_list": [f"{name}_0_0.jpg"],
                    "answer": 0,
                    "split": file,
                }
                for task in ("visual_cloze", "textual_cloze")
            ]
        written(folder / f"{file}.json", json.dumps({"version": "1.0", "data": questions}))


def reddit(folder: Path) -> None:
    """Posts to r/DIY in two of pushshift's files, pages of their albums, and the pictures; some break a rule."""
    posts = []
    for number in range(12):
        album = f"Alb{number:02d}"
        posts.append(
            {
                "id": f"p{number}",
                "subreddit": "pics" if number == 3 else "DIY",
                "score": 20 if number == 4 else 30 + number,
                "url": f"http://imgur.com/a/{album}",
                "title": f"My {THINGS[number]} &amp; I",
                "created_utc": 1357000000 + 3_000_000 * (number // 6),
            }
        )
        body = ""
        for place in range(3):
            name = f"Pic{number:02d}{place}"
            if (number, place) != (5, 1):
                picture(folder / f"images/{name}.jpg", 50 * (number if number != 7 else 6) + place, (64, 48))
            said = f"This is step {place} of the {THINGS[number]}." if number != 8 else ""
            body += (
                f'<div id="{name}" class="post-image-container" itemscope itemtype="http://schema.org/ImageObject">'
                f'<div class="post-image"><a href="//i.imgur.com/{name}.jpg"><img src="//i.imgur.com/{name}.jpg" '
                'itemprop="contentURL"></a></div><div class="post-image-meta">'
                f'<p class="post-image-description" itemprop="description">{said}</p></div></div>'
            )
        written(folder / f"albums/{album}.html", f"<html><body>{body}</body></html>")
    for month, part in (("01", posts[:6]), ("02", posts[6:])):
        text = "".join(json.dumps(post) + "\n" for post in part).encode()
        (folder / f"RS_2013-{month}.zst").write_bytes(zstandard.ZstdCompressor().compress(text))


def imageclef(folder: Path) -> None:
    """Articles and the metadata of their pictures in the folders of ImageCLEF's Wikipedia collection."""
    head = '<?xml version="1.0" encoding="UTF-8" ?>\n'
    for number in range(12):
        place = f"{number // 7}/{number}"
        said = " ".join(f"This is sentence number {each} of it." for each in range(number, number + 10))
        markup = f"[[Image:Picture {3 * number}.jpg|thumb|x]] '''Thing''' is [[a thing|one]]. {said}"
        if number == 5:
            markup = "Too short."
        written(folder / f"text/en/{place}.xml", markup)
        for each in range(3 * number, 3 * number + 3):
            caption = f'<caption article="text/en/{place}">A caption.</caption>' if each % 3 else ""
            written(
                folder / f"metadata/{each // 10}/{each}.xml",
                f'{head}<image id="{each}" file="images/{each // 10}/{each}.jpg"><name>Picture_{each}.jpg</name>'
                f'<text xml:lang="en"><description /><comment />{caption}</text></image>',
            )
            picture(folder / f"images/{each // 10}/{each}.jpg", each, (16, 16))


def clue(folder: Path) -> None:
    """A table of captions with relations: a pair twice, a broken line, an address without a picture."""
    head = "caption\turl\tVisible\tSubjective\tAction\tStory\tMeta\tIrrelevant\tOther\tWhen\tWhere\tHow\tComment"
    rows = [head]
    for number in range(40):
        labels = "".join(str(int((number >> bit) & 1)) for bit in range(6))
        address = f"http://a.example/{number % 35}.jpg"
        rows.append("\t".join([f"A {THINGS[number % 12]} number {number}", address, *labels, *"0000", ""]))
    rows += [rows[3], "too few\tcolumns"]
    written(folder / "clue.tsv", "\n".join(rows) + "\n")
    for number in range(30):
        picture(folder / f"images/{number}.jpg", number, (16, 16))


def cite(folder: Path) -> None:
    """A table of steps of recipes with answers: a short row, an empty text, a picture that is missing."""
    head = "|Index|q10_resp|q1_resp|q2_resp|q3_resp|q4_resp|q5_resp|q6_resp|q7_resp|q8_resp|q9_resp|qimg|stim_id"
    rows = [head + "|stim_txt|complement"]
    for number in range(40):
        answers = [("True", "False", "")[(number + bit) % 3] for bit in range(7)]
        said = " &#160; " if number == 9 else f"Bake the {THINGS[number % 12]} at {number}&#8734;F."
        values = [number, 7, "", "the cake", *answers, "", f"cake_{number % 30}_0.jpg", f"{number}_1", said, ""]
        rows.append("|".join(map(str, values)))
    rows.append("3|short")
    written(folder / "cite.csv", "\n".join(rows) + "\n")
    for number in range(25):
        picture(folder / f"images/train/cake_{number}_0.jpg", number, (16, 16))


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


def released(folder: Path) -> None:
    """A data set in the layout of the archives that were released with Hessel 2019."""
    folder.mkdir(parents=True, exist_ok=True)
    docs: dict[str, list[Any]] = {"train": [], "val": [], "test": []}
    names = []
    for number in range(10):
        own = [f"{number:06}{place}" for place in range(2)]
        names += own
        texts = [[f"A {THINGS[number]}.", 0], ["Café.", 1], ["Four people.", -1]]
        docs[("train", "train", "val", "test")[number % 4]].append(
            [[[own[0], 0], [own[1], 1]], texts, f"story{number}"]
        )
        picture(folder / f"photos/{own[0]}.png", number, (16, 16))
    written(folder / "docs.json", json.dumps(docs))
    table(folder, names, np.arange(2.0 * len(names)).reshape(-1, 2))
