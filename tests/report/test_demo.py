from __future__ import annotations

import re
from importlib import resources

import pytest

from iconotext.demo import write_demo
from iconotext.errors import OutputError


def test_the_article_names_every_picture_and_all_are_there(tmp_path):
    article = write_demo(tmp_path / "demo")
    named = re.findall(r"\]\(pictures/(\S+?)[ )]", article.read_text(encoding="utf-8"))
    assert sorted(named) == sorted(path.name for path in (tmp_path / "demo" / "pictures").iterdir())
    assert len(named) == 11
    assert all((article.parent / "pictures" / name).stat().st_size > 1000 for name in named)
    with pytest.raises(OutputError, match="force=True"):
        write_demo(tmp_path / "demo")
    assert write_demo(tmp_path / "demo", force=True) == article


def test_the_source_of_every_picture_is_named(tmp_path):
    write_demo(tmp_path)
    sources = (resources.files("iconotext.demo") / "pictures" / "SOURCES.md").read_text(encoding="utf-8")
    for picture in (tmp_path / "pictures").iterdir():
        assert f"| {picture.name} |" in sources
