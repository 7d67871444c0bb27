"""The tables of Alikhani 2021, on a small corpus of pairs."""

from __future__ import annotations

import json

import numpy as np
import pytest

from iconotext.errors import CorpusError, SettingError
from iconotext.evaluate.statistics import Groups, resampled_counts
from iconotext.relations import CITE, CLUE
from iconotext_papers.published import published_cells
from iconotext_papers.tables.retrieval import (
    best_on_validation,
    data_set,
    differences_to,
    resampled_figures,
    swept,
    weighted_medians,
)
from iconotext_papers.tables.rows import chosen_rows, differing, find_table, table_rows
from iconotext_papers.tables.runner import reproduce
from papers.support.tables import Seen, contents
from tests.support.program import printed as run
from tests.support.training import write_pairs

SMALL = ["features.image=features.npy", "dim=8", "text.word_dim=6", "training.epochs=2", "training.batch=24"]


def coherence_rows(name, relations, overrides=()):
    return [row for row in table_rows(find_table(name), overrides, relations) if row.needed]


def made(table, corpus, folder, **more):
    return reproduce(table, corpus, folder, **{"watch": Seen(), "overrides": SMALL, **more})


# The rows


@pytest.mark.parametrize(("relations", "published"), [(CITE, 4), (CLUE, 5)])
def test_every_published_row_has_its_own_recipe(relations, published):
    rows = coherence_rows("alikhani2021/5", relations)
    assert [row.name for row in rows] == list(published_cells(f"alikhani2021/{published}"))
    assert len({row.key for row in rows}) == len(rows)


def test_tables_7_and_8_need_fewer_rows():
    assert [row.key for row in coherence_rows("alikhani2021/7", CLUE)] == ["cmca", "cmcm"]
    assert [row.name for row in coherence_rows("alikhani2021/8", CLUE)] == list(published_cells("alikhani2021/8"))


def test_the_data_set_is_told_by_its_relations():
    assert data_set(CITE[:2]) == "CITE++"
    assert data_set([*CLUE, "Mine"]) == "Clue"
    assert data_set(["Mine"]) is None
    assert data_set([*CITE, *CLUE]) is None


def test_what_the_rows_differ_in_cannot_be_set():
    with pytest.raises(SettingError, match="each row"):
        coherence_rows("alikhani2021/5", CLUE, ["objective.coherence=0.2"])
    rows = coherence_rows("alikhani2021/5", CLUE, ["cmcm*:objective.coherence=0.2"])
    assert {row.recipe.objective.coherence for row in rows} == {0, 0.2}


def test_rows_that_the_paper_has_not_are_there_where_they_are_named():
    table = find_table("alikhani2021/5")
    assert not [row.key for row in table_rows(table, (), CLUE) if row.extra]
    rows = table_rows(table, ["features.image=microsoft/resnet-50"], CLUE, extra=["cmcm-normalised"])
    (normalised,) = [row for row in rows if row.extra]
    assert normalised.recipe.objective.relation_loss == "mean"
    assert "objective.relation_loss mean (sum, Eq. 2)" in differing(
        normalised, table, rows[0].recipe, width=None, seeds=1
    )
    assert normalised not in chosen_rows(rows, [])
    assert chosen_rows(rows, ["cmcm-normalised"]) == (normalised,)


def test_a_name_that_no_row_has_names_the_others_too():
    table = find_table("alikhani2021/5")
    rows = table_rows(table, (), CLUE)
    with pytest.raises(SettingError, match=r"no such row; there are base .*cmcm .*cmcm-normalised"):
        chosen_rows(rows, ["cmcm-normal"], table.rows)


def test_a_network_that_is_trained_along_keeps_its_pixels():
    overrides = ["features.image=microsoft/resnet-50", "image.batch_norm=false"]
    names = ["cmca-fine-tuned", "cmcm-fine-tuned"]
    table = find_table("alikhani2021/4")
    rows = {row.key: row for row in table_rows(table, overrides, CITE, "CITE++", names)}
    for name in names:
        recipe = rows[name].recipe
        assert (recipe.features.image, recipe.image.kind) == ("pixels", "network")
        assert recipe.text.max_tokens == 200
        # "One additional batch normalization layer and one fully-connected layer", and all of the picture is seen; the
        # setting for the frozen features of other rows does not reach the network.
        assert (recipe.image.batch_norm, recipe.image.pictures) == (True, "resized")
    assert rows["cmca"].recipe.features.image == "microsoft/resnet-50"
    said = differing(rows["cmca-fine-tuned"], table, rows["cmca"].recipe, width=None, seeds=1)
    assert "image features efficientnet-lite0, trained along (ResNet-50)" in said
    named = [*overrides, "cmc*-fine-tuned:image.network=microsoft/resnet-50"]
    row = next(row for row in table_rows(table, named, CITE, "CITE++", names) if row.key == "cmca-fine-tuned")
    ours = differing(row, table, row.recipe, width=None, seeds=1)
    assert said == ["image features efficientnet-lite0, trained along (ResNet-50)", *ours]
    assert not [each for each in ours if each.startswith(("image", "features"))]


