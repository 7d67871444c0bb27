from __future__ import annotations

import json

import pytest

from iconotext.recipe import dump_recipe
from iconotext.train import train as train_model
from tests.support import program
from tests.support.shards import png, row, write_jsonl, write_tar
from tests.support.training import small_recipe, write_synthetic

MISSING = ("7-0", "7-2", "12-0", "12-1", "12-2")


run = program.run


@pytest.fixture
def corpus(tmp_path):
    """Three shards beside the whole; five pictures have no row in the table of features, all those of a document."""
    corpus = write_synthetic(tmp_path / "whole", 30)
    rows = json.loads(corpus.with_name("id2row.json").read_text())
    corpus.with_name("id2row.json").write_text(json.dumps({n: row for n, row in rows.items() if n not in MISSING}))
    lines = corpus.read_text().splitlines(keepends=True)
    (tmp_path / "shards").mkdir()
    for number in range(3):
        (tmp_path / "shards" / f"{number}.jsonl").write_text("".join(lines[10 * number : 10 * number + 10]))
    return corpus


@pytest.mark.slow
def test_features_of_shards_are_written_once_counted_and_trained_on(tmp_path, corpus):
    recipe = small_recipe(name="mine", features={"image": str(corpus.with_name("features.npy"))})
    (tmp_path / "mine.toml").write_text(dump_recipe(recipe))
    features = (tmp_path / "shards", "--recipe", tmp_path / "mine.toml", "-o", tmp_path / "features", "--workers", 1)
    done = json.loads(run("scale", "features", *features, "--json").stdout)
    assert (done["made"], done["documents"]["read"], done["documents"]["written"]) == (3, 30, 29)
    assert done["images"] == {"missing": 5, "read": 90, "usable": 85}
    assert done["reasons"] == {
        "document: without a picture that can be used": 1,
        "picture: not in the table of features": 5,
    }
    again = run("scale", "features", *features)
    assert "3 shards, 0 made now, 3 there before" in again.stdout
    assert "5 × picture: not in the table of features" in again.stdout
    other = run("scale", "features", *features, "--set", "text.max_tokens=7", status=1)
    assert "max_tokens" in other.stderr

    model = tmp_path / "model"
    told = run("train", tmp_path / "mine.toml", "--corpus", tmp_path / "features", "--output", model).stdout
    left = (
        "left out: 5 pictures that could not be used, 1 document without a sentence or a picture; documents that lack "
        "some of their pictures: 1"
    )
    assert left in told
    assert left in (model / "README.md").read_text()
    train_model(recipe, [corpus], tmp_path / "memory")
    streamed, whole = (json.loads((folder / "metrics.json").read_text()) for folder in (model, tmp_path / "memory"))
    assert streamed["left_out"] == whole["left_out"] == {"skipped": 1, "images_left_out": 5, "lacking": 1}


@pytest.mark.slow
def test_a_shard_without_its_tar_is_named_at_the_end(tmp_path):
    for name in ("0", "1"):
        write_jsonl(tmp_path / "shards" / f"{name}.jsonl", [row(n, [f"{n}.png", "a.png"]) for n in range(2)])
    write_tar(tmp_path / "shards" / "0.tar", {"0.png": png(0)})  # three of its four are not there
    command = ("scale", "duplicates", tmp_path / "shards", "-o", tmp_path / "hashes", "--workers", 1)
    told = run(*command).stderr.splitlines()
    assert told[-4] == "iconotext: 1: 4 pictures, none found"
    assert told[-3].startswith("iconotext: 1 shard without any picture: is a tar or folder missing beside it?")
    assert json.loads(run(*command, "--json").stdout)["pictureless"] == {"1": 4}
