"""Small made-up published data sets, each in its own layout, and what ``benchmarks/same_results.py`` runs on them.

No line of the packages is used here, so that two versions of them can be given the same files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from made_up import THINGS, picture, table, written

COMMANDS = {
    "train-hessel": """
        train hessel2019/assignment -c {in}/linked/corpus.jsonl -o model --set features.image=efficientnet-lite0 \
            --set dim=8 --set text.word_dim=8 --set training.epochs=2 --set training.batch=4
        evaluate model {in}/linked/corpus.jsonl --json --results scores.parquet
        evaluate no-training {in}/linked/corpus.jsonl --json --results other.parquet
        papers analyze correlation scores.parquet other.parquet --json
        papers analyze difficulty scores.parquet {in}/linked/corpus.jsonl --json --word-vectors {in}/linked/words.txt
        papers analyze examples model {in}/linked/corpus.jsonl --output examples.html
        papers analyze bias {in}/linked/corpus.jsonl --json
    """,
    "train-coherence": """
        papers build clue --source {in}/clue/clue.tsv -o clue.jsonl --images {in}/clue/images --only-found
        train alikhani2021/cmcm -c clue.jsonl -o model --set features.image=efficientnet-lite0 --set dim=8 \
            --set training.epochs=2
        evaluate model clue.jsonl --pool 5 --json
        papers analyze refinement model clue.jsonl --pool 3 --json
    """,
    "train-relations": """
        papers build clue --source {in}/clue/clue.tsv -o clue.jsonl --images {in}/clue/images
        train relations -c clue.jsonl -o model --set relations.folds=2
    """,
    "build-mscoco": "papers build mscoco -s {in}/coco -o mscoco.jsonl --seed 2",
    "build-story-dii": "papers build story-dii -s {in}/vist -o dii.jsonl --images {in}/vist/images",
    "build-story-sis": "papers build story-sis -s {in}/vist -o sis.jsonl --images {in}/vist/images",
    "build-dii-stress": (
        "papers build dii-stress -s {in}/vist -o stress.jsonl --images {in}/vist/images --distractors 4 --seed 1"
    ),
    "build-rqa": "papers build rqa -s {in}/recipeqa -o rqa.jsonl --images {in}/recipeqa/images --validation 0.2",
    "build-diy": "papers build diy -s {in}/reddit -o diy.jsonl --images {in}/reddit/images --test 0.3",
    "build-wiki": "papers build wiki -s {in}/clef -o wiki.jsonl --validation 0.2 --test 0.2",
    "build-clue": """
        papers build clue --source {in}/clue/clue.tsv -o clue.jsonl --images {in}/clue/images
        papers build clue --source {in}/clue/clue.tsv -o grouped.jsonl --once --group --only-found \
            --images {in}/clue/images --seed 2
    """,
    "build-cite": "papers build cite --source {in}/cite/cite.csv -o cite.jsonl --images {in}/cite/images",
    "build-multi-retrieval": (
        "papers build multi-retrieval -s {in}/released -o c.jsonl --images {in}/released/photos --compare MSCOCO"
    ),
    "reproduce-2": """
        papers reproduce 2 -c {in}/things/corpus.jsonl --only random --only DC --only AP --jobs 1 --json \
            --set features.image=features.npy --set dim=8 --set text.word_dim=4 --set training.epochs=1 \
            --set training.batch=12 --output out
    """,
    "reproduce-li": """
        papers reproduce li2021/3 -c {in}/things/corpus.jsonl --only without-both --only cross --jobs 1 --json \
            --seeds 2 --set features.image=features.npy --set dim=8 --set training.epochs=1 --set training.batch=12 \
            --set training.warmup_steps=1 --set text.heads=2 --set text.layers=1 --set *:image.kind=projection \
            --output out
    """,
    "reproduce-bias": """
        papers reproduce li2021/bias -c {in}/linked/corpus.jsonl --jobs 1 --json --output out --set dim=8 \
            --set text.word_dim=4 --set text.heads=2 --set text.layers=1 --set training.epochs=1 \
            --set training.batch=4 --set training.warmup_steps=1
    """,
    "reproduce-alikhani": """
        papers reproduce alikhani2021/4 -c {in}/related/pairs.jsonl --jobs 1 --json --set features.image=features.npy \
            --set dim=8 --set training.epochs=1 --output out
    """,
}
"""As in ``same_results``."""


def write_all(folder: Path) -> None:
    """Write every data set into a folder of its own below ``folder``."""
    mscoco(folder / "coco")
    vist(folder / "vist")
    recipeqa(folder / "recipeqa")
    reddit(folder / "reddit")
    imageclef(folder / "clef")
    clue(folder / "clue")
    cite(folder / "cite")
    released(folder / "released")


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
