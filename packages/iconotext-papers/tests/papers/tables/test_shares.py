from __future__ import annotations

import pytest

from iconotext_papers.tables.link_sections import overtaking


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