def test_figure_8_sweeps_one_value_at_a_time():
    rows = table_rows(find_table("alikhani2021/fig8"), dataset="Clue")
    assert (rows[0].recipe.objective.coherence, rows[0].recipe.text.max_tokens) == (0.1, 200)
    assert [value for value, _ in swept(rows, "λ_cls")] == [0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 1]
    assert [value for value, _ in swept(rows, "words of a text")] == [10, 20, 40, 80, 120, 160, 200, 250]


def test_the_search_varies_the_margin_or_the_layers_of_the_coherence_module():
    rows = table_rows(find_table("alikhani2021/search"), dataset="Clue")
    first = rows[0].recipe
    assert (first.objective.margin, first.objective.relation_layers, first.text.max_tokens) == (0.3, 1, 40)
    assert [value for value, _ in swept(rows, "margin")] == [0.05, 0.1, 0.2, 0.3, 0.4, 0.5]
    assert [value for value, _ in swept(rows, "layers of the coherence module")] == [1, 2, 3]
    assert len(swept(rows, "λ_cls")) == len(swept(rows, "words of a text")) == 1


def test_additive_attention_is_a_row_that_the_paper_has_not():
    named = ["cmca-additive", "cmcm-additive"]
    rows = {row.key: row for row in table_rows(find_table("alikhani2021/5"), (), CLUE, extra=named)}
    for name in named:
        own, papers = rows[name].recipe, rows[name.removesuffix("-additive")].recipe
        assert own.text.attention == "additive"
        assert own.model_copy(update={"name": papers.name, "text": papers.text}) == papers


# The whole


def test_of_one_measured_value_none_is_named_best():
    scores = {name: {0: {"validation": {"median_rank": rank}}} for name, rank in (("a", 3.0), ("b", 2.0))}
    panels = {"λ_cls": [(0.1, "a"), (0.2, "b")], "words of a text": [(200, "a")]}
    assert best_on_validation(panels, scores) == ["λ_cls 0.2"]


@pytest.mark.slow
def test_figure_8_is_drawn(tmp_path, in_process):
    corpus, folder = write_pairs(tmp_path), tmp_path / "out"
    done = made("alikhani2021/fig8", corpus, folder, only=["chosen", "weight-0.01", "words-10"])
    assert not done.failed
    table = (folder / "table.md").read_text()
    names = [
        line.split("|")[1].strip(" ¹²³†").replace("\\", "") for line in table.splitlines() if line.startswith("| ")
    ]
    assert names[1:] == ["λ_cls = 0.1 and 200 words", "λ_cls = 0.01", "10 words"]
    assert "validation MedR" in table
    assert "The values are ours" in table
    assert "Image features are frozen where a row does not say otherwise" in table
    figure = (folder / "sweeps.svg").read_text()
    assert "words of a text" in figure
    assert done.results["differences"]["10 words"]["to"] == "λ_cls = 0.1 and 200 words"


