from __future__ import annotations

import json
import re
import shutil
import tarfile
from pathlib import Path

import pytest
from rich.console import Console

from iconotext import read_corpus
from iconotext.corpus.shards import documents_of, rows_of
from iconotext.errors import CorpusError
from tests.support import program
from tests.support.object_store import bucket, running
from tests.support.program import printed as run
from tests.support.shards import write_tar


@pytest.fixture
def server(monkeypatch):
    yield from running(monkeypatch)


@pytest.mark.parametrize("model", ["no-training", "random"])
def test_json_has_the_format_of_the_documentation(corpus, model):
    found = json.loads(run("evaluate", model, corpus, "--json"))
    assert (found["model"], found["corpus"], found["split"]) == (model, str(corpus), None)
    assert (found["documents"], found["undefined"]) == (8, 2)
    assert found["undefined_documents"] == ["unknown", "none"]
    for metric in ("auc", "p@1", "p@5", "image@1"):
        low, high = found["intervals"][metric]
        assert 0 <= low <= found[metric] <= high <= 1
    assert found["p@5"] == pytest.approx(found["p@5"])


def test_equal_runs_give_equal_figures(corpus):
    assert run("evaluate", "random", corpus, "--json") == run("evaluate", "random", corpus, "--json")
    assert run("evaluate", "random", corpus, "--json", "--seed", 1) != run("evaluate", "random", corpus, "--json")


def test_a_split(corpus):
    found = json.loads(run("evaluate", "random", corpus, "--split", "test", "--json"))
    assert (found["split"], found["documents"], found["undefined"]) == ("test", 4, 1)
    assert "no documents with the split train" in run("evaluate", "random", corpus, "--split", "train", status=1)
    run("evaluate", "random", corpus, "--split", "nonsense", status=2)


@pytest.mark.slow
def test_table_results_and_comparison(corpus, tmp_path):
    file = tmp_path / "random.parquet"
    table = run("evaluate", "random", corpus, "--results", file)
    assert "AUC" in table
    assert "6 documents" in table
    assert re.search(r"the gold links are unknown: 1 \(unknown\)", table)
    assert re.search(r"it has no gold links: 1 \(none\)", table)
    assert "exists" in run("evaluate", "random", corpus, "--results", file, status=1)
    run("evaluate", "random", corpus, "--results", file, "--force")
    table = run("evaluate", "no-training", corpus, "--compare", file)
    assert "no-training minus random" in table
    by_file = json.loads(run("evaluate", "no-training", corpus, "--compare", file, "--json"))
    by_name = json.loads(run("evaluate", "no-training", corpus, "--compare", "random", "--json"))
    assert by_file == by_name
    assert by_file["comparison"]["model"] == "random"
    assert set(by_file["comparison"]["auc"]) == {"difference", "interval", "p"}
    same = json.loads(run("evaluate", "random", corpus, "--compare", file, "--json"))["comparison"]
    assert (same["auc"]["difference"], same["auc"]["p"]) == (0, 1)
    assert "different documents" in run("evaluate", "random", corpus, "--split", "test", "--compare", file, status=1)


@pytest.mark.slow
def test_where_nothing_can_be_measured_it_says_why(corpus, tmp_path):
    rows = [json.loads(line) for line in corpus.read_text().splitlines()]
    addresses = tmp_path / "addresses.jsonl"
    there = [row | {"images": [f"https://a.example/{name}" for name in row["images"]]} for row in rows]
    addresses.write_text("".join(json.dumps(row) + "\n" for row in there))
    said = run("evaluate", "no-training", addresses, status=1)
    assert said.count("cannot be seen and still count") == 3
    assert "and 5 more documents: 14 of 14 pictures in all" in said
    assert "none of 14 pictures could be looked at" in said
    run("evaluate", "no-training", addresses, "--evidence", "layout,caption,picture")
    assert "AUC" in run("evaluate", "random", addresses)
    unknown = tmp_path / "unknown.jsonl"
    unknown.write_text("".join(json.dumps({**row, "links": None}) + "\n" for row in rows))
    said = run("evaluate", "random", unknown, status=1)
    assert "none of 8 documents can be measured (8 because " in said
    assert "--pool" in said


def test_a_narrow_terminal_breaks_no_figures(corpus, monkeypatch):
    monkeypatch.setattr("iconotext.cli.output.output_console", lambda **_: Console(width=60))
    lines = run("evaluate", "random", corpus).splitlines()
    tables = [number for number, line in enumerate(lines) if line.startswith("Model ")]
    assert [name for number in tables for name in lines[number].split()[1:]] == ["AUC", "p@1", "p@5", "image@1"]
    assert len(tables) == 2
    for number in tables:
        assert re.fullmatch(r"random( +\d+\.\d \(\d+\.\d–\d+\.\d\))+ *", lines[number + 1])


@pytest.mark.slow
def test_evidence(corpus):
    found = run("evaluate", "no-training", corpus, "--evidence", "layout,caption", "--json")
    assert found != run("evaluate", "no-training", corpus, "--json")


@pytest.mark.slow
def test_a_picture_that_is_missing_counts_and_is_told(tmp_path, picture):
    picture("a.png", seed=1)
    row = {"id": "d", "sentences": ["A.", "B."], "images": ["a.png", "gone.png"], "links": [[0, 0]]}
    (tmp_path / "c.jsonl").write_text(json.dumps(row))
    for model in ("no-training",):
        result = program.run("evaluate", model, tmp_path / "c.jsonl", "--json")
        assert json.loads(result.stdout)["documents"] == 1
        assert "'d': 1 of 2 pictures cannot be seen and still count: not found" in result.stderr


