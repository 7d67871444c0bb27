from __future__ import annotations

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from iconotext.corpus.store import read_corpus
from iconotext.encoders.encoder import untrained_encoder
from iconotext.encoders.load import load_encoder
from iconotext.errors import CorpusError, FeatureError, OutputError, SettingError
from iconotext.evaluate.results import Scored, read_results, score_document
from iconotext.features.backbone import ImageFeatures
from iconotext.features.word_vectors import load_word_vectors
from iconotext.train.start import with_init
from iconotext_papers.tables.links import score_object_detection
from iconotext_papers.tables.rows import chosen_rows
from iconotext_papers.tables.runner import reproduce
from papers.support.tables import SMALL, TABLES, Seen, contents, table_rows
from tests.support.encoders import image_backbone, text_backbone
from tests.support.program import printed as run
from tests.support.training import small_recipe, write_synthetic

# The rows


@pytest.mark.parametrize("table", TABLES)
def test_every_published_row_has_its_own_key_and_recipe(table):
    rows = table_rows(table)
    assert [row.name for row in rows] == list(TABLES[table].published)
    assert len({row.key for row in rows}) == len(rows)
    baselines = {"li2021/2": ["object-detection"], "fine-tuning": []}.get(
        table, [] if "/" in table else ["random", "object-detection"]
    )
    assert [row.key for row in rows if row.recipe is None] == baselines
    for row in rows[len(baselines) :]:
        assert row.recipe is not None
        assert row.recipe.name == row.key


def test_settings_for_all_rows():
    rows = table_rows("3", ["training.learning_rate=1e-3", "text.max_tokens=30", "training.batch=32", "dim=64"])
    for row in rows[2:]:
        assert (row.recipe.training.learning_rate, row.recipe.text.max_tokens) == (1e-3, 30)
        assert (row.recipe.training.batch, row.recipe.objective.b, row.recipe.dim) == (32, 10, 64)


@pytest.mark.parametrize("table", ["2", "3", "S4", "fine-tuning"])
def test_a_sentence_encoder_without_words_has_no_number_of_words(table):
    rows = table_rows(table, ["features.text=minilm", "text.kind=projection", "text.rescale=true"], dataset="RQA")
    assert {row.recipe.text.kind for row in rows if row.recipe} == {"projection"}
    with pytest.raises(SettingError, match="no such key for kind projection"):
        table_rows(table, ["features.text=minilm", "text.kind=projection", "text.max_tokens=50"])


@pytest.mark.parametrize("table", ["2", "li2021/2"])
@pytest.mark.parametrize("setting", ["mean_epochs", "remedy_epochs"])
def test_mean_epochs_are_for_rows_with_hard_negatives(table, setting):
    rows = [row.recipe.objective for row in table_rows(table, [f"objective.{setting}=3"]) if row.recipe]
    assert [getattr(row, setting) for row in rows] == [3 if row.negatives == "hardest" else 0 for row in rows]
    assert {row.negatives for row in rows} == {"hardest", "mean"}


@pytest.mark.parametrize(("table", "key"), [(name, key) for name in ("2", "li2021/3") for key in TABLES[name].varied])
def test_what_a_table_compares_cannot_be_set_for_all(table, key):
    with pytest.raises(SettingError, match=f"{key}: each row of table {table} has its own"):
        table_rows(table, [f" {key} =half"])


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["features.text=minilm"], 'text.kind = "gru" does not go with features.text = "minilm"'),
        (["image.kind=network"], 'does not go with features.image = "efficientnet-lite0"'),
        (["objective.learn_scale=true"], "the hinge has no scale"),
        (["training.epoch=3"], "There are batch, epochs"),
        (["training.epochs=none"], "training.epochs"),
        (["nonsense"], "give key=value"),
    ],
)
def test_settings_that_contradict_each_other_are_told(overrides, said):
    with pytest.raises(SettingError, match=said):
        table_rows("2", overrides)