@pytest.mark.slow
def test_a_table_is_filled_and_nothing_is_done_twice(tmp_path, in_process):
    corpus = write_pairs(tmp_path)
    in_process.add("cmcm-story")
    folder = tmp_path / "out"
    done = made("alikhani2021/5", corpus, folder, seeds=2)
    assert done.failed == {"cmcm-story": "out of luck"}
    results = json.loads((folder / "results.json").read_text())
    assert results == done.results
    assert results["dataset"] == "Clue"
    assert list(results["rows"]) == ["Base", "CMCA", "CMCM-NoAttn", "CMCM", "CMCM Visible", "CMCM Action",
                                     "CMCM Story", "CMCM Meta"]  # fmt: skip
    assert list(results["rows"]["CMCM"]) == ["0", "1"]
    assert list(results["rows"]["CMCM Story"]) == ["1"]
    assert "refined" not in results["rows"]["Base"]["0"]
    assert results["rows"]["CMCM"]["0"]["pool"] == 32  # fewer than 500 pictures
    assert list(results["rows"]["CMCM Visible"]["0"]["precision"]) == ["Visible"]
    table = (folder / "table.md").read_text()
    for title in ("Table 5 of Alikhani et al. 2021", "Figure 5", "Table 7: by relation", "Table 8: telling relations"):
        assert title in table
    published = next(line for line in table.splitlines() if line.startswith("| CMCM Story "))
    assert published.endswith("| 17.7 ± 1.7 | 13.0 | 30.7 | 41.5 |")
    assert {"λ and T", "MedR − CMCA"} <= {cell.strip() for line in table.splitlines() for cell in line.split("|")}
    assert results["rows"]["CMCM"]["0"]["refined"]["Clue"]["strength"] == 0.12
    refinements = [line for line in table.splitlines() if line.startswith("| CMCM ") and "0.12, 0.1" in line]
    assert "the paper's, Clue" in refinements[0]
    assert len(results["differences"]["CMCM"]["median_rank"]["interval"]) == 2
    assert "Image features are frozen where a row does not say otherwise" in table
    page = (folder / "table.html").read_text()
    assert '<img src="refinement.svg"' in page
    assert (folder / "refinement.svg").stat().st_size > 1000
    refinement = folder / "models/cmcm/refinement.json"
    fitted = refinement.read_text()
    refinement.write_text('{"strength": 0.12, "threshold": 0.1}')  # those of the paper
    own = results["rows"]["CMCM"]["0"]
    arguments = ("evaluate", folder / "models/cmcm", corpus, "--split", "test", "--pool", "32")
    same = json.loads(run(*arguments, "--json"))
    refinement.write_text(fitted)
    for metric in ("median_rank", "r@1", "r@5", "r@10"):
        assert same[metric] == pytest.approx(own["retrieval"][metric], abs=1e-6)
        assert same["refined"][metric] == pytest.approx(own["refined"]["Clue"][metric], abs=1e-6)
    assert same["average_precision"] == own["precision"]

    in_process.clear()
    before = {path: time for path, time in contents(folder / "models").items() if "cmcm-story/" not in path}
    again = made("alikhani2021/5", corpus, folder, seeds=2)
    assert not again.failed
    assert before.items() <= contents(folder / "models").items()
    assert set(again.results["rows"]["CMCM Story"]) == {"0", "1"}


@pytest.mark.slow
def test_tables_share_their_models_and_no_figure_hangs_on_the_order_or_an_interruption(tmp_path, in_process):
    corpus, folder, parts = write_pairs(tmp_path), tmp_path / "whole", tmp_path / "parts"
    whole = made("alikhani2021/7", corpus, folder)
    before = contents(folder / "models")
    seen = Seen()
    made("alikhani2021/8", corpus, folder, watch=seen)
    assert "cmcm" not in [key for key, _ in seen.told]
    assert before.items() <= contents(folder / "models").items()

    made("alikhani2021/7", corpus, parts, only=["cmcm"])
    again = made("alikhani2021/7", corpus, parts)
    assert whole.results["rows"] == again.results["rows"]
    assert whole.results["differences"] == again.results["differences"]
    assert "normalised" not in (parts / "table.md").read_text()
    made(
        "alikhani2021/5", corpus, parts, only=["cmcm-normalised"]
    )  # a row that the paper has not comes later and stays
    again = made("alikhani2021/7", corpus, parts)
    assert list(again.results["rows"]) == ["CMCA", "CMCM", "CMCM (Eq. 2 normalised)"]
    assert "loss mean (sum, Eq. 2)" in (parts / "table.md").read_text()


def scored(*ranks, **refined):
    """What was measured of a model: the ranks of the right images in one pool of all, from 1."""

    def draw(ranks):
        return [{"queries": list(range(len(ranks))), "above": [rank - 1 for rank in ranks], "tied": [0] * len(ranks)}]

    kinds = {"retrieval": ranks, **refined}
    return {
        "pairs": len(ranks),
        "image_of": list(range(len(ranks))),
        "ranks": {kind: draw(each) for kind, each in kinds.items()},
    }


