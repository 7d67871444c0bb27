"""``iconotext link`` into a folder of pages: what is made anew, what is left, what is removed."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

import iconotext.cli.link
from iconotext.evidence.habit import Habit
from iconotext.evidence.layout import PLACES
from iconotext.linker import Linker, LinkSettings
from iconotext.read import Failure, as_document_or_failure
from iconotext.report.page_folder import NAME as MANIFEST
from iconotext.types import Document, Link, LinkedDocument
from tests.support import program
from tests.support.epub import book
from tests.support.program import printed as run


class QuickLinker:
    """Links every good picture to the first sentence, and remembers what it was asked for."""

    settings = LinkSettings()

    def __init__(self) -> None:
        self.linked: list[str] = []
        self.taught = 0

    def habits(self, documents: Iterable[Document | Failure]) -> dict[str, Habit]:
        """Nobody has any; remembers how many documents were to teach some."""
        self.taught = len(list(documents))
        return {}

    def link(self, document: Document, habits: Mapping[str, Habit] | None = None) -> LinkedDocument:
        self.linked.append(document.id)
        good = [number for number, image in enumerate(document.images) if image.problem is None]
        links = tuple(Link(0, number, 0.5, 0.5, 0.5, {"picture": 0.5}) for number in good)
        return LinkedDocument(document, links, np.zeros((len(document.sentences), len(document.images))), "quick")

    def link_all(
        self, documents: Iterable[Document | Path | str | Failure], habits: Mapping[str, Habit] | None = None
    ) -> Iterator[LinkedDocument | Failure]:
        for document in map(as_document_or_failure, documents):
            yield document if isinstance(document, Failure) else self.link(document)

    def again(self, *arguments: object, status: int = 0) -> list[str]:
        """Run ``iconotext link``; the documents that were linked."""
        self.linked = []
        run("link", *arguments, status=status)
        return self.linked


@pytest.fixture
def quick(monkeypatch):
    linker = QuickLinker()
    monkeypatch.setattr(Linker, "load", lambda *_: linker)
    return linker


@pytest.fixture
def docs(tmp_path, picture):
    """Three documents with a picture each: ``a``, ``b`` and ``c``."""
    for seed, name in enumerate("abc"):
        picture(f"docs/img/{name}.png", seed=seed)
        (tmp_path / "docs" / f"{name}.md").write_text(
            f"# Title {name}\n\nA sentence of {name}.\n\n![](img/{name}.png)\n"
        )
    return tmp_path / "docs"


def pages(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.html"))}


def listed(folder: Path) -> list[str]:
    """The pages that the index leads to."""
    return re.findall(r'<li><a href="([^"]*)">', (folder / "index.html").read_text())


def times(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.html")}


def test_a_rerun_makes_only_what_has_changed(quick, docs, tmp_path, picture, monkeypatch):
    out = tmp_path / "out"

    def again(*more: object) -> list[str]:
        return quick.again(docs, "-o", out, *more)

    assert again() == ["a", "b", "c"]
    before, written = pages(out), times(out)
    assert again() == []
    assert (pages(out), times(out)) == (before, written)
    (docs / "a.md").write_text("# Title a\n\nAnother sentence.\n\n![](img/a.png)\n\n![](img/later.png)\n")
    assert again() == ["a"]
    assert {name for name, page in pages(out).items() if page != before[name]} == {"a.html", "index.html"}
    assert again() == []  # though a picture of it is missing
    picture("docs/img/later.png", seed=9)
    assert again() == ["a"]
    picture("docs/img/b.png", seed=8)
    assert again() == ["b"]
    (out / "c.html").unlink()
    assert again() == ["c"]
    os.utime(docs / "a.md")
    assert again() == []
    assert again("--k", 1) == ["a", "b", "c"]
    assert again("--k", 1, "--no-cache", "--exclude", "nothing") == []
    assert again("--k", 1, "--model", "other") == ["a", "b", "c"]
    monkeypatch.setattr(iconotext.cli.link, "__version__", "99")
    assert again("--k", 1, "--model", "other") == ["a", "b", "c"]
    assert again("--k", 1, "--model", "other", "--force") == ["a", "b", "c"]


def test_the_numbers_of_what_is_unchanged_are_right(quick, docs, tmp_path):
    (docs / "a.md").write_text("# Title a\n\nA sentence.\n\n![](img/a.png)\n\n![](gone.png)\n")
    command = ["link", docs, "-o", tmp_path / "out"]
    first = run(*command)
    assert "3 documents" in first
    assert run(*command) == first


def test_a_model_of_the_same_name_with_other_weights_is_another(quick, docs, tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    command = [docs, "-o", tmp_path / "out", "--model", model]
    (model / "recipe.toml").write_text("x = 1")
    assert len(quick.again(*command)) == 3
    assert quick.again(*command) == []
    for name in ("recipe.toml", "weights.safetensors"):
        (model / name).write_text("x = 2")
        assert len(quick.again(*command)) == 3


def test_pages_of_documents_that_are_gone_are_removed_and_nothing_else(quick, docs, tmp_path):
    out = tmp_path / "out"
    quick.again(docs, "-o", out)
    (out / "notes.html").write_text("the user's own")
    (out / "c.html").write_bytes((out / "c.html").read_bytes() + b"<!-- the user's -->")
    changed = (out / "c.html").read_bytes()
    for name in "bc":
        (docs / f"{name}.md").unlink()
    assert quick.again(docs, "-o", out) == ["a"]  # one that is alone is linked for its table
    assert set(pages(out)) == {"a.html", "c.html", "index.html", "notes.html"}
    assert listed(out) == ["a.html"]
    assert (out / "c.html").read_bytes() == changed
    assert (out / "notes.html").read_text() == "the user's own"
    (docs / "a.md").unlink()
    assert "no documents" in run("link", docs, "-o", out, status=1)


def test_a_page_that_somebody_changed_stays(quick, docs, tmp_path):
    out = tmp_path / "out"
    quick.again(docs, "-o", out)
    changed = (out / "a.html").read_bytes().replace(b"Title a", b"Title A")
    (out / "a.html").write_bytes(changed)
    assert quick.again(docs, "-o", out) == []  # nothing to do for it
    (docs / "a.md").write_text("New.\n\n![](img/a.png)")
    (docs / "b.md").write_text("New.\n\n![](img/b.png)")
    said = run("link", docs, "-o", out, status=1)
    assert "a.html exists already, and is not as iconotext wrote it: the option force replaces it" in said
    assert (out / "a.html").read_bytes() == changed
    assert b"New." in (out / "b.html").read_bytes()
    quick.again(docs, "-o", out, "--force")
    assert b"New." in (out / "a.html").read_bytes()


def test_files_of_the_user_are_in_the_way(quick, docs, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.html").write_text("mine")
    (out / "sub").mkdir()
    assert quick.again(docs, "-o", out, status=1) == ["b", "c"]
    assert (out / "a.html").read_text() == "mine"
    (out / "index.html").write_text("mine, too")
    assert "index.html exists already" in run("link", docs, "-o", out, status=1)
    assert quick.linked == ["b", "c"]  # not even begun
    assert (out / "index.html").read_text() == "mine, too"
    quick.again(docs, "-o", out, "--force")
    assert listed(out) == ["a.html", "b.html", "c.html"]


def test_no_page_replaces_a_document(quick, tmp_path):
    (tmp_path / "page.html").write_text("<p>A sentence that is the document.</p>")
    for force in ([], ["--force"]):
        said = run("link", tmp_path / "page.html", "-o", tmp_path, *force, status=1)
        assert "page.html is one of the documents: name another folder" in said
    assert "the document" in (tmp_path / "page.html").read_text()


def test_documents_of_another_folder_come_beside_the_first(quick, docs, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("Another a.\n\n![](gone.png)")
    (other / "index.md").write_text("A document with the name of the index.\n\n![](gone.png)")
    out = tmp_path / "out"
    quick.again(docs, "-o", out)
    assert quick.again(other, "-o", out) == ["a", "index"]
    assert listed(out) == ["a.html", "b.html", "c.html", "other-a.html", "other-index.html"]
    assert quick.again(docs, other, "-o", out) == []
    assert quick.again(docs / "b.md", "-o", out, "--quiet") == []
    (docs / "b.md").unlink()
    assert quick.again(other, "-o", out) == []
    assert listed(out) == ["a.html", "c.html", "other-a.html", "other-index.html"]  # one is gone from the disk
    assert quick.again(docs, "-o", out, "--exclude", "c.md", "--quiet") == []
    assert listed(out) == ["a.html", "other-a.html", "other-index.html"]  # one is no document of its folder any more


def test_the_order_of_runs_does_not_matter(quick, docs, tmp_path):
    for order in (["a", "b", "c"], ["c", "b", "a"]):
        for name in order:
            quick.again(docs / f"{name}.md", "-o", tmp_path / order[0])
    quick.again(docs, "-o", tmp_path / "once")
    assert pages(tmp_path / "a") == pages(tmp_path / "c") == pages(tmp_path / "once")


def test_the_folder_may_lie_among_the_documents_and_be_moved_with_them(quick, docs, tmp_path):
    out = docs / "pages"
    assert quick.again(docs, "-o", out) == ["a", "b", "c"]
    said = run("link", docs, "-o", out)
    assert quick.linked == ["a", "b", "c"]
    docs.rename(tmp_path / "moved")
    moved = tmp_path / "moved"
    assert quick.again(moved, "-o", moved / "pages") == []
    assert "3 documents" in said
    assert quick.again(moved, "-o", moved) == ["a", "b", "c"]  # beside the documents themselves
    assert quick.again(moved, "-o", moved) == []


def test_chapters_of_a_book(quick, tmp_path):
    path = tmp_path / "book.epub"
    chapters = {name: f"<h1>Title {name}</h1><p>A sentence of {name}.</p>" for name in ("one", "two", "three")}
    path.write_bytes(book(chapters))
    command = [path, "-o", tmp_path / "out", "--epub", "chapters"]
    assert len(quick.again(*command)) == 3
    assert quick.taught == 3  # chapters of one book have its habits
    assert len(listed(tmp_path / "out")) == 3
    assert quick.again(*command) == []
    (tmp_path / "out" / listed(tmp_path / "out")[1]).unlink()
    assert len(quick.again(*command)) == 1
    del chapters["three"]
    path.write_bytes(book(chapters))
    assert quick.again(*command) == []
    assert len(listed(tmp_path / "out")) == 2
    assert len(quick.again(*command[:-2])) == 1
    assert listed(tmp_path / "out") == ["book.html"]


def test_documents_of_a_folder_without_pictures_get_no_page_and_the_terminal_says_so(quick, docs, tmp_path):
    for name in ("plain", "words"):
        (docs / f"{name}.md").write_text("# Words\n\nNo picture here.\n")
    out = tmp_path / "out"
    told = program.run("link", docs, "-o", out)
    assert "2 of 5 documents have no picture and so no page: --all-pages makes one of each\n" in told.stderr
    assert listed(out) == ["a.html", "b.html", "c.html"]
    assert program.run("link", docs, "-o", out, "--quiet").stderr == ""
    assert quick.again(docs, "-o", out, "--all-pages") == ["plain", "words"]
    assert len(listed(out)) == 5
    told = program.run("link", docs, "-o", out)
    assert "2 pages removed: of documents that are gone or have no picture\n" in told.stderr
    assert listed(out) == ["a.html", "b.html", "c.html"]
    assert quick.again(docs / "plain.md", "-o", tmp_path / "named") == ["plain"]  # asked for by its name
    for name in "abc":
        (docs / f"{name}.md").unlink()
    told = program.run("link", docs, "-o", tmp_path / "none")
    assert told.stderr.startswith("No pictures in 2 documents, so there is nothing to link: name documents")
    assert "--all-pages" not in told.stderr
    assert not (tmp_path / "none").exists()
    assert "--all-pages is for a folder of pages" in run("link", docs, "--all-pages", "--to", "json", status=1)


def test_a_single_page_is_replaced_while_it_is_as_we_wrote_it(quick, docs, tmp_path):
    page = tmp_path / "page.html"
    quick.again(docs / "a.md", "-o", page)
    quick.again(docs / "b.md", "-o", page)
    assert b"Title b" in page.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"docs", "page.html"}
    page.write_bytes(page.read_bytes() + b" ")
    assert "the option force" in run("link", docs / "a.md", "-o", page, status=1)
    quick.again(docs / "a.md", "-o", page, "--force")
    assert b"Title a" in page.read_bytes()


def test_a_damaged_manifest_costs_work_and_no_page(quick, docs, tmp_path):
    out = tmp_path / "out"
    quick.again(docs, "-o", out)
    before = pages(out)
    manifest = out / MANIFEST
    lines = manifest.read_text().splitlines(keepends=True)
    manifest.write_text("".join([*lines[:2], lines[2][:100]]))  # as a kill or a full disk leaves it
    assert quick.again(docs, "-o", out) == ["c"]
    manifest.write_bytes(b'{"page": \x00\xff nonsense\n[]\n{}\n')
    assert quick.again(docs, "-o", out) == ["a", "b", "c"]
    manifest.unlink()
    assert quick.again(docs, "-o", out) == ["a", "b", "c"]
    assert pages(out) == before


def test_a_manifest_cannot_name_pages_or_pictures_elsewhere_nor_break_a_run(quick, docs, tmp_path):
    out = tmp_path / "out"
    quick.again(docs, "-o", out)
    quick.again(docs / "a.md", "-o", tmp_path / "outside.html")
    first, second, third = (json.loads(line) for line in (out / MANIFEST).read_text().splitlines())
    first["picture"] = {"uri": "http://a.example/track.png", "width": 1, "height": 1, "problem": None}
    for line, page in ((second, "x\0y.html"), (third, "../outside.html")):
        line["page"], line["origin"]["source"] = page, "gone.md"
    (out / MANIFEST).write_text("".join(json.dumps(line) + "\n" for line in (first, second, third)))
    quick.again(docs, "-o", out)
    assert (tmp_path / "outside.html").exists()
    assert "a.example" not in (out / "index.html").read_text()
    assert listed(out) == ["a.html", "b.html", "c.html"]


@pytest.mark.parametrize("kind", ["link", "dangling link", "text", "pipe"])
def test_what_only_has_the_name_of_the_manifest_is_not_touched(quick, docs, tmp_path, kind):
    out, outside = tmp_path / "out", tmp_path / "outside"
    out.mkdir()
    if kind == "pipe":
        os.mkfifo(out / MANIFEST)
    elif kind == "text":
        (out / MANIFEST).write_text("notes of mine")
    else:
        (out / MANIFEST).symlink_to(outside)
        if kind == "link":
            outside.touch()
    said = run("link", docs, "-o", out, status=1)
    assert f"{MANIFEST} exists already, and iconotext did not write it; move it away" in said
    assert not outside.exists() or outside.read_bytes() == b""
    assert kind != "text" or (out / MANIFEST).read_text() == "notes of mine"


@pytest.mark.slow
def test_pipes_and_devices_keep_nobody_waiting(quick, docs, tmp_path):
    os.mkfifo(docs / "pipe.md")
    os.mkfifo(docs / "pipe.html")
    out = tmp_path / "out"
    run("link", docs, "-o", out)
    assert (out / "problems.tsv").read_text().count(
        "a pipe or a device, not a file; save what comes from it as a file"
    ) == 2
    (out / "index.html").unlink()
    (out / "index.html").symlink_to("/dev/zero")
    assert "index.html exists already, and is not as iconotext wrote it" in run("link", docs, "-o", out, status=1)
    assert "index.html: it is not a file" in run("link", docs, "-o", out, "--force", status=1)


def test_a_link_to_itself_is_a_file_that_cannot_be_read(quick, docs, tmp_path):
    (docs / "loop.md").symlink_to("loop.md")
    run("link", docs, "-o", tmp_path / "out")
    assert "loop.md\tdocument\tcannot be read" in (tmp_path / "out" / "problems.tsv").read_text()


def test_pages_name_the_option_where_a_picture_has_a_problem(quick, tmp_path):
    (tmp_path / "web.md").write_text("A sentence.\n\n![A cat](https://a.example/cat.png)\n")
    run("link", tmp_path / "web.md", "-o", tmp_path / "out")
    assert "a picture on the web: the option fetch fetches it" in (tmp_path / "out" / "web.html").read_text()


def test_a_file_for_pages_is_refused_and_the_place_of_data_told(quick, docs, tmp_path):
    assert "pages go into a folder" in run("link", docs, "-o", tmp_path / "out.txt", status=1)
    assert not (tmp_path / "out.txt").exists()
    result = program.run("link", docs / "a.md", "--to", "json", "-o", tmp_path / "x.json")
    assert f"Wrote {tmp_path / 'x.json'}" in result.stderr


def stopped(docs: Path, out: Path, how: signal.Signals) -> str:
    """Stop a run as soon as it has written some pages, and begin anew where it was quicker; what it said on stderr."""
    command = [sys.executable, "-m", "iconotext", "link", str(docs), "-o", str(out), "--all-pages"]
    while True:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while len(list(out.glob("*.html"))) < 2 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(how)
        _, said = process.communicate()
        if process.returncode and len(pages(out)) < 12:
            assert process.returncode == (130 if how is signal.SIGINT else -how)
            return said
        shutil.rmtree(out)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    docs = tmp_path_factory.mktemp("many")
    for n in range(12):
        (docs / f"d{n:02}.md").write_text(f"# Title {n}\n\n" + f"Sentence {n} is one of many. " * 5)
    return docs


@pytest.mark.kill
def test_killed_and_interrupted_runs_go_on(many, tmp_path):
    whole, out = tmp_path / "whole", tmp_path / "out"
    run("link", many, "-o", whole, "--all-pages")
    stopped(many, out, signal.SIGKILL)
    done = pages(out)
    assert len(done) >= 2
    assert all(page.endswith(b"</html>\n") for page in done.values())
    said = stopped(many, tmp_path / "other", signal.SIGINT)
    assert "iconotext: stopped; whatever was written is complete, and the same command goes on from there\n" in said
    assert "Traceback" not in said
    for folder in (out, tmp_path / "other"):
        there = times(folder)
        result = program.run("link", many, "-o", folder, "--all-pages")
        (unchanged,) = re.findall(r"(\d+) of 12 documents unchanged", result.stderr)
        assert int(unchanged) >= len(there) - 1  # the last page may not have come into the manifest
        assert sum(times(folder)[name] == before for name, before in there.items()) >= int(unchanged)
        assert pages(folder) == pages(whole)
        assert not list(folder.glob("*.tmp"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="this system limits no file sizes")
def test_a_full_disk_is_one_line_and_the_run_goes_on(tmp_path, picture):
    big, out = tmp_path / "docs", tmp_path / "out"
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000));"
        "from iconotext.cli.app import main; main()"
    )
    picture("docs/large.png", size=(500, 500))
    for n in range(4):
        (big / f"d0{n}.md").write_text("This is the first of the documents." + "\n\n![](large.png)" * (n == 2))
    # The cache would meet the limit, too.
    arguments = ["link", str(big), "-o", str(out), "--all-pages", "--no-cache", "--quiet"]
    environment = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}  # it writes files, too
    command = [sys.executable, "-c", limited, *arguments]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr == (
        f"iconotext: cannot write {out / 'd02.html'}: File too large; free some space there, then give the same command"
        " again\n"
    )
    assert sorted(pages(out)) == ["d00.html", "d01.html"]
    assert all(page.endswith(b"</html>\n") for page in pages(out).values())
    again = run(*arguments)
    assert again == ""
    assert len(pages(out)) == 5


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_full_standard_output_is_one_line(docs):
    with Path("/dev/full").open("w") as full:
        arguments = [sys.executable, "-m", "iconotext", "link", str(docs / "a.md"), "--to", "json"]
        result = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("iconotext: cannot write to standard output: No space left on device")
    assert result.stderr.count("\n") == 1


def test_what_changes_the_habits_changes_all_pages(quick, docs, tmp_path, monkeypatch):
    out = tmp_path / "out"
    told = {"counts": 3.0}
    monkeypatch.setattr(quick, "habits", lambda _: {"": Habit({"a": np.full(len(PLACES), told["counts"])})})
    first = quick.again(docs, "-o", out)
    assert len(first) > 1
    assert quick.again(docs, "-o", out) == []
    told["counts"] = 4.0
    assert quick.again(docs, "-o", out) == first
    assert "Habit: pictures stand" in run("link", docs, "-o", out)


def test_a_file_of_a_folder_is_read_once(quick, docs, tmp_path, monkeypatch):
    module = importlib.import_module("iconotext.read")  # the package has a function of this name
    opened, real = [], module.read_documents

    def counted(path, *given, **named):
        opened.append(path.name)
        return real(path, *given, **named)

    monkeypatch.setattr(module, "read_documents", counted)
    (docs / "broken.docx").write_bytes(b"no zip")
    quick.again(docs, "-o", tmp_path / "out")
    assert sorted(opened) == ["a.md", "b.md", "broken.docx", "c.md"]
