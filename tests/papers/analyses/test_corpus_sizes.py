from __future__ import annotations

import pytest

from iconotext.corpus.row import Row
from iconotext.corpus.stats import TABLE_1, row_stats
from iconotext.errors import OutputError, SettingError
from iconotext.papers.analyses.corpus_sizes import write_sizes


def counted(*sizes):
    return row_stats(Row(id="a", split="train", sentences=["A."] * n, images=["i"] * m) for n, m in sizes)


@pytest.mark.slow
def test_equal_numbers_give_equal_figures(tmp_path):
    corpora = {"a $x": counted(*((n % 40, n % 7) for n in range(300)), (900, 200)), "none": counted()}
    for name in ("a.svg", "b.svg"):
        write_sizes(corpora, tmp_path / name)
    drawn = (tmp_path / "a.svg").read_text()
    assert drawn == (tmp_path / "b.svg").read_text()
    for words in ("a $x: 301 documents", "none: 0 documents", "sentences per document", "40+", "max 900"):
        assert words in drawn
    write_sizes({"a": counted((10, 10))}, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_drawn(tmp_path):
    with pytest.raises(OutputError, match="svg, png, pdf"):
        write_sizes({"a": counted((1, 1))}, tmp_path / "a.jpg")
    with pytest.raises(SettingError, match="no corpora"):
        write_sizes({}, tmp_path / "a.svg")


def test_table_1_as_published():
    assert list(TABLE_1) == ["MSCOCO", "Story-DII", "Story-SIS", "DII-Stress", "DIY", "RQA", "WIKI"]
    densities = {name: sizes.density for name, sizes in TABLE_1.items() if sizes.density is not None}
    assert densities == {"MSCOCO": 5, "Story-DII": 20, "Story-SIS": 20, "DII-Stress": 2, "DIY": 8, "RQA": 17}