def test_tables_and_rows_that_do_not_exist():
    with pytest.raises(SettingError, match=r"[Tt]here are 2, 3, S1, S2, S3, S4"):
        table_rows("1")
    with pytest.raises(SettingError, match="did you mean alikhani2021/8"):
        table_rows("alikhani2021/6")  # people's
    with pytest.raises(SettingError, match=r"only=ap2: no such row; there are random \(Random\), .*assignment-half"):
        chosen_rows(table_rows("2"), ["ap2"])
    rows = chosen_rows(table_rows("S1"), ["TK + HARD + ½K", "assignment", " random"])
    assert [row.key for row in rows] == ["random", "top-k-half-hard", "assignment"]
    assert chosen_rows(rows, []) == rows


# The whole


@pytest.mark.slow
def test_a_whole_table(corpus, tmp_path, in_process):
    in_process.add("assignment")
    folder = tmp_path / "out"
    done = reproduce("2", corpus, folder, watch=Seen(), overrides=SMALL, dataset="MSCOCO")
    assert done.failed == {"assignment": "out of luck"}
    table = (folder / "table.md").read_text().replace("\\_", "_")
    lines = table.split("Differences of rows")[0].splitlines()
    rows = {line.split("|")[1].strip(" ¹²³⁴⁵†"): line for line in lines if line[:1] == "|"}
    assert list(rows)[2:] == list(TABLES["2"].published)
    assert "MSCOCO (published)" in table
    assert "Story" not in table
    assert "98.9" in rows["DC"]
    assert rows["DC"].count("(") == 3  # AUC, p@1 and p@5 of ours, each with its interval
    assert rows["AP"].split("|")[2:4] == [" – ", " – "]
    assert "AP failed: out of luck" in table
    assert "Object detection: not possible here: object detection needs picture files" in table
    assert "training.learning_rate 0.01 (0.0001, §4)" in table
    page = (folder / "table.html").read_text()
    assert page.startswith("<!doctype html>")
    assert '<img src="curves.svg"' in page
    assert (folder / "curves.svg").read_text().count("<!-- TK") == 2 or "TK" in (folder / "curves.svg").read_text()
    results = json.loads((folder / "results.json").read_text())
    assert results == done.results
    assert [row["model"] for row in results["rows"]] == [
        "random", "nostruct", "dense", "top-k", "top-k-half", "assignment-half", "assignment-at-most",
        "assignment-half-at-most",
    ]  # fmt: skip
    dense = results["rows"][2]
    assert dense["published"] == {"MSCOCO": [98.9, 93.6, 80.1]}
    assert (dense["seeds"][0]["epochs"], dense["documents"], dense["undefined"]) == (2, 12, 0)
    assert dense["seeds"][0]["seconds"] > 0
    kept = read_results(folder / "results/dense.parquet")
    assert kept.model == "dense"
    assert kept.evaluation.means["auc"] == pytest.approx(dense["auc"])
    # `evaluate` gives the same figures; those of training are of features in 16 bits, before projections were rounded.
    found = json.loads(run("evaluate", folder / "models/dense", corpus, "--split", "test", "--json"))
    figures = ("auc", "p@1", "p@5", "image@1")
    assert [found[name] for name in figures] == pytest.approx([dense[name] for name in figures], abs=1e-6)
    own = json.loads((folder / "models/dense/metrics.json").read_text())["test"]
    assert own["auc"] == pytest.approx(dense["auc"], abs=0.01)

    # What is done is not done again; what failed is.
    before = contents(folder / "models") | contents(folder / "results") | contents(folder / "prepared")
    in_process.clear()
    watch = Seen()
    done = reproduce("2", corpus, folder, watch=watch, overrides=SMALL[::-1], dataset="MSCOCO")
    assert {key for key, _ in watch.told} == {"assignment"}
    assert done.failed == {}
    after = contents(folder)
    assert {path: after[path] for path in before} == before
    assert "failed" not in (folder / "table.md").read_text()


