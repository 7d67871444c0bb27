"""The comparisons of Li 2021, and tables over several seeds."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from iconotext.corpus.store import read_corpus
from iconotext.errors import CorpusError, SettingError
from iconotext.evaluate.results import Scored, evaluate, read_results
from iconotext.linker import Linker, LinkSettings
from iconotext.recipe import shipped_recipes
from iconotext.train.prepare import no_report
from iconotext.train.prepared import open_prepared
from iconotext_papers.tables import link_sections as document_vectors
from iconotext_papers.tables.comparison import Comparison, runs_of
from iconotext_papers.tables.results_grid import compare_rows
from iconotext_papers.tables.rows import find_table
from iconotext_papers.tables.runner import Arrays, reproduce
from papers.support.tables import SMALL as SMALL_HESSEL
from papers.support.tables import TABLES, Seen, contents, table_rows
from tests.support.training import write_regional, write_synthetic

# The synthetic corpus has a table of features, and so no regions.
SMALL = [*SMALL_HESSEL, "text.heads=2", "text.layers=1", "training.warmup_steps=1"]
SMALL += ["*:image.kind=projection"]


def again(table, corpus, folder, **more):
    return reproduce(table, corpus, folder, watch=Seen(), overrides=SMALL, **more)


# The rows


def test_names_of_tables():
    assert [find_table(name).name for name in ("2", "hessel2019/S1", "li2021/bias")] == ["2", "S1", "li2021/bias"]
    for wrong in ("li2021/1", "hessel2019/li2021/2", "hessel2019/", "../2", ""):
        with pytest.raises(SettingError, match=r"[Tt]here are 2, 3, S1, S2, S3, S4, fine-tuning, li2021/2"):
            find_table(wrong)


def test_rows_are_compared_with_the_paper_s_own_model():
    owns = {"2": "NoStruct", "li2021/2": "Ours", "li2021/3": "1 Ours, C+I+D", "li2021/4": "2 Unsupervised"}
    for name, own in owns.items():
        assert Comparison(TABLES[name], table_rows(name), None, None, None).reference == own


def test_rows_of_the_other_comparisons():
    assert [(row.key, row.share) for row in table_rows("li2021/5")] == [
        ("supervised-20", 0.2), ("supervised-40", 0.4), ("supervised-60", 0.6), ("supervised-80", 0.8),
        ("supervised-100", 1.0), ("mullink", None), ("transformer", None),
    ]  # fmt: skip
    for row in table_rows("li2021/5"):
        assert (row.recipe.similarity.kind == "labelled-pairs") == (row.share is not None)
        if row.share is not None:
            assert row.recipe.training.labelled == row.share
    assert [(row.key, row.transferred) for row in table_rows("li2021/4")] == [
        ("supervised-transformer", "MSCOCO"), ("transformer", ""),
    ]  # fmt: skip
    assert [row.key for row in table_rows("li2021/2")] == ["object-detection", "nostruct", "mullink", "transformer"]


def trained_as(recipe):
    """What counts of the recipe of a baseline, which has no sub-documents."""
    objective = recipe.objective.model_copy(update={"p_sub": 0.6})
    return recipe.model_copy(update={"name": "", "follows": "", "objective": objective})


def test_baselines_are_trained_as_the_paper_whose_figures_they_have():
    published = {name: table.published for name, table in TABLES.items()}
    mullink, nostruct = published["li2021/2"]["MulLink"], published["li2021/2"]["NoStruct"]
    assert mullink["MSCOCO"] == published["2"]["TK + ½k"]["MSCOCO"]
    assert mullink["Story-SIS"] == published["2"]["DC"]["Story-SIS"]
    near = published["S1"]["DC + hard"]["Story-DII"]
    assert all(abs(a - b) < 0.11 for a, b in zip(mullink["Story-DII"], near, strict=True))
    for dataset, figures in nostruct.items():  # and far from "NoStruct + hard"
        assert all(abs(a - b) < 1 for a, b in zip(figures, published["2"]["NoStruct"][dataset], strict=True))
    for table in ("li2021/2", "li2021/5", "li2021/bias"):
        for on, k in (("MSCOCO", "half"), ("Story-DII", "min"), (None, "min")):
            rows = {row.key: row.recipe for row in table_rows(table, dataset=on)}
            hessel = {row.key: row.recipe for row in table_rows("2")}
            assert trained_as(rows["mullink"]) == trained_as(hessel["top-k-half" if k == "half" else "top-k"])
            if "nostruct" in rows:
                assert trained_as(rows["nostruct"]) == trained_as(hessel["nostruct"])
            rates = (1e-5, 3000, 0.8) if on == "MSCOCO" else (5e-5, 4000, 0.6)
            ours = rows["transformer"]
            assert (ours.training.learning_rate, ours.training.warmup_steps, ours.objective.p_sub) == rates


def test_numbers_of_epochs_are_marked_as_ours():
    for path in (path for name, path in shipped_recipes().items() if name.startswith("li2021/")):
        assert "epochs" not in path.read_text() or "epochs = 60 # ours: the paper does not say\n" in path.read_text()


@pytest.mark.training
def test_a_named_row_needs_only_what_it_reads(tmp_path, in_process):
    corpus = write_regional(tmp_path, 40)  # regions, but no pictures for NoStruct
    small = ["dim=16", "text.word_dim=8", "text.layers=1", "text.heads=2", "training.epochs=1"]
    small += ["training.warmup_steps=1", "transformer:image.layers=1", "image.heads=2"]
    small += [f"features.image={tmp_path / 'regions.tsv'}"]
    done = reproduce("li2021/2", corpus, tmp_path / "out", watch=Seen(), overrides=small, only=["transformer"])
    assert done.failed == {}
    assert (tmp_path / "out/results/transformer.parquet").is_file()
    assert not (tmp_path / "out/models/nostruct").exists()
    concepts = "Rows with concepts: 100 % of the regions have a concept; 25 % of the words"
    assert concepts in (tmp_path / "out/table.md").read_text()


def test_settings_for_one_row_count_before_those_for_all():
    overrides = ["supervised*:dim=16", "dim=8", "mullink : training.epochs = 7", "*:training.batch=12"]
    rows = {row.key: row.recipe for row in table_rows("li2021/5", overrides)}
    assert {key: recipe.dim for key, recipe in rows.items() if recipe.dim != 8} == dict.fromkeys(
        [f"supervised-{share}" for share in (20, 40, 60, 80, 100)], 16
    )
    assert [key for key, recipe in rows.items() if recipe.training.epochs == 7] == ["mullink"]
    assert {recipe.training.batch for recipe in rows.values()} == {12}
    assert rows["mullink"].name == "mullink"


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["transformers:dim=8"], "no row is called transformers; there are nostruct, mullink, transformer"),
        (["object-detection:dim=8"], "no row is called object-detection"),
        (["transformer:name=x"], "name: each row"),
        (["transformer:dim"], "give key=value"),
        (["transformer:no.such=1"], "no such key"),
        (["transformer:dim=-1"], "--set transformer:dim=-1|dim: "),
        (["a:b:dim=1"], "no row is called a:b"),
    ],
)
def test_settings_that_are_wrong(overrides, said):
    with pytest.raises(SettingError, match=said):
        table_rows("li2021/2", overrides)


def test_what_only_regions_have_is_for_rows_that_read_them(tmp_path):
    file = tmp_path / "regions.tsv"
    overrides = [f"features.image={file}", "image.max_regions=9", "training.max_regions=5"]
    rows = {row.key: row.recipe for row in table_rows("li2021/3", overrides)}
    for key, recipe in rows.items():
        reads = key != "gru-cnn"
        assert recipe.features.image == (str(file) if reads else "efficientnet-lite0")
        limits = (recipe.regions.max_regions if recipe.regions else None, recipe.training.max_regions)
        assert limits == ((9, 5) if reads else (None, None))
    one = {row.key: row.recipe for row in table_rows("li2021/3", ["transformer:image.layers=1"])}
    assert (one["transformer"].image.layers, one["without-transformer"].image.layers) == (1, 0)


# Runs and what they share


def test_runs_have_names_and_seeds_of_their_own():
    row = table_rows("2", ["seed=5"])[2]
    runs = runs_of(row, 3)
    assert [(run.key, run.seed, run.recipe.seed, run.recipe.name) for run in runs] == [
        ("nostruct", 5, 5, "nostruct"), ("nostruct-seed6", 6, 6, "nostruct-seed6"),
        ("nostruct-seed7", 7, 7, "nostruct-seed7"),
    ]  # fmt: skip
    assert runs[0].recipe == row.recipe
    assert runs_of(table_rows("2")[0], 3) == ()


def test_rows_share_a_prepared_corpus_where_they_read_the_same(tmp_path):
    corpus = write_synthetic(tmp_path / "c", 20)
    alike = [row for row in table_rows("2", SMALL_HESSEL) if row.recipe]
    arrays = Arrays(alike, lambda row: corpus, tmp_path, no_report)
    assert {arrays.of(run).folder for row in alike for run in runs_of(row, 2)} == {tmp_path / "prepared"}
    other = [row for row in table_rows("2", [*SMALL_HESSEL, "dense:text.max_tokens=3"]) if row.recipe]
    arrays = Arrays(other, lambda row: corpus, tmp_path / "two", no_report)
    folders = {row.key: arrays.of(runs_of(row, 1)[0]).folder for row in other}
    assert len(arrays.keys) == 2
    assert folders["dense"] != folders["top-k"] == folders["nostruct"]
    assert {folder.parent for folder in folders.values()} == {tmp_path / "two" / "prepared"}
    assert len(open_prepared(folders["dense"]).words.ids) < len(open_prepared(folders["top-k"]).words.ids)


def test_seeds_that_choose_the_validation_documents_have_arrays_of_their_own(tmp_path):
    corpus = write_synthetic(tmp_path / "c", 40, splits=False)
    rows = [row for row in table_rows("2", SMALL_HESSEL) if row.recipe]
    arrays = Arrays(rows, lambda row: corpus, tmp_path, no_report)
    first, second = (arrays.of(run) for run in runs_of(rows[0], 2))
    assert (first.folder.name, second.folder.name) == ("prepared", "prepared-seed1")
    assert first.documents("validation").tolist() != second.documents("validation").tolist()
    assert arrays.of(runs_of(rows[1], 2)[1]).folder == second.folder


# Several seeds


@pytest.mark.slow
def test_a_table_over_seeds(corpus, tmp_path, in_process):
    only = ["nostruct", "dense"]
    single = reproduce("2", corpus, tmp_path, watch=Seen(), overrides=SMALL_HESSEL, only=only)
    before = contents(tmp_path / "models")
    watch = Seen()
    done = reproduce("2", corpus, tmp_path, watch=watch, overrides=SMALL_HESSEL, only=only, seeds=3)
    assert {key for key, _ in watch.told} == {f"{key}-seed{seed}" for key in only for seed in (1, 2)}
    after = contents(tmp_path / "models")
    assert {path: after[path] for path in before} == before  # seed 0 was there
    rows = {row["model"]: row for row in done.results["rows"]}
    assert [each["seed"] for each in rows["dense"]["seeds"]] == [0, 1, 2]
    assert rows["dense"]["seeds"][0]["auc"] == single.results["rows"][-1]["auc"]
    kept = [read_results(tmp_path / f"results/{each['model']}.parquet").evaluation for each in rows["dense"]["seeds"]]
    values = [each.means["auc"] for each in kept]
    assert rows["dense"]["auc"] == pytest.approx(np.mean(values))
    assert rows["dense"]["spread"]["auc"] == pytest.approx(np.std(values, ddof=1))
    found = rows["dense"]["difference"]
    assert found["to"] == "NoStruct"
    assert rows["nostruct"]["difference"] is None
    assert found["auc"]["difference"] == pytest.approx(rows["dense"]["auc"] - rows["nostruct"]["auc"])
    assert found["auc"]["seeds"] == 3
    assert 0 <= found["auc"]["same_sign"] <= 3
    assert found["auc"]["interval"][0] <= found["auc"]["difference"] <= found["auc"]["interval"][1]
    table = (tmp_path / "table.md").read_text()
    assert "of the means over 3 seeds" in table
    assert re.search(
        r"\| DC [¹²³]†? \| 3 \|( ± \d+\.\d \|){2} NoStruct \| [+−]\d+\.\d \([+−]\d+\.\d to [+−]\d+\.\d\), \d of 3 \|",
        table,
    )
    assert (tmp_path / "table.html").read_text().count("<table") == 2
    # Fewer seeds again: the table of those.
    done = reproduce("2", corpus, tmp_path, watch=Seen(), overrides=SMALL_HESSEL, only=only)
    assert done.results == single.results


@pytest.mark.slow
def test_a_seed_that_fails_is_told_and_tried_again(corpus, tmp_path, in_process):
    in_process.add("dense-seed1")
    call = {"overrides": SMALL_HESSEL, "only": ["nostruct", "dense"], "seeds": 2}
    done = reproduce("2", corpus, tmp_path, watch=Seen(), **call)
    assert done.failed == {"dense-seed1": "out of luck"}
    table = (tmp_path / "table.md").read_text()
    assert "DC, seed 1 failed: out of luck" in table
    assert "Fewer seeds than 2: DC (1)." in table
    assert done.results["rows"][-1]["difference"]["auc"]["seeds"] == 1
    in_process.clear()
    watch = Seen()
    done = reproduce("2", corpus, tmp_path, watch=watch, **call)
    assert {key for key, _ in watch.told} == {"dense-seed1"}
    assert done.results["rows"][-1]["difference"]["auc"]["seeds"] == 2
    assert "Fewer" not in (tmp_path / "table.md").read_text()


# The comparisons


@pytest.mark.slow
def test_the_growing_share_of_labels(corpus, tmp_path, in_process):
    done = again("li2021/5", corpus, tmp_path, seeds=2)
    assert [row["row"] for row in done.results["rows"]] == list(TABLES["li2021/5"].published)
    found = done.results["overtaking"]
    assert set(found) == {"MulLink", "Ours"}
    by_name = {row["row"]: row for row in done.results["rows"]}
    shares = {share: by_name[f"Supervised, {round(100 * share)} %"]["auc"] for share in (0.2, 0.4, 0.6, 0.8, 1.0)}
    level = by_name["Ours"]["auc"]
    better = [s for s in shares if all(value > level for other, value in shares.items() if other >= s)]
    assert found["Ours"]["auc"]["from"] == (min(better) if better else None)
    assert found["Ours"]["published"] == 0.4
    for name in ("table.md", "table.html"):
        text = (tmp_path / name).read_text()
        assert "shares.svg" in text
        assert "Labels that the supervised model needs" in text
        assert "more than 40 %" in text
    assert (tmp_path / "shares.svg").stat().st_size > 5000
    recipe = (tmp_path / "models/supervised-40-seed1/recipe.toml").read_text()
    assert "labelled = 0.4" in recipe
    assert "seed = 1" in recipe


@pytest.mark.training
def test_a_share_alone_and_no_published_figures(corpus, tmp_path, in_process):
    done = again("li2021/5", corpus, tmp_path, only=["supervised-20"])
    assert done.results["overtaking"] == {}
    assert [row["row"] for row in done.results["rows"]] == ["Supervised, 20 %"]
    done = again("li2021/5", corpus, tmp_path, only=["gru-cnn"])  # what the paper may mean, and gives no share for
    assert done.results["overtaking"]["Ours, GRU+CNN"]["published"] is None
    assert "The paper names no data set for Fig. 5" in (tmp_path / "table.md").read_text()
    with pytest.raises(SettingError, match="table li2021/5 has no published figures"):
        again("li2021/5", corpus, tmp_path, dataset="MSCOCO")


@pytest.mark.slow
def test_transfer_from_another_corpus(tmp_path, in_process):
    target, source = write_synthetic(tmp_path / "target", 30), write_synthetic(tmp_path / "source", 40, seed=2)
    lines = source.read_text().replace(" here", " yonder").splitlines(keepends=True)
    source.write_text("".join(lines))  # a word that the target has not, and one that it lacks
    done = again("li2021/4", target, tmp_path / "out", source=source)
    transfer, own = done.results["rows"]
    assert (transfer["row"], own["row"]) == ("1 Transfer", "2 Unsupervised")
    assert transfer["trained_on"] == source.name
    assert done.results["from"] == str(source)
    assert transfer["documents"] == own["documents"] == 6  # the target's test documents
    assert transfer["difference"]["to"] == "2 Unsupervised"
    folder = tmp_path / "out/models/supervised-transformer"
    words = (folder / "vocabulary.txt").read_text()
    assert "yonder" in words
    assert "here" not in words.split()
    assert f"is trained on the gold links of {source} and" in (tmp_path / "out/table.md").read_text().replace(
        "\\_", "_"
    )

    # The same figures as the model, loaded from its folder, gives for the documents.
    settings = LinkSettings(evidence=("picture",), image=str(target.parent / "features.npy"))
    linker = Linker.load(str(folder), settings)
    documents = [document for document in read_corpus(target) if document.split == "test"]
    found = evaluate(Scored(each.id, linker.link(each).similarity, each.links) for each in documents)
    assert found.means["auc"] == pytest.approx(transfer["auc"], abs=1e-6)


def test_what_transfer_needs(tmp_path, corpus, in_process):
    with pytest.raises(SettingError, match="name that one with from="):
        again("li2021/4", corpus, tmp_path)
    with pytest.raises(SettingError, match=r"from=\.\.\. is for li2021/4"):
        again("li2021/3", corpus, tmp_path, source=corpus)
    with pytest.raises(SettingError, match="is the corpus of the table"):
        again("li2021/4", corpus, tmp_path, source=corpus.parent / "." / corpus.name)
    with pytest.raises(CorpusError, match="no such file"):
        again("li2021/4", corpus, tmp_path, source=tmp_path / "nothing.jsonl")
    unlinked = write_synthetic(tmp_path / "u", 30, links=False)
    with pytest.raises(CorpusError, match="1 Transfer: labelled-pairs need two or more train documents"):
        again("li2021/4", corpus, tmp_path / "out", source=unlinked)
    linked = write_synthetic(tmp_path / "l", 30)
    with pytest.raises(SettingError, match="was made with --from"):
        again("li2021/4", corpus, tmp_path / "out", source=linked)


@pytest.mark.slow
def test_bias(tmp_path, in_process, monkeypatch):
    corpus = write_synthetic(tmp_path / "c", 60)
    vectors = tmp_path / "v.txt"
    rng = np.random.default_rng(0)
    words = [*(f"thing{number}" for number in range(12)), *(f"word{number}" for number in range(5))]
    vectors.write_text("".join(f"{word} {' '.join(f'{x:.3f}' for x in rng.normal(size=4))}\n" for word in words))
    overrides = [*SMALL, f"text.word_vectors={vectors}"]
    watch = Seen()
    done = reproduce("li2021/bias", corpus, tmp_path / "out", watch=watch, overrides=overrides, seeds=2)
    bias, explained = done.results["bias"], done.results["explained"]
    assert bias["documents"] == 60
    assert bias["golds"] == 180
    assert bias["evaluation"]["count"] == 360  # two other images for each of three gold ones
    assert 0 <= explained["before"] <= 1
    assert explained["difference"] == pytest.approx(explained["after"] - explained["before"])
    assert (explained["documents"], explained["seeds"]) == (12, 2)
    assert explained["published"] == {"Story-DII": [42, 26], "Story-SIS": [23, 12]}
    assert done.results == json.loads((tmp_path / "out/results.json").read_text())
    table = (tmp_path / "out/table.md").read_text()
    assert "| Story-SIS (published) | 23 | 12 | −11.0 |" in table
    assert "Kolmogorov–Smirnov test: D = " in table
    assert "mean word vectors of v.txt" in table
    assert "Spread of images by features.npy" in table
    assert "Features of features.npy" in table
    assert "of 60 of the 60 documents with gold links" in table
    assert "are what Hessel 2019 publishes of AP" in table
    assert (tmp_path / "out/distances.png").is_file()
    page = (tmp_path / "out/table.html").read_text()
    assert '<img src="distances.svg"' in page
    done = reproduce("li2021/bias", corpus, tmp_path / "out", watch=watch, overrides=overrides, dataset="Story-DII")
    assert "Story-SIS" not in (tmp_path / "out/table.md").read_text()
    alone = reproduce("li2021/bias", corpus, tmp_path / "one", watch=watch, overrides=overrides, only=["mullink"])
    assert alone.results["explained"] is None
    assert alone.results["bias"] == bias


@pytest.mark.training
def test_too_few_documents_for_the_regression(tmp_path, in_process, monkeypatch):
    corpus = write_synthetic(tmp_path / "c", 20)
    monkeypatch.setattr(
        document_vectors, "_sentence_vectors", lambda *_: lambda texts: np.ones((len(texts), 2), np.float32)
    )
    done = again("li2021/bias", corpus, tmp_path / "out")
    assert done.results["explained"] is None
    assert "The regression is not possible here: 4 documents are too few" in (tmp_path / "out/table.md").read_text()


def test_rows_are_compared_with_the_first_where_the_papers_own_model_was_not_trained():
    links = ((0, 0),)
    by_row = {
        name: {
            seed: evaluate([Scored(f"d{n}", np.array([[score], [n / 4]]), links) for n in range(4)]) for seed in (0, 1)
        }
        for name, score in (("NoStruct", 0.3), ("MulLink", 0.9))
    }
    grid, found = compare_rows(by_row, "Ours")
    assert [line[4] for line in grid.rows] == ["–", "NoStruct"]
    assert found["NoStruct"]["difference"] is None
    assert found["MulLink"]["difference"]["to"] == "NoStruct"
    assert found["MulLink"]["difference"]["auc"]["difference"] == 0.5  # right in 4 of 4 documents instead of 2
    assert compare_rows(by_row, "MulLink")[1]["NoStruct"]["difference"]["to"] == "MulLink"
    assert compare_rows(by_row, "MulLink", {"MulLink": "NoStruct"})[1]["MulLink"]["difference"]["to"] == "NoStruct"
    assert compare_rows({}, "Ours")[0] is None
