from __future__ import annotations

import json
import shutil
import sys
from functools import partial

import numpy as np
import pytest

from iconotext import read_corpus
from iconotext.cli.commands import inside
from iconotext.corpus.store import write_corpus
from iconotext.errors import CorpusError, OutputError
from tests.support import program
from tests.support.shards import write_tar

run = partial(program.run, "corpus")


def corpus(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def row(name, *images, **more):
    return {"id": name, "sentences": ["A.", "B."], "images": list(images), "links": [[0, 0]], **more}


def features(folder, image, value=1.0):
    """A table of features with a row for one image."""
    np.save(folder / "features.npy", np.full((1, 3), value, np.float32))
    (folder / "id2row.json").write_text(json.dumps({image: 0}))


@pytest.mark.parametrize(("command", "shown"), [([], "Commands"), (["build"], "pairs")])
def test_without_a_command_there_is_help(command, shown):
    result = run(*command, status=2)
    assert shown in result.output


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["check", "stats", "convert", "split", *(f"build {name}" for name in inside("corpus build"))]
)
def test_help_shows_examples(command):
    result = run(*command.split(), "--help")
    assert f"iconotext corpus {command}" in " ".join(result.output.split())


def test_check_of_a_good_corpus(tmp_path, picture):
    picture("a.png")
    result = run("check", corpus(tmp_path / "c.jsonl", row("a", "a.png")))
    assert "1 document, nothing wrong" in result.stdout


def test_check_shows_twenty_problems_and_counts_the_rest(tmp_path):
    path = corpus(tmp_path / "c.jsonl", *(row(f"d{i}", f"{i}.png") for i in range(25)))
    result = run("check", path, status=1)
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"{path}, line 1, field images.0: not found")
    assert len([line for line in lines if "not found" in line]) == 20
    assert "and 5 more" in lines[20]
    assert lines[-1].endswith("25 documents, 25 problems")
    found = json.loads(run("check", path, "--json", status=1).stdout)
    assert len(found["problems"]) == 25
    assert found["problems"][0].keys() == {"place", "field", "message"}
    assert (found["documents"], found["format"]) == (25, "jsonl")


def test_check_may_leave_pictures_closed(tmp_path):
    (tmp_path / "a.png").write_text("no picture")
    path = corpus(tmp_path / "c.jsonl", row("a", "a.png"))
    run("check", path, status=1)
    run("check", path, "--no-pictures")


