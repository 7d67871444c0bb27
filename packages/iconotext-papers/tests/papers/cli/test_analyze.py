from __future__ import annotations

import json
import re

import numpy as np
import pytest

from iconotext.evaluate import Evaluation, Results, write_results
from tests.support.analyses import document_scores
from tests.support.program import printed as run


@pytest.fixture
def results(corpus, tmp_path):
    def make(model, **options):
        path = tmp_path / f"{model}.parquet"
        run("evaluate", model, corpus, "--results", path, *(x for pair in options.items() for x in pair))
        return path

    return make


@pytest.mark.slow
def test_correlation(results, corpus, tmp_path):
    files = [results("no-training"), results("random")]
    found = json.loads(run("papers", "analyze", "correlation", *files, "--json"))
    assert [(pair["models"], pair["documents"]) for pair in found["pairs"]] == [(["no-training", "random"], 6)]
    assert "Spearman" in run("papers", "analyze", "correlation", *files)
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(files[0].read_bytes())
    same = json.loads(run("papers", "analyze", "correlation", files[0], copy, "--json"))["pairs"]
    assert same == [{"models": ["no-training", "copy"], "spearman": pytest.approx(1), "documents": 6}]
    assert "named twice" in run("papers", "analyze", "correlation", files[0], files[0], status=1)
    assert "at least two" in run("papers", "analyze", "correlation", files[0], status=1)


@pytest.mark.slow
def test_difficulty(tmp_path, picture):
    random = np.random.default_rng(0)
    rows, records = [], []
    for n in range(12):
        for m in range(2):
            picture(f"{n}-{m}.png", seed=2 * n + m)
        images = [f"{n}-0.png", f"{n}-1.png"]
        rows.append({"id": f"d{n}", "sentences": [f"Word {n}.", f"A dog {n}."], "images": images, "links": [[0, 0]]})
        records.append(document_scores(f"d{n}", random.random(), 0.0, 0.2))
    rows[-1]["images"] = ["gone.png", "gone2.png"]
    path, file = tmp_path / "c.jsonl", tmp_path / "r.parquet"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_results(Results(Evaluation(tuple(records)), {"model": "m"}), file)
    arguments = ("papers", "analyze", "difficulty", file, path, "--dimensions", "2")
    found = json.loads(run(*arguments, "--json"))
    assert found["documents"] == 11  # of one, no picture can be read
    assert 0 <= found["spread"]["r2"] <= found["content"]["r2"] <= 1
    assert (found["spread"]["features"], found["content"]["features"]) == (2, 6)
    table = run(*arguments)
    assert "spread + content" in table
    vectors = tmp_path / "v.txt"
    vectors.write_text("word 1 0 1\ndog 0 1 1\n")
    with_vectors = run(*arguments, "--json", "--word-vectors", vectors, "--word-dim", "3")
    assert json.loads(with_vectors)["text_spread"] != found["text_spread"]
    assert "too few" in run("papers", "analyze", "difficulty", file, path, status=1)
    path.write_text(json.dumps(rows[0]))
    assert "lacks 11 of the documents" in run(*arguments, status=1)


@pytest.mark.slow
def test_examples(corpus, tmp_path):
    page = tmp_path / "page.html"
    run("papers", "analyze", "examples", "no-training", corpus, "--output", page, "--count", "3")
    text = page.read_text()
    assert text.count("<section") == 3
    assert "mean AUC" in text
    assert "exists" in run("papers", "analyze", "examples", "no-training", corpus, "--output", page, status=1)
    run("papers", "analyze", "examples", "random", corpus, "--output", page, "--document", "unknown", "--force")
    text = page.read_text()
    assert text.count("<section") == 1
    assert "links are unknown" in text
    assert "no document 'x'" in run(
        "papers", "analyze", "examples", "random", corpus, "--document", "x", "--output", tmp_path / "x.html", status=1
    )
    assert "object-detection" in run(
        "papers", "analyze", "examples", "object-detection", corpus, "-o", tmp_path / "x.html", status=1
    )


