"""What a row says of itself: how it differs from the paper, and why it has no figures."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from iconotext.errors import SettingError
from iconotext.recipe import Recipe
from iconotext.relations import CLUE
from iconotext.report.tables import Bold, Footnote, Grid, Note, footnoted
from iconotext.train.checkpoint import flat
from iconotext_papers.published import published_tables
from iconotext_papers.tables.comparison import Comparison, model_folder
from iconotext_papers.tables.link_sections import compared_rows
from iconotext_papers.tables.rows import chosen_rows, differing, find_table, table_rows
from iconotext_papers.tables.runner import reproduce
from papers.support.tables import SMALL, Seen
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


PICTURES = "image features efficientnet-lite0 (DenseNet169)"
SENTENCES = ["features.text=minilm", "text.kind=projection"]
REGIONS = ["features.image=regions.tsv", "text.word_vectors=GoogleNews.bin"]


@pytest.mark.parametrize(
    ("table", "key", "overrides", "more", "lines"),
    [
        ("2", "random", [], {}, []),
        ("2", "dense", [], {}, [PICTURES, "word vectors random (GoogleNews word2vec)"]),
        # The paper's own inputs are no difference, by their names or by the length of their vectors.
        ("3", "dense", INPUTS, {"width": 1664}, []),
        ("3", "dense", INPUTS, {"width": 16}, ["image features features.npy, 16 numbers (DenseNet169)"]),
        ("li2021/2", "transformer", REGIONS, {"width": 2048, "dataset": "Story-DII"}, []),
        # Object detection sees with a classifier, which a table has not, and reads with vectors that mean something.
        ("2", "object-detection", ["features.image=features.npy"], {"width": 1664},
         [PICTURES, "word vectors of a text backbone (GoogleNews word2vec)"]),
        ("2", "object-detection", ["text.word_vectors=glove.txt"], {},
         [PICTURES, "word vectors glove.txt (GoogleNews word2vec)"]),
        ("2", "object-detection", [*SENTENCES, "features.image=densenet169.npy"], {"width": 1664},
         [PICTURES, "word vectors of minilm (GoogleNews word2vec)"]),
        # Settings are compared with the paper and, where it is silent, with the recipe.
        ("2", "dense", [*INPUTS, "dim=8", "training.epochs=2", "text.dropout_at=output"], {"width": 1664, "seeds": 3},
         ["dim 8 (1024, §4)", "text.dropout_at output (input by the recipe)", "training.epochs 2 (50, §4)",
          "3 seeds (number not mentioned)"]),
        ("2", "dense", [*SENTENCES, "text.rescale=true", INPUTS[0]], {"width": 1664},
         ["features.text minilm (words, §3.1)", "text.kind projection (gru, §3.1)",
          "text.rescale yes (no by the recipe)"]),
        ("S1", "dense", [*INPUTS, "training.batch=11"], {"width": 1664}, ["training.batch 11 (21)"]),
    ],
)  # fmt: skip
def test_differences_of_a_row_from_the_paper(table, key, overrides, more, lines):
    assert differences(table, key, overrides, **more) == lines


def test_how_often_a_paper_trained_is_compared_with_the_seeds():
    assert "3 seeds (three tests, appendix A)" in differences("alikhani2021/5", "cmca", seeds=3)


def test_a_row_that_would_be_the_same_as_another_one_is_an_error():
    key, kinds = "assignment-sentence-gru", SENTENCES
    (row,) = chosen_rows(table_rows(find_table("3"), extra=[key]), [key])
    assert row.recipe.text.sentence_gru
    rows = table_rows(find_table("3"), kinds, extra=[key])
    assert key not in [row.key for row in chosen_rows(rows, [])]
    with pytest.raises(SettingError, match=r"is about text\.sentence_gru, which the sentence encoder"):
        chosen_rows(rows, [key])
    with pytest.raises(SettingError, match=r"row words-10 is about text\.max_tokens"):
        chosen_rows(table_rows(find_table("alikhani2021/fig8"), kinds), [])


def test_regions_with_vectors_of_another_length_are_not_the_papers():
    (line,) = differences("li2021/2", "transformer", REGIONS, width=256, dataset="Story-DII")
    assert line.startswith("image features regions.tsv, 256 numbers (36 regions")


def test_models_are_compared_with_hard_negatives_where_a_table_has_both_kinds():
    for table, keys in (
        ("2", ["dense", "top-k", "assignment"]),
        ("S1", ["dense-hard", "top-k-hard", "assignment-hard"]),
    ):
        rows = compared_rows(SimpleNamespace(rows=table_rows(find_table(table))))
        assert [row.key for row in rows.values()] == keys


def test_a_transferred_model_learns_as_the_data_set_that_it_learns_on_asks_for():
    said = differences("li2021/4", "supervised-transformer", [*REGIONS, "training.learning_rate=5e-5"])
    assert said[0] == "training.learning_rate 5e-05 (1e-05)"
    source = SimpleNamespace(images=None, documents=lambda split: [])
    both = table_rows(find_table("li2021/4"), REGIONS)
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
    assert image in differences("fine-tuning", "fine-tune", INPUTS, dataset="RQA")


# By hand from the texts of the papers, without a look at the tables of the program.
SAID = {
    "Hessel et al. 2019": {
        "dim": 1024, "features.text": "words", "text.kind": "gru", "text.word_dim": 300, "text.dropout": 0.4,
        "image.dropout": 0.4, "objective.kind": "hinge", "objective.margin": 0.2, "training.epochs": 50,
        "training.learning_rate": 0.0001, "training.schedule": "plateau", "training.factor": 5, "training.patience": 3,
        "training.choose": "loss",
    },
    "Li et al. 2021": {
        "dim": 1024, "features.text": "words", "text.word_dim": 300, "objective.kind": "hinge", "objective.margin": 0.2,
        "training.batch": 11, "training.schedule": "plateau", "training.factor": 5, "training.patience": 3,
    },
    "Alikhani et al. 2021": {
        "dim": 1024, "features.text": "words", "text.kind": "lstm", "text.word_dim": 300, "image.batch_norm": True,
        "objective.kind": "hinge", "objective.margin": 0.3, "objective.negatives": "hardest", "training.epochs": 20,
        "training.learning_rate": 0.0001, "training.choose": "median-rank",
    },
}  # fmt: skip
TOKENS = {"2": 20, "3": 50, "S1": 20, "S2": 20, "S3": 50, "S4": 50}  # Hessel 2019, §5
NEGATIVES = {"2": 10, "3": 10, "S1": 20, "S2": 30, "S3": 20, "S4": 30}


def said_of(table, row, dataset):
    """What the paper says of a row, by its published name."""
    said, name = dict(SAID[table.paper]), row.name
    if table.paper.startswith("Hessel"):
        said |= {"text.max_tokens": TOKENS.get(table.name, 50 if dataset in ("RQA", "DIY") else 20)}
        said |= {"objective.b": NEGATIVES.get(table.name, 10)}
        if name.startswith("AP") or table.name == "fine-tuning":
            said["similarity.links"] = "at-most"
        if name.startswith(("AP", "TK")):
            said["similarity.k"] = "half" if "½k" in name else "min"
        if "hard" in name:
            said["objective.negatives"] = "hardest"
        if table.name == "fine-tuning":
            said |= {"training.max_sentences": 10, "training.max_images": 10}
    elif table.paper.startswith("Li"):
        of_hessel = name in ("NoStruct", "MulLink")
        mscoco = dataset == "MSCOCO" or "Transfer" in name
        rate, steps = (1e-4, 0) if of_hessel else (1e-5, 3000) if mscoco else (5e-5, 4000)
        said |= {"training.learning_rate": rate, "training.warmup_steps": steps}
        if not (of_hessel or name.startswith(("Supervised", "1 Transfer"))):
            said |= {"similarity.kind": "top-k", "similarity.k": "min", "objective.negatives": "hardest"}
            objectives = (name.rpartition(" ")[2] if name.endswith(("C", "I", "D")) else "C+I+D").split("+")
            said |= {f"objective.{key}": float(letter in objectives) for key, letter in
                     (("cross_document", "C"), ("intra_document", "I"), ("sub_document", "D"))}  # fmt: skip
            if "D" in objectives:
                said["objective.p_sub"] = 0.8 if mscoco else 0.6
        if name.startswith("w/o T", 2):
            said |= {"text.layers": 3, "text.heads": 8, "image.layers": 0}
        if name[0] in "126789O" and "GRU" not in name:
            said |= {"text.layers": 3, "text.heads": 8, "image.layers": 3, "image.heads": 8}
    else:
        said |= {"objective.relation_loss": "sum"}
        said |= {} if name.startswith(("Base", "CMCA")) else {"objective.relation_layers": 1}
        if name.startswith("margin"):
            said["objective.margin"] = float(name.split()[1])
        if name.endswith("layers"):
            said["objective.relation_layers"] = int(name[0])
        said["text.attention"] = "none" if name == "Base" or "NoAttn" in name else "dot-product"
        aware = not name.startswith(("Base", "CMCA", "λ"))
        said |= {"objective.coherence": 0.1} if aware else {}
        said["text.max_tokens"] = 200 if dataset == "CITE++" else 40
        if table.name.endswith("fig8"):
            said["text.max_tokens"] = int(name.split()[0]) if name.endswith("words") and name[0] != "λ" else 200
    return said


def made_of(table, row):
    """What makes a row what it is, and what no paper states, by the row's published name."""
    name = row.name
    if table.name in TOKENS:  # of Hessel, without fine-tuning
        kinds = {"NoStruct": "single-pair", "DC": "dense", "TK": "top-k", "AP": "assignment"}
        hard = "hard" in name if table.name.startswith("S") else name != "NoStruct"
        return {
            "similarity.kind": kinds[name.split(" ")[0].rstrip(",")], "objective.negatives": "hardest" if hard else "mean",
            "training.batch": 11 if "batch of 11" in name else NEGATIVES[table.name] + 1,
            "text.dropout_at": "input", "image.dropout_at": "input", "objective.mean_epochs": 0,
            "objective.remedy_epochs": 0, "training.weight_decay": 0, "training.warmup": 0, "training.average": 1,
        }  # fmt: skip
    if table.name == "li2021/3":
        regions = {"image.kind": "regions", "image.concepts": name[0] not in "24"}
        return {"image.kind": "projection"} if "GRU" in name else regions
    if table.name == "alikhani2021/5":
        relation = name.removeprefix("CMCM ")
        plain = {"objective.coherence": 0.0} if name.startswith(("Base", "CMCA")) else {}
        return plain | {"objective.relations": [relation] if relation in CLUE else []}
    return {}