@pytest.mark.slow
def test_some_rows_only_and_all_published_columns(corpus, tmp_path, in_process):
    watch = Seen()
    done = reproduce("S3", corpus, tmp_path, watch=watch, overrides=SMALL, only=["nostruct-hard", "random"])
    assert {key for key, _ in watch.told} == {"nostruct-hard"}
    assert [row["row"] for row in done.results["rows"]] == ["Random", "NoStruct + hard"]
    table = (tmp_path / "table.md").read_text()
    assert "| RQA (published): AUC |" in table
    assert "DIY (published)" in table
    assert "corpus (ours)" in table
    assert "object detection" not in table.lower().split("in percent")[1]
    # Rows of an earlier call stay in the table.
    done = reproduce("S3", corpus, tmp_path, watch=Seen(), overrides=SMALL, only=["dense"])
    assert [row["row"] for row in done.results["rows"]] == ["Random", "NoStruct + hard", "DC"]


@pytest.mark.slow
def test_baselines_alone_prepare_no_trained_row(corpus, tmp_path, in_process, monkeypatch):
    """No features are looked at: neither those of a backbone, nor regions that are not there."""
    folder = tmp_path / "captioned"
    folder.mkdir()
    for number in range(6):
        Image.new("RGB", (8, 8), (40 * number, 0, 0)).save(folder / f"{number}.png")
    lines = [
        {"id": f"d{n}", "split": split, "sentences": ["one", "two"], "images": [f"{n}.png", f"{(n + 1) % 6}.png"]}
        | {"links": [[0, 0], [1, 1]]}
        for n, split in enumerate(["train", "train", "validation", "validation", "test", "test"])
    ]
    (folder / "c.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.setattr("iconotext.train.feature_writers._BackboneWriter", None)
    done = reproduce("2", folder / "c.jsonl", tmp_path / "a", watch=Seen(), overrides=SMALL[1:], only=["random"])
    assert [row["row"] for row in done.results["rows"]] == ["Random"]
    done = reproduce("2", corpus, tmp_path / "b", watch=Seen(), overrides=SMALL, only=["random"])
    (alone,) = done.results["rows"]
    whole = reproduce("2", corpus, tmp_path / "c", watch=Seen(), overrides=SMALL, only=["random", "dense"])
    assert whole.results["rows"][0] == alone  # the same documents
    again = reproduce("2", corpus, tmp_path / "c", watch=Seen(), overrides=SMALL, only=["random"])
    assert again.results["rows"] == whole.results["rows"]
    assert not (tmp_path / "c" / "prepared-plain").exists()  # what is there already will do


def test_object_detection_has_both_choices_of_k(corpus, tmp_path, in_process, monkeypatch):
    class Image:
        name, dim = "fake", 2
        classes = tuple(f"thing{number}" for number in range(20))

        def encode(self, files, *, regions=False):
            probabilities = np.full((len(files), 20), 0.01, np.float32)
            probabilities[:, 3] = 0.5
            return ImageFeatures(
                np.zeros((len(files), 2), np.float32), probabilities=probabilities, problems=(None,) * len(files)
            )

    class Text:
        name, dim = "text", 2

        def encode(self, texts):
            return np.array([[len(text) % 3 + 1, len(text) % 5] for text in texts], np.float32)

    asked = []

    def load(*, image, text, word_vectors, **more):
        asked.append((image, text, word_vectors))
        encoder = untrained_encoder("bridge", text_backbone(Text()), image_backbone(Image()))
        return replace(encoder, image_source=replace(encoder.image_source, from_file=True))  # no file is there

    monkeypatch.setattr("iconotext.encoders.load.load_bridge", load)
    only = ["object-detection", "random"]
    done = reproduce("2", corpus, tmp_path, watch=Seen(), overrides=SMALL, only=only)
    names = [row["row"] for row in done.results["rows"]]
    assert names == ["Random", "Object detection", "Object detection, K by validation"]
    assert all(1 <= row["k"] <= 20 for row in done.results["rows"][1:])
    table = (tmp_path / "table.md").read_text()
    assert "is best on the test documents, which flatters it, as in the paper; K = " in table
    assert asked == [(None, None, None)]  # a table of features has no classifier, words are no backbone
    reproduce("2", corpus, tmp_path, watch=Seen(), overrides=SMALL, only=only)
    assert len(asked) == 1


def test_other_features_for_object_detection(corpus, tmp_path, monkeypatch):
    asked = []

    def load(*, image, text, **more):
        asked.append((image, text))
        raise FeatureError("a has no classifier")

    monkeypatch.setattr("iconotext.encoders.load.load_bridge", load)
    recipe = table_rows("2", ["features.text=t", "text.kind=projection", "features.image=a"])[-1].recipe
    assert score_object_detection(corpus, recipe, tmp_path, print) == "a has no classifier"
    assert asked == [("a", "t")]


@pytest.mark.slow
def test_object_detection_with_word_vectors_that_are_learned_from_the_corpus(corpus, tmp_path, in_process, monkeypatch):
    asked = []

    def load(*, word_vectors, word_dim, **more):
        asked.append(load_word_vectors(word_vectors, ["thing1", "unheard"], dim=word_dim))
        raise FeatureError("enough")

    monkeypatch.setattr("iconotext.encoders.load.load_bridge", load)
    overrides = [*SMALL, "text.word_vectors=word2vec"]
    reproduce("2", corpus, tmp_path, watch=Seen(), overrides=overrides, only=["object-detection", "random"])
    ((vectors, found),) = asked
    assert found == 1
    assert vectors[0].any()
    assert not vectors[1].any()


def test_a_warm_up_longer_than_the_run_is_refused_before_anything_is_prepared(tmp_path):
    corpus, folder = write_synthetic(tmp_path / "c", 20), tmp_path / "out"
    with pytest.raises(SettingError, match=r"^TK: training.warmup_steps is 500, but .* run has [0-9]+ steps"):
        reproduce("2", corpus, folder, watch=Seen(), overrides=[*SMALL, "training.warmup_steps=500"], only=["top-k"])
    assert not folder.exists()


def test_what_a_folder_was_made_from(tmp_path, in_process):
    corpus = write_synthetic(tmp_path / "c", 20)
    folder = tmp_path / "out"

    def again(table="2", corpus=corpus, overrides=SMALL, **more):
        return reproduce(table, corpus, folder, watch=Seen(), overrides=overrides, only=["random"], **more)

    again()
    with pytest.raises(SettingError, match="was made with table 2, not with table 3; name another folder"):
        again("3")
    with pytest.raises(SettingError, match=r"was made with .*--set dim=8.*, not without --set; name"):
        again(overrides=[])
    with pytest.raises(SettingError, match="was made with corpus"):
        again(corpus=write_synthetic(tmp_path / "other", 20))
    with pytest.raises(SettingError, match="dataset=RQA: table 2 has MSCOCO, Story-DII"):
        again(dataset="RQA")
    again()
    os.utime(corpus, (1, 1))
    with pytest.raises(SettingError, match="has changed since"):
        again()
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "table.md").write_text("my own")
    with pytest.raises(OutputError, match=r"holds a table\.md that is not ours"):
        reproduce("2", corpus, strange, watch=Seen(), overrides=SMALL)
    assert (strange / "table.md").read_text() == "my own"


