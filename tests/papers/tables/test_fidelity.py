"""What a row says of itself: how it differs from the paper, and why it has no figures."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from iconotext.papers.published import published_tables
from iconotext.papers.tables import runner as module
from iconotext.papers.tables.comparison import Comparison, model_folder
from iconotext.papers.tables.rows import differing, find_table, table_rows
from iconotext.papers.tables.runner import reproduce
from iconotext.recipe import Recipe
from iconotext.report.tables import Bold, Footnote, Grid, Note, footnoted
from tests.support.tables import SMALL, Seen
from tests.support.training import write_synthetic

COLLAPSED = {
    "dense": {"epoch": 1, "learned": False, "why": "the loss stayed at 0.4"},
    "top-k": {"epoch": 2, "learned": True, "why": "the model is that of an earlier epoch"},
}

INPUTS = ["features.image=features.npy", "text.word_vectors=GoogleNews-vectors-negative300.bin.gz"]


def differences(table, key, overrides=(), *, width=None, seeds=1, dataset=None):
    published = find_table(table)
    rows = table_rows(published, overrides, dataset=dataset)
    row = next(row for row in rows if row.key == key)
    return differing(row, published, rows[-1].recipe, width=width, seeds=seeds)


def test_the_default_says_that_its_inputs_are_not_the_papers():
    assert differences("2", "dense") == [
        "image features efficientnet-lite0 (DenseNet169)", "word vectors random (GoogleNews word2vec)",
    ]  # fmt: skip
    assert differences("2", "random") == []
    assert differences("2", "object-detection", ["text.word_vectors=glove.txt"]) == [
        "image features efficientnet-lite0 (DenseNet169)", "word vectors glove.txt (GoogleNews word2vec)",
    ]  # fmt: skip


def test_object_detection_sees_with_a_classifier_and_reads_with_vectors_that_mean_something():
    assert differences("2", "object-detection", ["features.image=features.npy"], width=1664) == [
        "image features efficientnet-lite0 (DenseNet169)", "word vectors of a text backbone (GoogleNews word2vec)",
    ]  # fmt: skip


def test_the_papers_own_inputs_are_no_difference():
    assert differences("3", "dense", INPUTS, width=1664) == []
    assert differences("3", "dense", INPUTS, width=16) == ["image features features.npy, 16 numbers (DenseNet169)"]


def test_settings_are_compared_with_the_paper_and_where_it_is_silent_with_the_recipe():
    said = differences(
        "2", "dense", [*INPUTS, "dim=8", "training.epochs=2", "text.dropout_at=input"], width=1664, seeds=3
    )
    assert said == ["dim 8 (1024)", "text.dropout_at input (output by the recipe)", "training.epochs 2 (50)",
                    "3 seeds (one run)"]  # fmt: skip
    other = ["features.text=minilm", "text.kind=projection", "text.rescale=true"]
    said = differences("2", "dense", [*other, INPUTS[0]], width=1664)
    assert said == ["features.text minilm (words)", "text.kind projection (gru)", "text.rescale yes (no by the recipe)"]
    assert differences("S1", "dense", [*INPUTS, "training.batch=11"], width=1664) == ["training.batch 11 (21)"]


def test_data_sets_have_settings_of_their_own():
    regions = ["features.image=regions.tsv", "text.word_vectors=GoogleNews.bin"]
    rows = {row.key: row.recipe for row in table_rows(find_table("li2021/2"), dataset="MSCOCO")}
    training = rows["transformer"].training
    assert (training.learning_rate, training.warmup_steps, rows["transformer"].objective.p_sub) == (1e-5, 3000, 0.8)
    assert differences("li2021/2", "transformer", regions, dataset="MSCOCO") == []
    assert differences("li2021/2", "transformer", regions) == []
    base = next(row.recipe for row in table_rows(find_table("alikhani2021/4"), dataset="CITE++"))
    assert base.text.max_tokens == 200
    assert differences("alikhani2021/4", "cmca", ["features.image=microsoft/resnet-50"], dataset="CITE++") == []


def test_a_transferred_model_learns_as_the_data_set_that_it_learns_on_asks_for():
    regions = ["features.image=regions.tsv", "text.word_vectors=GoogleNews.bin"]
    rows = {row.key: row.recipe.training for row in table_rows(find_table("li2021/4"), dataset="Story-DII")}
    rates = {key: (training.learning_rate, training.warmup_steps) for key, training in rows.items()}
    assert rates == {"supervised-transformer": (1e-5, 3000), "transformer": (5e-5, 4000)}
    assert differences("li2021/4", "supervised-transformer", regions) == []
    said = differences("li2021/4", "supervised-transformer", [*regions, "training.learning_rate=5e-5"])
    assert said == ["training.learning_rate 5e-05 (1e-05)"]
    source = SimpleNamespace(images=None, documents=lambda split: [])
    both = table_rows(find_table("li2021/4"), regions)
    for name, told in (("flickr8k.jsonl", ["learned from flickr8k.jsonl (MSCOCO)"]), ("MSCOCO.jsonl", [])):
        of = Comparison(find_table("li2021/4"), both, Path("a.jsonl"), source, Path(), source=Path(name)).differing()
        assert of["1 Transfer"][:-1] == told
        assert len(of["2 Unsupervised"]) == 1  # the data alone


def test_fine_tuning_reads_20_words_of_wiki_and_50_of_the_others():
    table = find_table("fine-tuning")
    for dataset, words in (("WIKI", 20), ("RQA", 50), (None, 20)):
        fixed, tuned = (row.recipe for row in table_rows(table, ["features.image=a.npy"], dataset=dataset))
        assert (fixed.text.max_tokens, tuned.text.max_tokens) == (words, words)
        assert (fixed.features.image, tuned.features.image) == ("a.npy", "pixels")
    image = "image features efficientnet-lite0, trained along (NASNetSmall, which we take for NASNet Mobile)"
    assert differences("fine-tuning", "fine-tune", INPUTS, dataset="RQA") == [image]


def test_what_the_papers_say_are_keys_of_recipes():
    recipe = Recipe(name="any")
    for table in published_tables().values():
        for key in {**table.stated, **{key: 0 for each in table.by_dataset.values() for key in each}}:
            *above, last = key.rpartition(":")[2].split(".")
            assert above[:1] in ([], ["text"], ["image"]) or last in type(getattr(recipe, above[0])).model_fields, key


def test_footnotes_stand_below_and_rows_are_marked():
    notes = [
        Footnote("A, B: dim 8.", ["A", "B"]),
        Footnote("C: as it says.", ["C"]),
        Footnote("B failed.", ["B"], True),
    ]
    grids = [Grid("", ["", "x"], [["A", [Bold("1")]], ["B", [Bold("2")]], ["C", "3"]], ["own"]), Note("between"),
             Grid("", ["", "x"], [["Visible: B", "4"], ["other", "5"]])]  # fmt: skip
    first, note, second = footnoted(grids, notes)
    assert [row[0] for row in first.rows] == [["A", "¹"], ["B", "¹†"], ["C", "²"]]
    assert first.notes == ["¹ A, B: dim 8.", "² C: as it says.", "† B failed.", "own"]
    assert note is grids[1]
    assert [row[0] for row in second.rows] == [["Visible: B", "¹†"], "other"]
    assert second.notes == ["† B failed."]
    assert "| A ¹ | **1** |" in first.markdown()
    assert "| B ¹† | 2 |" in first.markdown()  # what does not count does not stand out
    assert '<th scope="row">B ¹†</th>' in first.html()


@pytest.mark.slow
@pytest.mark.training
def test_a_collapsed_run_has_no_figures_but_a_mark_and_its_reason(tmp_path, monkeypatch):
    def run(jobs, work, *, at_once, logs, watch):
        for key, job in jobs:
            module.work(job, lambda message: None)
            if key in COLLAPSED:
                path = model_folder(tmp_path / "out", key) / "metrics.json"
                path.write_text(json.dumps(json.loads(path.read_text()) | {"collapse": COLLAPSED[key]}))
        return {}

    monkeypatch.setattr(module, "run_jobs", run)
    corpus = write_synthetic(tmp_path / "c", 30)
    only = ["random", "dense", "top-k"]
    done = reproduce("2", corpus, tmp_path / "out", watch=Seen(), overrides=SMALL, only=only, dataset="MSCOCO")
    table = (tmp_path / "out/table.md").read_text()
    cells = [line.split("|") for line in table.splitlines() if line.startswith("| ")]
    rows = {name.strip(): auc.strip() for _, name, auc, *_ in cells}
    assert rows["DC ³†"] == "–"
    assert rows["TK ³†"] != "–"
    assert "† DC collapsed and has no figures here: the loss stayed at 0.4" in table
    assert "† TK collapsed: the model is that of an earlier epoch" in table
    assert done.results["collapsed"] == COLLAPSED
    assert [row["model"] for row in done.results["rows"]] == ["random", "top-k"]
    assert "data: corpus.jsonl, 18 / 6 / 6 documents" in table
    assert "training.epochs 2 (50)" in table
    assert "Other settings than the paper's" not in table
    assert "dim 8 (1024)" in done.results["differs"]["TK"]


@pytest.mark.slow
@pytest.mark.training
def test_a_corpus_without_gold_links_has_its_test_loss(tmp_path, monkeypatch):
    def run(jobs, work, *, at_once, logs, watch):
        for _, job in jobs:
            module.work(job, lambda message: None)
        return {}

    monkeypatch.setattr(module, "run_jobs", run)
    corpus = write_synthetic(tmp_path / "c", 30, links=False)
    calls = {"overrides": SMALL, "only": ["fixed"], "dataset": "WIKI"}
    done = reproduce("fine-tuning", corpus, tmp_path / "out", watch=Seen(), **calls)
    (row,) = done.results["rows"]
    assert row["auc"] is None
    assert 0 < row["test_loss"] < 1
    assert f"| – | {-row['test_loss']:.3f} | – | -0.26 |" in (tmp_path / "out/table.md").read_text()
