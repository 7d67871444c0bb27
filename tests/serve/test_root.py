"""What is below the root is shown with what can be opened, and nothing of elsewhere."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
from fastapi import HTTPException

from iconotext.errors import DocumentError
from iconotext.serve import root as module
from iconotext.serve.pages import folder
from iconotext.serve.root import ENTRIES, OUTSIDE, below, shelf
from iconotext.serve.settings import ServeSettings
from iconotext.serve.sources import NOT_UTF_8, Place, documents_in, read_place


@pytest.fixture
def home(tmp_path):
    """A folder with documents, pictures and links, and a secret beside it."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "secret.md").write_text("# Secret\n")
    made = tmp_path / "home"
    for name in ("guide/a.md", "guide/deep/b.html", "guide/node_modules/c.md", ".git/d.md", "e.md", "f.py", "g.py"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text("# A boat\n\nIt is red.\n")
    (made / "guide" / "red.png").write_bytes(b"x")
    (made / "blue.JPG").write_bytes(b"x")
    (made / "out").symlink_to(tmp_path / "secret")
    (made / "out.md").symlink_to(tmp_path / "secret" / "secret.md")
    (made / "gone.md").symlink_to(made / "nothing.md")
    (made / "round").symlink_to(made)
    (made / "twice").symlink_to(made / "guide" / "deep")
    (made / "guide" / "out.md").symlink_to(tmp_path / "secret" / "secret.md")
    for link in ("loop", "loop.md", "guide/loop.md"):
        (made / link).symlink_to(made / link)
    return made


def test_folders_and_documents_are_shown(home):
    found = shelf(home, "", 1)
    assert {each.name: (each.about, each.opens) for each in found.inside} == {
        ".git": ("", True),
        "guide": ("", True),
        "out": (OUTSIDE, False),
        "round": ("", True),
        "twice": ("", True),
        "e.md": ("21 bytes", True),
        "gone.md": ("a link to nothing", False),
        "loop": ("a link to nothing", False),
        "loop.md": ("a link to nothing", False),
        "out.md": (OUTSIDE, False),
    }
    assert shelf(home, "guide/deep", 1).way == [("guide", "guide"), ("deep", "guide/deep")]


def test_a_name_that_is_not_utf_8_says_so(home, store):
    (home / "a\udcff").mkdir()
    (home / "a\udcff" / "b.md").write_text("# A\n")
    page = folder(SimpleNamespace(settings=ServeSettings(root=home), store=store), "", 1)
    assert f'<span>a\ufffd</span><span class="quiet">{NOT_UTF_8}</span>'.encode() in page.encode()
    with pytest.raises(DocumentError, match=f"^a\ufffd/b.md: {NOT_UTF_8}$"):
        documents_in(str(home), str(home), 99)


def test_a_pipe_keeps_nobody_waiting(home):
    os.mkfifo(home / "pipe.md")
    with pytest.raises(DocumentError, match=r"pipe\.md: a pipe or a device, not a file"):
        read_place(Place(str(home / "pipe.md"), "pipe", str(home)))


def test_a_link_to_itself_costs_no_other_document(home):
    found = {path for _, path in documents_in(str(home), str(home), 99)}
    assert {str(home / "guide" / "a.md"), str(home / "loop.md")} <= found
    with pytest.raises(DocumentError, match=r"loop\.md: cannot be read"):
        read_place(Place(str(home / "loop.md"), "loop", str(home)))


@pytest.mark.parametrize(
    "path", ["..", "../secret", "/", "out", "out/secret.md", "nothing", "a\0b", "guide/../..", "~", "e.md/x"]
)
def test_nothing_outside_is_shown(home, path):
    with pytest.raises(HTTPException, match="404"):
        shelf(home, path, 1)
    with pytest.raises(HTTPException, match="404"):
        below(None, path)


def test_a_long_folder_has_pages(home):
    (home / "many").mkdir()
    for n in range(ENTRIES + 5):
        (home / "many" / f"{n:03}.md").write_text("# A\n")
    found = shelf(home, "many", 2)
    assert [each.name for each in found.inside] == [f"{n:03}.md" for n in range(ENTRIES, ENTRIES + 5)]
    assert (found.pages.last, found.pages.total) == (2, ENTRIES + 5)


def test_a_format_that_needs_an_extra_says_so(home, monkeypatch):
    monkeypatch.setattr(module, "lacks_extra", lambda suffix: suffix == ".md")
    (one,) = [each for each in shelf(home, "", 1).inside if each.name == "e.md"]
    assert (one.about, one.opens) == ("is read with iconotext[formats] alone", False)