def test_without_links_in_the_test_split_there_is_nothing_to_show(tmp_path):
    for number, more in enumerate(({"splits": False}, {"links": False})):
        corpus = write_synthetic(tmp_path / str(number), 20, **more)
        with pytest.raises(CorpusError, match="no test documents with gold links"):
            reproduce("2", corpus, tmp_path / f"out{number}", watch=Seen(), overrides=SMALL)


@pytest.mark.slow
def test_processes_train_are_interrupted_and_go_on(corpus, tmp_path):
    calls = {"overrides": [*SMALL, "training.epochs=12"], "only": ["nostruct"]}
    with pytest.raises(KeyboardInterrupt):
        reproduce("2", corpus, tmp_path, watch=Seen(stop_after=2), **calls)
    assert not (tmp_path / "table.md").exists()
    watch = Seen()
    done = reproduce("2", corpus, tmp_path, watch=watch, **calls)
    assert done.failed == {}
    told = [what for _, what in watch.told]
    assert told[0] == "started"
    assert told[1] > 1  # it went on
    assert told[-2:] == [12, None]
    assert [row["model"] for row in done.results["rows"]] == ["nostruct"]
    assert not list((tmp_path / "logs").iterdir())


@pytest.mark.training
def test_a_model_of_other_settings_is_not_taken_for_ours(corpus, tmp_path, in_process):
    reproduce("2", corpus, tmp_path, watch=Seen(), overrides=SMALL, only=["dense"])
    recipe = tmp_path / "models/dense/recipe.toml"
    recipe.write_text(recipe.read_text().replace("margin = 0.2", "margin = 0.3"))
    with pytest.raises(SettingError, match=r"another recipe, which differs in objective\.margin"):
        reproduce("2", corpus, tmp_path, watch=Seen(), overrides=SMALL, only=["dense"])