def departures_by_hand(table, row):
    """The departures that remain with the paper's pictures and word vectors."""
    if table.paper.startswith("Hessel"):
        if row.name == "NoStruct" and table.name in ("2", "3"):
            return {"objective.negatives mean (hardest, supplement §3)"}
        exactly = (row.name.startswith("AP") or table.name == "fine-tuning") and "at most" not in row.name
        return {"similarity.links exactly (at-most, §3.2)"} if exactly else set()
    if "projection of concepts alone" in row.name:
        return {"image.shared_projection no (yes, Eq. 9)"}
    if "sentences pooled" in row.name:
        return {"text.layers 0 (3, Implementation Details)"}
    if "additive" in row.name:
        return {"text.attention additive (dot-product, Text Encoder)"}
    return {"objective.relation_loss mean (sum, Eq. 2)"} if "normalised" in row.name else set()


OWN_INPUTS = {
    "Hessel et al. 2019": ["features.image=densenet169.npy", "text.word_vectors=GoogleNews.bin"],
    "Li et al. 2021": ["features.image=regions.tsv", "text.word_vectors=GoogleNews.bin"],
    "Alikhani et al. 2021": ["features.image=microsoft/resnet-50", "text.word_vectors=word2vec"],
}


def every_row():
    """Each trained row of each table, those that the paper lacks too, on each of the paper's data sets."""
    for table in published_tables().values():
        extra = [row.key for row in table.rows if row.extra]
        relations = list(CLUE) if "alikhani" in table.name else None
        for dataset in (None, *table.datasets) if table.rows else ():
            rows = table_rows(table, OWN_INPUTS[table.paper], relations, dataset, extra)
            for row in rows:
                if row.recipe is not None:
                    yield table, row, dataset


