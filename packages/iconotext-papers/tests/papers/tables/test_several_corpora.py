"""One table of several corpora, with what Hessel 2019 says of agreement and difficulty beside ours."""

from __future__ import annotations

import json

import numpy as np
import pytest

from iconotext_papers.tables import runner as module
from iconotext_papers.tables.several_corpora import named_corpora, reproduce_corpora
from papers.support.tables import SMALL, Seen
from tests.support.training import THINGS, write_synthetic


def test_data_sets_may_be_named_by_what_follows_their_hyphen():
    found = named_corpora("2", ["mscoco=a", "dii=b=c.jsonl", "SIS=d", "stress=e"])
    assert {name: str(path) for name, path in found.items()} == {
        "MSCOCO": "a", "Story-DII": "b=c.jsonl", "Story-SIS": "d", "DII-Stress": "e",
    }  # fmt: skip


@pytest.fixture
def wide(tmp_path):
    """Two corpora with enough test documents, and vectors long enough, for 20 dimensions of content."""
    random = np.random.default_rng(3)
    words = [*(f"thing{number}" for number in range(THINGS)), *(f"word{number}" for number in range(5)), "a", "and"]
    lines = [f"{word} {' '.join(map(str, random.normal(size=24).round(3)))}" for word in [*words, "here"]]
    (tmp_path / "v.txt").write_text("\n".join(lines))
    found = {}
    for seed, name in enumerate(("MSCOCO", "Story-DII")):
        found[name] = write_synthetic(tmp_path / name, 260, seed=seed)
        table = np.load(tmp_path / name / "features.npy")
        np.save(tmp_path / name / "features.npy", np.hstack([table, random.normal(size=(len(table), 8))]).astype("f4"))
    return found, ["text.word_dim=24", f"text.word_vectors={tmp_path / 'v.txt'}"]


@pytest.mark.slow
@pytest.mark.training
def test_two_corpora_stand_in_one_table_with_agreement_and_difficulty(tmp_path, monkeypatch, wide, in_process):
    monkeypatch.setattr(module, "collapse_of", lambda folder, key: None)  # so short a training does not leave its start
    corpora, settings = wide
    overrides = [*(each for each in SMALL if "word_dim" not in each), *settings]
    calls = {"overrides": overrides, "only": ["random", "dense", "assignment"]}
    done = reproduce_corpora("2", corpora, tmp_path / "out", watch=Seen(), **calls)
    assert done.failed == {}
    table = (tmp_path / "out/table.md").read_text().replace("\\_", "_")
    assert "once a loss was below that of equal similarities" in table  # rules that no setting holds
    assert "whose reset gate acts behind the matrix product" in table
    head, _, *lines = [line for line in table.splitlines() if line.startswith("|")]
    groups = [cell.split(":")[0].strip() for cell in head.split("|")[2:-1:2]]
    assert groups == [
        "MSCOCO (ours)", "MSCOCO (published)", "Story-DII (ours)", "Story-DII (published)",
        "Story-SIS (published)", "DII-Stress (published)",
    ]  # fmt: skip
    ap = next(line for line in lines if line.startswith("| AP ")).split("|")
    assert [cell.strip() == "–" for cell in ap[2:-1:2]] == [False, False, False, False, False, False]
    assert ap[6].count("(") == 1
    assert not any(line.startswith("| TK") for line in lines)  # nobody asked for it
    assert (
        "data: Story-DII (corpus.jsonl), 156 / 52 / 52 documents for training / validation / test (Story-DII: 22,000"
        in table
    )
    assert "| MSCOCO | " in table
    rho = next(line for line in table.splitlines() if line.endswith("| DC, AP: 0.89 |"))
    assert rho.startswith("| MSCOCO |")
    hard = next(
        line for line in table.splitlines() if line.startswith("| Story-DII |") and line.endswith("| 42 | 52 |")
    )
    assert "–" not in hard
    figure = (tmp_path / "out/curves.svg").read_text()
    assert "MSCOCO" in figure
    assert "Story-DII" in figure
    assert "curves.svg" in table
    own = json.loads((tmp_path / "out/story-dii/results.json").read_text())
    assert own == done.results["corpora"]["Story-DII"]
    assert done.results["difficulty"].keys() == {"MSCOCO", "Story-DII"}
    hard = own["difficulty"]["Story-DII"]
    assert (hard["documents"], 0 <= hard["image_spread"] <= hard["spread"] <= hard["content"] <= 1) == (52, True)
    # What is done is not done again.
    watch = Seen()
    reproduce_corpora("2", corpora, tmp_path / "out", watch=watch, **calls)
    assert watch.told == []
    # A run that stayed at its start is in the table, with a mark, but agrees with nobody.
    collapse = {"epoch": None, "learned": False, "why": "the loss stayed at 0.4"}
    stayed = ("mscoco", "assignment")
    monkeypatch.setattr(module, "collapse_of", lambda folder, key: collapse if (folder.name, key) == stayed else None)
    again = reproduce_corpora("2", corpora, tmp_path / "out", watch=watch, **calls)
    table = (tmp_path / "out/table.md").read_text()
    assert "Left out, since training never left its start: AP on MSCOCO." in table
    assert "AP on MSCOCO learned nothing: the loss stayed at 0.4" in table
    assert again.results["correlation"].keys() == again.results["difficulty"].keys() == {"Story-DII"}