@pytest.mark.slow
def test_shards_give_the_figures_of_their_corpus(corpus, tmp_path):
    known = json.loads(run("evaluate", "no-training", corpus, "--split", "test", "--json"))
    with tarfile.open(tmp_path / "00000.tar", "w") as tar:
        for number in range(4):
            tar.add(corpus.parent / f"img/{number}.png", f"img/{number}.png")
    run("corpus", "convert", corpus, tmp_path / "shards", "--to", "shards", "--size", "3")
    beside = corpus.rename(tmp_path / "00000.jsonl")
    shutil.rmtree(corpus.parent / "img")
    for shard in (beside, tmp_path / "shards"):
        found = json.loads(run("evaluate", "no-training", shard, "--split", "test", "--json"))
        assert found == {**known, "corpus": str(shard)}
    assert len(list((tmp_path / "shards").iterdir())) == 3
    shutil.copy(tmp_path / "shards/00000.parquet", tmp_path / "shards/again.parquet")
    twice = run("evaluate", "no-training", tmp_path / "shards", status=1)
    assert re.search(r"again\.parquet: 'd0' is also the id of a document in .*00000\.parquet", twice)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/_run.json").touch()
    assert "name the shards that they were made of" in run("corpus", "stats", tmp_path / "linked", status=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_samples_in_tars_and_shards_of_a_store_give_the_figures_of_their_corpus(corpus, tmp_path, server):
    known = json.loads(run("evaluate", "no-training", corpus, "--split", "test", "--json"))
    rows = [json.loads(line) for line in corpus.read_text().splitlines()]
    members: dict[str, bytes] = {}
    for each in rows:
        for number, name in enumerate(each["images"]):
            members[f"{each['id']}.{number}.png"] = (tmp_path / name).read_bytes()
        members[f"{each['id']}.json"] = json.dumps({k: v for k, v in each.items() if k != "images"}).encode()
    write_tar(tmp_path / "packed/0.tar", members)
    shutil.copy(corpus, tmp_path / "beside.jsonl")
    for source, names in (("loose", ("beside.jsonl", "img")), ("packed", ("packed",))):
        for path in (each for name in names for each in (tmp_path / name, *(tmp_path / name).rglob("*"))):
            if path.is_file():
                bucket().pipe_file(f"s3://bucket/{source}/{path.relative_to(tmp_path)}", path.read_bytes())
    for place in (tmp_path / "packed", "s3://bucket/packed", "s3://bucket/loose/beside.jsonl"):
        found = json.loads(run("evaluate", "no-training", place, "--split", "test", "--json"))
        assert found == {**known, "corpus": found["corpus"]}
    run("corpus", "split", "s3://bucket/loose", "-o", tmp_path / "split", "--validation", 0, "--test", 0)
    assert len(list(read_corpus(tmp_path / "split/00000.parquet"))) == len(rows)
    assert "s3://bucket/packed/packed/0.tar: lies in a store" in run("corpus", "check", "s3://bucket/packed", status=1)
    bucket().pipe_file("s3://bucket/broken.jsonl", b'{"id": 1}\n{"id": 2}\n')
    with pytest.raises(CorpusError, match=r"s3://bucket/broken\.jsonl, line 1"):
        list(rows_of(Path("s3://bucket/broken.jsonl")))
    with pytest.raises(CorpusError, match=r"s3://bucket/broken\.jsonl: line 1"):
        list(documents_of(Path("s3://bucket/broken.jsonl")))
    write_tar(tmp_path / "odd.tar", {"../out.png": b"", "in.png": b""})
    for name, data in (("broken.tar", (tmp_path / "odd.tar").read_bytes()), ("r.tar", b"no tar")):
        bucket().pipe_file(f"s3://bucket/{name}", data)
    with pytest.raises(CorpusError, match=r"s3://bucket/broken\.jsonl: line 1"):  # and not the member that is refused
        list(documents_of(Path("s3://bucket/broken.jsonl")))
    bucket().pipe_file("s3://bucket/r.jsonl", corpus.read_bytes())
    with pytest.raises(CorpusError, match=r"r\.jsonl: s3://bucket/r\.tar: no tar that can be read"):
        next(documents_of(Path("s3://bucket/r.jsonl")))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-training", "gone.jsonl"], r"gone\.jsonl: no such file"),
        (["no-training", "empty.jsonl"], "no documents"),
        (["no-training", "bad.jsonl"], "line 1"),
        (["no-training", "good.jsonl", "--draws", "5"], "--draws is for retrieval: add --pool"),
        (["random", "good.jsonl", "--compare", "gone.parquet"], r"gone\.parquet: cannot be read"),
        (["random", "good.jsonl", "--compare", "good.parquet"], "not a Parquet file"),
    ],
)
def test_known_errors_are_one_line(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    Path("empty.jsonl").write_text("")
    Path("bad.jsonl").write_text("{}\n")
    Path("good.jsonl").write_text('{"id": "a", "sentences": [], "images": []}\n')
    Path("good.parquet").write_text("no")
    assert re.search(message, program.error_line("evaluate", *arguments))


def test_wrong_usage():
    run("evaluate", "no-training", status=2)
    assert "iconotext: --evidence" in run("evaluate", "no-training", "good.jsonl", "--evidence", "smell", status=2)
