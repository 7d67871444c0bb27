"""``iconotext corpus build`` for the data sets of Hessel 2019 that need no captions of MSCOCO, as people run it."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from PIL import Image as Pillow

from iconotext import read_corpus
from papers.support.recipeqa import files, names_in, pictures, recipe
from papers.support.stories import DII_FILE, FIVE, OTHERS, SIS_FILE, THIRD, described, photos, told, vist
from tests.support import program

run = partial(program.run, "papers", "build")


def reddit(folder):
    """Four posts with an album of two pictures each."""
    for name in ("albums", "images"):
        (folder / name).mkdir(parents=True)
    posts = []
    for number in range(4):
        post = {"id": f"p{number}", "subreddit": "DIY", "score": 20 + 5 * number, "created_utc": 1357000000}
        posts.append(json.dumps(post | {"url": f"https://imgur.com/a/Alb{number}"}) + "\n")
        divs = ""
        for picture in range(2):
            name = f"Pict{number}{picture}"
            divs += (
                f'<div id="{name}" class="post-image-container"><p class="post-image-description">'
                f"Caption {picture} has five words.</p></div>"
            )
            noise = np.random.default_rng([number, picture]).integers(0, 256, (8, 8, 3), np.uint8)
            Pillow.fromarray(noise).resize((64, 64)).save(folder / "images" / f"{name}.png")
        (folder / "albums" / f"Alb{number}.html").write_text(f"<html><body>{divs}</body></html>")
    (folder / "RS_2013-01.jsonl").write_text("".join(posts))


def image_clef(folder):
    """An article with three pictures, and one that is too short."""
    for name in ("metadata/1", "text/en/1", "images/1"):
        (folder / name).mkdir(parents=True)
    for number in range(3):
        (folder / f"metadata/1/{number}.xml").write_text(
            f'<image id="{number}" file="images/1/{number}.jpg"><name>P{number}.jpg</name><text xml:lang="en">'
            '<caption article="text/en/1/1">x</caption></text></image>'
        )
        Pillow.new("RGB", (8, 8)).save(folder / f"images/1/{number}.jpg")
    (folder / "text/en/1/1.xml").write_text(" ".join(f"Sentence {number} is here." for number in range(12)))
    (folder / "text/en/1/2.xml").write_text("Too short.")


def recipe_qa(folder):
    training, validation = [recipe(f"r{i}") for i in range(8)], [recipe("v")]
    files(folder, training, validation)
    pictures(folder.with_name("pictures"), *names_in(*training, *validation))


def stories(folder):
    vist(folder, DII_FILE, described("a", FIVE, 2) + described("b", OTHERS), described("c", THIRD), inside="dii")
    vist(folder, SIS_FILE, told("a", FIVE, "1"), told("c", THIRD, "2"), inside="sis")
    photos(folder.with_name("pictures"), *FIVE, *OTHERS, *THIRD)


SOURCES = {"diy": reddit, "wiki": image_clef, "rqa": recipe_qa}


@pytest.fixture
def working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "options", "documents", "shown"),
    [
        ("diy", [], 3, ["about 241,000", "score below 25"]),
        ("diy", ["--min-score", 0], 4, ["about 241,000"]),
        ("wiki", [], 1, ["237,434", "fewer than 3 images"]),
        ("rqa", ["--images", "pictures"], 9, ["(7 train, 1 validation, 1 test)", "6,502", "88K"]),
        ("rqa", ["--pictures", "names", "--validation", 0], 9, []),
        ("story-dii", ["--images", "pictures"], 4, ["documents: train", "published"]),
        ("story-sis", ["--images", "pictures"], 2, ["documents: train", "published"]),
        ("dii-stress", ["--images", "pictures", "--distractors", 0, "--text", "text", "--seed", 3], 4, []),
    ],
)
def test_each_writes_a_corpus_and_a_report_beside_the_published_sizes(working_folder, name, options, documents, shown):
    SOURCES.get(name, stories)(working_folder / "source")
    command = [name, "-s", "source", "-o", "c.parquet", "--workers", 1, *options]
    result = run(*command)
    assert result.stdout == ""
    assert [text for text in shown if text not in result.stderr] == []
    assert len(list(read_corpus(working_folder / "c.parquet"))) == documents
    # Its settings are what a build is recognised by when it goes on: pictures of another folder are other pictures.
    settings = json.loads((working_folder / "c.report.json").read_text())["settings"]
    assert "--images" not in options or settings["images"] == "pictures"
    assert "option force" in run(*command, status=1).stderr
    run(*command, "--force")


@pytest.mark.parametrize(
    ("name", "options", "status", "message"),
    [
        ("diy", ["-s", "source/images"], 1, "RS_2013-01.zst"),
        ("wiki", ["-s", "source/images"], 1, "there (https://www.imageclef.org/wikidata)"),
        ("rqa", ["-s", "source"], 1, "unpack images.zip from https://hucvl.github.io/recipeqa/"),
        ("story-dii", ["-s", "gone"], 1, "no such file or folder"),
        ("story-dii", ["-s", "pictures"], 1, "train.description-in-isolation.json is neither in it"),
        ("story-dii", ["-s", "source"], 1, "has none of the 15 photographs"),
        ("dii-stress", ["-s", "source", "--images", "pictures"], 1, "--distractors 5"),
        ("diy", ["-s", "source", "--first", "2013"], 2, "--first"),
        ("wiki", ["-s", "source", "--pictures", "3"], 2, "No such option"),
        ("rqa", ["-s", "source", "--validation", "1"], 2, "--validation"),
        ("rqa", ["-s", "source", "--pictures", "none"], 2, "--pictures"),
        ("story-dii", ["-s", "source", "--words", "1"], 2, "No such option"),
        ("story-dii", ["-s", "source", "--text", "title"], 2, "--text"),
    ],
)
def test_what_is_wrong_is_said_and_writes_nothing(working_folder, name, options, status, message):
    SOURCES.get(name, stories)(working_folder / "source")
    error = run(name, *options, "-o", "c.jsonl", status=status).stderr
    assert message in error
    assert status == 2 or error.count("\n") == 1
    assert {path.name for path in working_folder.iterdir()} <= {"source", "pictures"}
