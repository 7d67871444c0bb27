from __future__ import annotations

import pytest

from iconotext.papers.tables.link_sections import overtaking, write_shares
from tests.support.analyses import scores


@pytest.mark.parametrize(
    ("values", "level", "expected"),
    [
        ([(0.2, 0.7), (0.4, 0.8), (0.6, 0.9)], 0.75, 0.4),
        ([(0.6, 0.9), (0.2, 0.7), (0.4, 0.8)], 0.75, 0.4),  # in any order
        ([(0.2, 0.7), (0.4, 0.8)], 0.5, 0.2),
        ([(0.2, 0.7), (0.4, 0.8)], 0.8, None),  # as good is not better
        ([(0.2, 0.9), (0.4, 0.7), (0.6, 0.9)], 0.8, 0.6),  # it was lucky once
        ([(0.2, 0.9), (0.4, 0.7)], 0.8, None),
        ([], 0.8, None),
    ],
)
def test_the_share_from_which_on_it_is_better(values, level, expected):
    assert overtaking(values, level) == expected


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_drawn(tmp_path, suffix):
    supervised = {0.5: scores(0.6, 0.8), 0.2: scores(0.5, 0.6)}
    path = tmp_path / f"s.{suffix}"
    write_shares(supervised, {"Ours": scores(0.7, 0.7), "cost $2": scores(None)}, path)
    if suffix == "svg":
        text = path.read_text()
        for label in ("supervised", "Ours", "labelled training documents", "AUC", "p@1"):
            assert label in text
        other_order = dict(reversed(supervised.items()))
        write_shares(other_order, {"Ours": scores(0.7, 0.7), "cost $2": scores(None)}, path)
        assert path.read_text() == text
    write_shares(supervised, {}, path)