@pytest.mark.parametrize("command", ["check", "stats", "convert", "split"])
def test_a_corpus_that_is_not_there(tmp_path, command):
    more = {"convert": [tmp_path / "x.jsonl"], "split": ["--output", tmp_path / "x.jsonl"]}.get(command, [])
    result = run(command, tmp_path / "gone.jsonl", *more, status=1)
    assert "gone.jsonl: no such file" in result.stderr
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_stats(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    first = corpus(tmp_path / "[bold]a.jsonl", row("a", "x", "y", split="train"), row("b", "x", split="test"))
    second = corpus(tmp_path / "b.jsonl", row("a", "x") | {"links": None})
    result = run("stats", first, second)
    assert "[bold]a.jsonl" in result.stdout
    assert "1/0/1" in result.stdout
    assert "2/1.5" in result.stdout
    assert "33.3\u00a0%" in result.stdout  # 2 links of 4 + 2
    assert "N/A" in result.stdout
    assert "the links of 1 of 1 document are not known" in result.stdout
    numbers = json.loads(run("stats", first, second, "--json").stdout)
    assert [n["corpus"] for n in numbers] == [str(first), str(second)]
    assert numbers[0]["density"] == pytest.approx(1 / 3)
    assert numbers[0]["splits"] == {"train": 1, "test": 1}


def test_convert_between_formats(tmp_path, picture):
    picture("img/a.png")
    path = corpus(tmp_path / "c.jsonl", row("a", "img/a.png", split="train", captions=["C"]))
    result = run("convert", path, tmp_path / "out/c.parquet")
    assert result.stdout == ""
    (document,) = read_corpus(tmp_path / "out/c.parquet")
    assert (document.id, document.links, document.images[0].source) == ("a", ((0, 0),), "../img/a.png")
    again = run("convert", path, tmp_path / "out/c.parquet", status=1)
    assert "the option force" in again.stderr
    run("convert", path, tmp_path / "out/c.parquet", "--force")
    wrong = run("convert", path, tmp_path / "c.csv", status=1)
    assert "c.csv: a corpus is written as a file .jsonl or .parquet" in wrong.stderr


def test_convert_into_shards_and_what_goes_with_it(tmp_path, picture):
    for name in ("a", "b"):
        picture(f"img/{name}.png", seed=ord(name))
    path = corpus(tmp_path / "out/c.jsonl", row("a", "../img/a.png"), row("b", "../img/b.png", "gone.png"))
    done = run("convert", path, tmp_path / "shards", "--to", "shards", "--size", "1")
    assert "2 documents in 2 shards, 2 pictures" in done.stderr
    assert "1 picture not at hand: named only" in done.stderr
    again = run("convert", tmp_path / "shards/00001.parquet", tmp_path / "again.jsonl")
    assert "1 picture in rows or in a tar: named only; --to shards takes them along" in again.stderr
    for options, message in (
        (["--size", "1"], "--size is for shards: add --to shards"),
        (["--to", "shards", "--force"], "--force does not go with --to shards"),
        (["--to", "shards"], "shards: is there already"),
    ):
        wrong = run("convert", path, tmp_path / "shards", *options, status=1)
        assert message in wrong.stderr


def test_check_tells_images_that_are_no_file_and_no_row(tmp_path):
    path = corpus(tmp_path / "c.jsonl", row("a", "x", "y"))
    features(tmp_path, "x")
    result = run("check", path, status=1)
    message = f"not found: {tmp_path / 'y'}, and id2row.json beside the corpus has no row for it"
    assert f"line 1, field images.1: {message}" in result.stdout
    assert "2 problems" not in result.stdout


@pytest.mark.slow
def test_several_corpora_are_checked(tmp_path, picture):
    picture("a.png")
    good = corpus(tmp_path / "good.jsonl", row("a", "a.png"))
    bad = corpus(tmp_path / "bad.jsonl", row("a", "b.png"))
    result = run("check", bad, good, status=1)
    assert result.stdout.splitlines()[-2:] == [
        f"{bad} (jsonl): 1 document, 1 problem",
        f"{good} (jsonl): 1 document, nothing wrong",
    ]
    found = [json.loads(line) for line in run("check", good, bad, "--json", status=1).stdout.splitlines()]
    assert [len(each["problems"]) for each in found] == [0, 1]
    run("check", good, good)


def test_split(tmp_path, picture):
    rows = []
    for i in range(30):
        picture(f"{i // 2}.png", seed=i // 2)
        rows.append(row(f"d{i}", f"{i // 2}.png", split="train"))
    path = corpus(tmp_path / "c.jsonl", *rows)
    result = run("split", path, "--output", tmp_path / "out/s.jsonl", "--validation", "0.2", "--test", "0.2")
    assert "30 documents (18 train, 6 validation, 6 test)" in result.stderr
    run("check", tmp_path / "out/s.jsonl")
    assert [d.id for d in read_corpus(tmp_path / "out/s.jsonl")] == [f"d{i}" for i in range(30)]
    run("split", path, "--output", tmp_path / "out/s.jsonl", status=1)
    run("split", path, "--output", tmp_path / "x.jsonl", "--validation", "1", status=1)


@pytest.mark.parametrize("packed", ["shards", "webdataset"])
def test_shards_are_checked_divided_and_put_together(tmp_path, picture, packed):
    source = tmp_path / packed
    data = [picture(f"{n}.png", seed=n).read_bytes() for n in range(4)]
    rows = [row(f"d{n:02}", f"{n % 4}.png") for n in range(12)]  # four pictures, in three documents each
    if packed == "shards":
        run("convert", corpus(tmp_path / "c.jsonl", *rows), source, "--to", "shards", "--size", 5)
    for number in range(3 if packed == "webdataset" else 0):
        some = range(number * 4, number * 4 + 4)
        members = {f"d{n:02}.json": json.dumps({**rows[n], "images": ["png"]}).encode() for n in some}
        members |= {f"d{n:02}.png": data[n % 4] for n in some}
        write_tar(source / f"{number}.tar", dict(sorted(members.items())))
    checked = [json.loads(line) for line in run("check", source, "--json").stdout.splitlines()]
    assert [each["documents"] for each in checked] == ([5, 5, 2] if packed == "shards" else [4, 4, 4])
    assert "12 documents (6 train, 3 validation, 3 test)" in run(
        "split", source, "-o", tmp_path / "divided", "--validation", 0.25, "--test", 0.25
    ).stderr  # fmt: skip
    assert [path.name for path in sorted((tmp_path / "divided").iterdir())] == [f"0000{n}.parquet" for n in range(3)]
    run("convert", tmp_path / "divided", tmp_path / "whole", "--to", "shards")
    found = list(read_corpus(tmp_path / "whole/00000.parquet"))
    assert [(d.id, d.images[0].file) for d in found] == [(f"d{n:02}", data[n % 4]) for n in range(12)]
    assert all(len({d.split for d in found if d.images[0].file == one}) == 1 for one in data)
    last = sorted(source.iterdir())[-1]
    shutil.copy(last, source / last.name.replace("2", "9"))
    twice = [line for line in run("check", source, status=1).stdout.splitlines() if "is also the id of" in line]
    assert len(twice) == (2 if packed == "shards" else 4)
    assert "divided: it is a folder" in run("split", source, "-o", tmp_path / "divided", status=1).stderr


@pytest.mark.parametrize("kind", ["tar", "table", "beside"])
def test_a_corpus_with_its_pictures_in_it_is_divided_into_shards(tmp_path, picture, kind):
    data = [picture(f"{n}.png", seed=n).read_bytes() for n in range(3)]
    rows = [row(f"d{n}", f"{n}.png") for n in range(3)]
    source = corpus(tmp_path / "in/c.jsonl", *rows)
    write_tar(tmp_path / "in/c.tar", {f"{n}.png": data[n] for n in range(3)})
    if kind == "table":
        run("convert", source, tmp_path / "table", "--to", "shards")
        source = tmp_path / "table/00000.parquet"
    elif kind == "tar":
        samples = {f"d{n}.json": json.dumps({**rows[n], "images": ["png"]}).encode() for n in range(3)}
        source = write_tar(
            tmp_path / "s.tar", dict(sorted({**samples, **{f"d{n}.png": data[n] for n in range(3)}}.items()))
        )
    for name in ("s.jsonl", "s.parquet"):
        told = run("split", source, "-o", tmp_path / name, status=1).stderr
        assert "has its pictures in rows or in a tar, so name a new folder for shards" in told
    run("split", source, "-o", tmp_path / "out", "--validation", 0, "--test", 0)
    found = list(read_corpus(tmp_path / "out/00000.parquet"))
    assert [(d.id, d.split, d.images[0].file) for d in found] == [(f"d{n}", "train", data[n]) for n in range(3)]


def test_shards_that_cannot_be_read_are_told_and_the_others_are_looked_at(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/1.parquet").write_bytes(b"no table")
    corpus(tmp_path / "in/2.jsonl", row("a", "gone.png"))
    (tmp_path / "in/3.tar").write_bytes(b"no tar")
    checked = [json.loads(line) for line in run("check", tmp_path / "in", "--json", status=1).stdout.splitlines()]
    assert [(each["format"], each["documents"], len(each["problems"])) for each in checked] == [
        (None, 0, 1),
        ("jsonl", 1, 1),
        (None, 0, 1),
    ]
    told = run("check", tmp_path / "in", status=1).stdout
    assert f"{tmp_path}/in/3.tar, all of it: no tar that can be read" in told
    assert f"{tmp_path}/in/2.jsonl, line 1, field images.0: not found" in told


def test_a_strange_corpus_takes_no_files_from_elsewhere(tmp_path, picture):
    private = picture("private.png")
    picture("in/ab:/own.png")
    names = [str(private), "../private.png", "ab:/../../private.png"]
    write_tar(tmp_path / "in/s.tar", {"a.json": json.dumps(row("a", *names, "ab:/own.png")).encode()})
    corpus(tmp_path / "shards/s.jsonl", row("a", *names))
    (tmp_path / "shards/ab:").mkdir()
    for number, source in enumerate((tmp_path / "in/s.tar", tmp_path / "in", tmp_path / "shards")):
        assert "0 pictures" in run("convert", source, tmp_path / f"out{number}", "--to", "shards").stderr
        if number:
            assert "0 pictures" in run("split", source, "-o", tmp_path / f"split{number}").stderr
        told = run("check", source, status=1).stdout
        where = "leads out of the folder" if source.name == "shards" else "not found in "
        assert told.count(where) == 2
    own = list(read_corpus(tmp_path / "shards/s.jsonl"))  # one's own corpus may
    assert own[0].images[0].file == private


def test_samples_are_read_to_the_place_where_they_are_cut_off(tmp_path, picture):
    data = picture("a.png").read_bytes()
    tar = write_tar(tmp_path / "c.tar", {"a.txt": b"A dog. A cat.", "a.png": data, "b.txt": b"A tree.", "c.png": data})
    result = run("check", tar, status=1).stdout.splitlines()
    assert result == [
        f"{tar}, sample 3, c: neither a .txt nor a .json with sentences, or with texts and images",
        "note: 1 documents without images: they take no part in training",
        f"{tar} (webdataset): 3 documents, 1 problem",
    ]
    write_tar(tmp_path / "odd.tar", {"a.txt": b"A dog.", "a.png": data, "../b.png": data})
    odd = run("check", tmp_path / "odd.tar", status=1).stdout
    assert "odd.tar: 1 member refused: a name that leads out of the archive" in odd
    tar.write_bytes(tar.read_bytes()[: -3 * 512 - len(data)])
    assert "cannot be read on: c.tar: " in run("check", tar, status=1).stdout
    with pytest.raises(CorpusError, match=r"cannot be read on: c\.tar"):
        list(read_corpus(tar))
    with pytest.raises(OutputError, match=r"written as a file \.jsonl or \.parquet"):
        write_corpus([], tmp_path / "d.tar")


def test_progress_is_shown_on_terminals_only(tmp_path, monkeypatch):
    path = corpus(tmp_path / "c.jsonl", row("a", "x"))
    assert run("stats", path).stderr == ""
    from iconotext.cli.corpus import document_total

    assert document_total(path) == 0
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert document_total(path) == 1
