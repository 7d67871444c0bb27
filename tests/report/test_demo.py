from __future__ import annotations

import re
import sys

import pytest

from iconotext.demo import CARD, PHOTOGRAPHS, write_demo
from iconotext.errors import MissingPackageError, OutputError


@pytest.mark.slow
def test_the_article_names_every_photograph_and_all_are_there(tmp_path):
    article = write_demo(tmp_path / "demo")
    named = re.findall(r"\]\(pictures/(\S+?)[ )]", article.read_text(encoding="utf-8"))
    assert sorted(named) == sorted((*PHOTOGRAPHS, CARD))
    assert all((article.parent / "pictures" / name).stat().st_size > 1000 for name in named)
    with pytest.raises(OutputError, match="the option force"):
        write_demo(tmp_path / "demo")
    assert write_demo(tmp_path / "demo", force=True) == article


def test_without_scikit_image_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage", None)
    with pytest.raises(MissingPackageError, match=r"iconotext\[demo\]"):
        write_demo(tmp_path)
    assert list(tmp_path.iterdir()) == []