def settings_of(row):
    return flat(row.recipe.model_dump(mode="json"))


def test_every_row_says_how_it_differs_from_the_list_by_hand():
    for table, row, dataset in every_row():
        said, ours = differing(row, table, row.recipe, width=1664, seeds=1), settings_of(row)
        for key, value in said_of(table, row, dataset).items():
            lines = [line for line in said if line.startswith((f"{key} ", f"no {key} "))]
            assert len(lines) == (ours.get(key) != value), (table.name, row.name, dataset, key, value, lines)
        assert {key: ours.get(key) for key in made_of(table, row)} == made_of(table, row), (table.name, row.name)
        rest = {line for line in said if not line.startswith(("image features ", "word vectors "))}
        assert rest == departures_by_hand(table, row), (table.name, row.name, dataset)


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
def test_a_collapsed_run_has_no_figures_but_a_mark_and_its_reason(tmp_path, in_process):
    corpus = write_synthetic(tmp_path / "c", 30)
    calls = {"overrides": SMALL, "only": ["random", "dense", "top-k"], "dataset": "MSCOCO"}
    reproduce("2", corpus, tmp_path / "out", watch=Seen(), **calls)
    for key, collapse in COLLAPSED.items():
        path = model_folder(tmp_path / "out", key) / "metrics.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"collapse": collapse}))
    done = reproduce("2", corpus, tmp_path / "out", watch=Seen(), **calls)
    table = (tmp_path / "out/table.md").read_text()
    cells = [line.split("|") for line in table.splitlines() if line.startswith("| ")]
    rows = {name.strip(): auc.strip() for _, name, auc, *_ in cells}
    assert rows["DC ²†"] == "–"
    assert rows["TK ²†"] != "–"
    assert not [row for row in rows if row.startswith(("NoStruct", "AP", "Object"))]  # nobody asked for them
    assert "† DC collapsed and has no figures here: the loss stayed at 0.4" in table
    assert "† TK collapsed: the model is that of an earlier epoch" in table
    assert done.results["collapsed"] == COLLAPSED
    assert [row["model"] for row in done.results["rows"]] == ["random", "top-k"]
    assert "data: corpus.jsonl, 18 / 6 / 6 documents" in table
    assert "training.epochs 2 (50, §4)" in table
    assert "Other settings than the paper's" not in table
    assert "dim 8 (1024, §4)" in done.results["differs"]["TK"]


@pytest.mark.slow
@pytest.mark.training
def test_a_corpus_without_gold_links_has_its_test_loss(tmp_path, in_process):
    corpus = write_synthetic(tmp_path / "c", 30, links=False)
    calls = {"overrides": SMALL, "only": ["fixed"], "dataset": "WIKI"}
    done = reproduce("fine-tuning", corpus, tmp_path / "out", watch=Seen(), **calls)
    (row,) = done.results["rows"]
    assert row["auc"] is None
    assert 0 < row["test_loss"] < 1
    assert f"| – | {-row['test_loss']:.3f} | – | -0.26 |" in (tmp_path / "out/table.md").read_text()