@pytest.mark.slow
def test_spread_needs_no_gold_links_and_shows_object_detection_beside_the_model(corpus, tmp_path):
    lines = [json.loads(line) | {"links": None} for line in corpus.read_text().splitlines()]
    unknown = corpus.with_name("unknown.jsonl")
    unknown.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    page = tmp_path / "spread.html"
    run("papers", "analyze", "spread", "random", unknown, "--output", page)
    text = page.read_text()
    levels = re.findall(r"<h2[^>]*>([^<]*)</h2>", text)
    assert [re.sub(r"(\w+) spread \(.*\), (random|object detection).*", r"\2 \1", each) for each in levels] == [
        f"{side} {level}" for level in ("High", "Middle", "Low") for side in ("random", "object detection")
    ]
    totals = [sum(map(float, re.findall(r"(?:images|text) ([\d.]+)", each))) for each in levels[::2]]
    assert totals == sorted(totals, reverse=True)
    assert "<h1>Links where spread is high, middle and low</h1>" in text
    assert "<title>Links where spread is high, middle and low: random</title>" in text
    assert "near that mean" not in text
    assert "Example links" not in text
    assert "exists" in run("papers", "analyze", "spread", "random", unknown, "--output", page, status=1)


def test_curves(tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "log.csv").write_text(
        "epoch,step,learning_rate,train_loss,validation_loss,validation_auc,seconds\n1,1,1,1,0.4,0.5,1\n2,2,1,1,0.3,,2\n"
    )
    run("papers", "analyze", "curves", tmp_path / "m", "--output", tmp_path / "c.svg")
    assert "<svg" in (tmp_path / "c.svg").read_text()
    assert "svg, png, pdf" in run(
        "papers", "analyze", "curves", tmp_path / "m", "--output", tmp_path / "c.txt", status=1
    )
    assert "cannot be read" in run("papers", "analyze", "curves", tmp_path / "gone", "-o", tmp_path / "d.svg", status=1)


@pytest.mark.slow
def test_bias(tmp_path, picture):
    rows = []
    for n in range(12):
        for m in range(2):
            picture(f"{n}-{m}.png", seed=2 * n + m)
        images = [f"{n}-0.png", f"{n}-1.png"]
        split = "test" if n % 2 else "train"
        rows.append({"id": f"d{n}", "split": split, "sentences": ["A.", "B."], "images": images, "links": [[0, 0]]})
    rows.append({"id": "gone", "split": "train", "sentences": ["A."], "images": ["no.png"], "links": [[0, 0]]})
    rows.append({"id": "none", "split": "train", "sentences": ["A."], "images": ["0-0.png"], "links": []})
    rows.append({"id": "unknown", "split": "train", "sentences": ["A."], "images": ["0-0.png"]})
    path, figure = tmp_path / "c.jsonl", tmp_path / "f.svg"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ("papers", "analyze", "bias", path)
    found = json.loads(run(*arguments, "--json"))
    assert found["documents"] == found["golds"] == 12
    assert found["evaluation"]["count"] == 12
    assert found["training"]["count"] == 12 * 11 * 2  # one batch: all images of the others
    assert 0 <= found["ks"] <= 1
    assert not list(tmp_path.glob("*.svg"))
    assert json.loads(run(*arguments, "--json", "--split", "test"))["documents"] == 6
    small = json.loads(run(*arguments, "--json", "--documents", "5", "--seed", "3"))
    assert small["documents"] <= 5
    assert small == json.loads(run(*arguments, "--json", "--documents", "5", "--seed", "3"))
    assert json.loads(run(*arguments, "--json", "--batch", "3"))["training"]["count"] == 12 * 2 * 2
    text = run(*arguments, "--output", figure)
    assert "Kolmogorov–Smirnov test: D = " in text
    assert figure.read_text().startswith("<?xml")
    assert "exists already" in run(*arguments, "--output", figure, status=1)
    run(*arguments, "--output", figure, "--json", "--force")
    assert "svg, png, pdf" in run(*arguments, "--output", tmp_path / "f.txt", status=1)
    assert "documents" in run(*arguments, "--documents", "1", status=2)
    assert "batch" in run(*arguments, "--batch", "1", status=2)
    assert "No such option" in run(*arguments, "--k", "1", status=2)
    assert "no documents with the split validation" in run(*arguments, "--split", "validation", status=1)
    path.write_text(json.dumps(rows[-1]))
    assert "no document has gold links" in run(*arguments, "--json", status=1)
    path.write_text(json.dumps(rows[0]))
    assert "needs two or more" in run(*arguments, "--json", status=1)