def test_differences_are_paired_by_query_and_seed():
    scores = {
        "CMCA": {0: scored(2, 1, 30), 1: scored(5, 1, 11)},
        "CMCM": {0: scored(1, 1, 30, Clue=(1, 1, 4)), 1: scored(1, 1, 11, Clue=(1, 1, 11))},
        "Base": {7: scored(9, 9, 9)},
        "Other pairs": {0: scored(1, 1, 1, 1)},
    }
    found = differences_to(scores, "CMCA")
    assert list(found) == ["CMCM"]  # Base has no seed in common, the last one no pairs
    assert found["CMCM"]["seeds"] == 2
    assert found["CMCM"]["median_rank"]["difference"] == -2.5  # 1 - 2 and 1 - 5
    assert found["CMCM"]["r@1"]["difference"] == pytest.approx(1 / 3)
    assert found["CMCM"]["r@10"]["difference"] == 0
    low, high = found["CMCM"]["median_rank"]["interval"]
    assert low < -2.5 < high
    assert found["CMCM"]["refined"]["Clue"]["median_rank"]["difference"] == 0
    assert found["CMCM"]["refined"]["Clue"]["r@10"]["difference"] == pytest.approx(1 / 6)


def test_median_ranks_of_drawn_pairs_are_those_of_the_pairs_as_often_as_they_were_drawn():
    random = np.random.default_rng(0)
    values, counts = random.integers(1, 9, 7).astype(float), random.integers(0, 4, (50, 7)).astype(float)
    counts[:, 0] = 1
    expected = [np.median(np.repeat(values, row.astype(int))) for row in counts]
    assert weighted_medians(values, counts).tolist() == expected


def test_intervals_of_median_ranks_are_those_of_drawing_the_pairs_by_hand():
    random = np.random.default_rng(1)
    pairs = 40
    draws = [
        {"queries": sorted(random.choice(pairs, 25, replace=False).tolist()),
         "above": random.integers(0, 25, 25).tolist(), "tied": [0] * 25}
        for _ in range(3)
    ]  # fmt: skip
    image_of = [pair // 2 for pair in range(pairs)]  # two pairs of each picture, which are drawn together
    found = resampled_figures(draws, image_of, resamplings=5)
    counts = np.concatenate([np.ones((1, pairs)), *resampled_counts(Groups(np.array(image_of), pairs // 2), 5, 0)])
    for row, drawn in zip(found, counts, strict=True):
        medians, first = [], []
        for draw in draws:
            ranks = np.repeat(np.array(draw["above"]) + 1, drawn[draw["queries"]].astype(int))
            medians.append(np.median(ranks))
            first.append((ranks == 1).mean())
        assert row[0] == pytest.approx(np.mean(medians))
        assert row[1] == pytest.approx(np.mean(first))


@pytest.mark.parametrize(
    ("corpus", "more", "message"),
    [
        ({"splits": False}, {}, "need a corpus with splits"),
        ({"labels": False}, {}, "has labels of relations"),
        ({}, {"dataset": "MSCOCO"}, r"has CITE\+\+, Clue"),
        ({}, {"overrides": [*SMALL, "nosuchrow:training.epochs=3"]}, "no row is called nosuchrow"),
    ],
)
def test_what_cannot_fill_the_table_is_refused_at_once(tmp_path, corpus, more, message):
    with pytest.raises((CorpusError, SettingError), match=message):
        made("alikhani2021/5", write_pairs(tmp_path, **corpus), tmp_path / "out", **more)


def test_test_documents_must_be_pairs(tmp_path):
    corpus = write_pairs(tmp_path)
    rows = [json.loads(line) for line in corpus.read_text().splitlines()]
    rows[4]["sentences"].append("another")
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(CorpusError, match="test documents need one sentence and one image"):
        made("alikhani2021/5", corpus, tmp_path / "out")


@pytest.mark.slow
def test_a_model_that_was_trained_anew_is_measured_anew(tmp_path, in_process):
    corpus = write_pairs(tmp_path)
    made("alikhani2021/7", corpus, tmp_path / "out", only=["cmcm"])
    path = tmp_path / "out" / "results" / "cmcm.json"
    scored = json.loads(path.read_text())
    assert scored["draws"] == 1  # a pool of all pictures is drawn once
    path.write_text(json.dumps(scored | {"weights": "of another model", "pairs": 999}))
    again = made("alikhani2021/7", corpus, tmp_path / "out", only=["cmcm"])
    assert again.results["rows"]["CMCM"]["0"]["pairs"] == 32
    assert ", 1 draw, 1 seed" in (tmp_path / "out" / "table.md").read_text()
