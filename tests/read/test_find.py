from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path

import pytest

from iconotext import ReadSettings, read, read_all
from iconotext.errors import DocumentError, SettingError
from iconotext.read import find_documents
from iconotext.read.find import EXCLUDED, OWN_PAGE, TEMPLATE, unread_lines


@pytest.fixture
def site(tmp_path):
    """A folder to fill: ``site("a.md", "b/c.html")`` makes files with a sentence in each."""

    def make(*names: str, text: str = "A sentence of some length stands here.") -> Path:
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return tmp_path

    return make


def found(folder: Path, skipped: Counter[str] | None = None, **settings: object) -> list[str]:
    walked = find_documents([folder], ReadSettings.model_validate(settings), skipped=skipped)
    return [path.relative_to(folder).as_posix() for path, _ in walked]


def test_folders_of_site_generators_are_left_out(site):
    folder = site(
        "a.md", "_posts/b.md", "_layouts/no.html", "_includes/no.html", "_site/no.html", "x/_build/no.html", ".git/no.md",
        "public/no.html", "hugo.toml", "docs/public/yes.md", "docs/build/yes.md", "node_modules/p/README.md",
    )  # fmt: skip
    skipped: Counter[str] = Counter()
    assert found(folder, skipped) == ["a.md", "_posts/b.md", "docs/build/yes.md", "docs/public/yes.md"]
    assert skipped["_layouts/"] == skipped["public/"] == skipped[".toml"] == 1


def test_patterns_are_those_of_gitignore(site):
    folder = site("a.md", "drafts/b.md", "posts/c.md", "posts/drafts/d.md", "posts/e.draft.md", "_layouts/f.md")
    assert found(folder, exclude=["drafts/", "*.draft.md"]) == ["a.md", "posts/c.md"]
    assert found(folder, exclude=["/drafts/"]) == ["a.md", "posts/c.md", "posts/e.draft.md", "posts/drafts/d.md"]
    assert found(folder, include=["posts/"], exclude=["drafts/"]) == ["posts/c.md", "posts/e.draft.md"]
    assert found(folder, include=["*.md"], exclude=["*", "!a.md"]) == ["a.md"]
    assert "_layouts/f.md" in found(folder, exclude=["!_layouts/"])  # what is left out unasked can be taken back
    with pytest.raises(SettingError, match="gitignore"):
        found(folder, exclude=["!"])


def test_a_named_file_is_always_read(site):
    folder = site("_layouts/a.html", "drafts/b.txt")
    paths = [folder / "_layouts" / "a.html", folder / "drafts" / "b.txt"]
    assert [path for path, _ in find_documents(paths, ReadSettings(exclude=("*",)))] == paths


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("<html><body>{% block content %}{% endblock %}</body></html>", TEMPLATE),
        ('{{ define "main" }}<h1>{{ .Title }}</h1>{{ range .Pages }}<a href="{{ .Link }}">+</a>{{ end }}{{ end }}', TEMPLATE),
        ("---\nlayout: x\n---\n{% for post in site.posts %}<li>{{ post.title }}</li>{% endfor %}", TEMPLATE),
        ("{#" * 40_000, TEMPLATE),
        ("<" * 60_000 + "{{ x }}", None),
        ("<p>A page with plenty of text, and the year {{ year }} in it.</p>", None),
        ("<p>Short.</p><script>var a = {{ 'a lot of data that no reader sees' }}</script>", None),
        ("<p>No tags at all.</p>", None),
        ('<head><meta name="generator" content="iconotext"></head><p>A page that we made.</p>', OWN_PAGE),
    ],
)  # fmt: skip
def test_templates_and_own_pages_are_no_documents(site, html, reason):
    folder = site("a.html", text=html)
    skipped: Counter[str] = Counter()
    assert found(folder, skipped) == ([] if reason else ["a.html"])
    assert skipped == Counter([reason] if reason else [])


def test_what_is_not_read_is_counted_and_logged(site, caplog):
    folder = site("a.md", "b.txt", "c.txt", "d.wpd", "e.md")
    skipped: Counter[str] = Counter()
    with caplog.at_level(logging.INFO, "iconotext"):
        assert found(folder, skipped, exclude=["e.md"]) == ["a.md"]
    assert skipped == {".txt": 2, ".wpd": 1, EXCLUDED: 1}
    assert f"{folder / 'd.wpd'}: not read (.wpd)" in caplog.messages


def test_a_folder_that_cannot_be_listed_is_a_problem(site, monkeypatch):
    import os

    folder = site("a.md", "b/c.md")
    scan = os.scandir

    def refuse(path):
        if str(path).endswith("b"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    last = list(read_all([folder]))[-1]
    assert str(folder / "b") in str(last.error)


def test_templates_with_pictures_are_named(site):
    folder = site("a.md", "b.txt")
    (folder / "page.njk").write_text('{% for p in all %}<img src="{{ p }}">{% endfor %} ![A fox](fox.png)')
    (folder / "layout.njk").write_text("{{ content }}")
    skipped: Counter[str] = Counter()
    assert found(folder, skipped) == ["a.md"]
    assert list(unread_lines(skipped)) == [
        "Not read: 1 .txt, 1 .njk",
        "The templates among these hold 2 pictures: link the pages that are made of them",
    ]
    with pytest.raises(DocumentError, match=r"page\.njk: a template; give the pages that are made of it"):
        read(folder / "page.njk")


def test_a_path_in_place_of_a_list_is_refused():
    with pytest.raises(TypeError, match="paths are a list, such as \\['abc'\\]"):
        list(find_documents("abc"))