# Footnote 19: a row that the paper tells of without figures


def test_the_row_of_the_footnote_is_there_where_it_is_named():
    for name in ("2", "3"):
        assert all(row.recipe is None or not row.recipe.text.sentence_gru for row in table_rows(name))
        rows = {row.key: row for row in table_rows(name, extra=["AP, RNN over sentences"])}
        plain, own = rows["assignment"].recipe, rows["assignment-sentence-gru"].recipe
        text = plain.text.model_copy(update={"sentence_gru": True})
        assert own == plain.model_copy(update={"name": own.name, "text": text})
        assert own.text.sentence_gru


@pytest.mark.slow
@pytest.mark.training
def test_an_rnn_over_sentences_is_trained_evaluated_and_linked_with(tmp_path, in_process):
    name = "assignment-sentence-gru"
    corpus = write_synthetic(tmp_path / "corpus", 200)
    learned = ["dim=16", "text.word_dim=8", "training.epochs=15", "objective.mean_epochs=15", "text.dropout=0.1"]
    done = reproduce("3", corpus, tmp_path / "out", watch=Seen(), overrides=[*SMALL, *learned], only=[name])
    (row,) = done.results["rows"]
    assert (row["row"], row["model"]) == ("AP, RNN over sentences", name)
    assert "published" not in row
    assert done.failed == done.results["collapsed"] == {}
    assert row["auc"] > 0.65  # chance is .5; of three seeds the worst reached .82
    assert not any("sentence_gru" in what for what in done.results["differs"][row["row"]])
    encoder = load_encoder(
        str(tmp_path / "out/models" / name), image=str(corpus.with_name("features.npy")), cache=False
    )
    tested = [document for document in read_corpus(corpus) if document.split == "test"]
    kept = {each.id: each.auc for each in read_results(tmp_path / f"out/results/{name}.parquet").evaluation.documents}
    aucs = {each.id: score_document(Scored.of(each, encoder.similarity(each))).auc for each in tested}
    # A document that is linked is read as it was when the model was tested; some processors round the batches of a test
    # otherwise, which exchanges two cells that are nearly equal.
    assert aucs == pytest.approx(kept, abs=0.05)
    assert sum(auc == pytest.approx(kept[name]) for name, auc in aucs.items()) >= 0.9 * len(aucs)
    document = tested[0]
    turned = replace(document, sentences=document.sentences[::-1], links=None)
    assert not np.allclose(encoder.similarity(turned)[::-1], encoder.similarity(document), atol=1e-4)
    texts = [sentence.text for sentence in document.sentences]
    read = encoder.read(document)
    np.testing.assert_allclose(
        read.sentences(texts, range(len(texts))) @ read.images().T, encoder.similarity(document), atol=1e-6
    )
    alone = encoder.encode_sentences(texts)  # as queries are
    np.testing.assert_allclose(alone[:1], encoder.encode_sentences(texts[:1]), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(alone, axis=1), 1, atol=1e-6)
    going_on = small_recipe(init=str(tmp_path / "out/models" / name), similarity={"kind": "single-pair"})
    with pytest.raises(SettingError, match=r"text\.sentence_gru reads whole documents"):
        with_init(going_on)
