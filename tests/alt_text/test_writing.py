"""Documents are written whole or not at all, and only as they were read."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from iconotext.alt_text import writing
from iconotext.alt_text.writing import digest, plan_change, unified_diff, write_change
from iconotext.errors import OutputError
from iconotext.read import ReadSettings
from iconotext.system.files import open_atomic

SETTINGS = ReadSettings()
TEXT = "# A\n\nSome words.\n\n![](a.png)\n\nThe end.\n"


@pytest.fixture
def article(tmp_path):
    path = tmp_path / "a.md"
    path.write_text(TEXT)
    return path


def plan(path, **more):
    return plan_change(path, {0: "A barn"}, SETTINGS, read=digest(path.read_bytes()), **more)


def test_the_difference_and_the_file(article):
    article.chmod(0o640)
    change = plan(article)
    assert article.read_text() == TEXT
    assert [line for line in unified_diff(change) if line[0] in "+-"][2:] == ["-![](a.png)", "+![A barn](a.png)"]
    write_change(change)
    assert article.read_text() == TEXT.replace("![]", "![A barn]")
    assert stat.S_IMODE(article.stat().st_mode) == 0o640
    assert [each.name for each in article.parent.iterdir()] == ["a.md"]


def test_of_two_writers_the_second_waits_and_sees_what_the_first_has_written(article, monkeypatch):
    before_renaming, go_on = threading.Event(), threading.Event()
    whole = open_atomic

    @contextmanager
    def slow(*arguments, **options):
        with whole(*arguments, **options) as stream:
            yield stream
            before_renaming.set()
            assert go_on.wait(20)

    first, second = plan(article), plan_change(article, {0: "A cow"}, SETTINGS, read=digest(article.read_bytes()))
    with ThreadPoolExecutor(2) as threads:
        monkeypatch.setattr(writing, "open_atomic", slow)
        one = threads.submit(write_change, first)
        assert before_renaming.wait(20)
        two = threads.submit(write_change, second)
        assert not two.done()
        go_on.set()
        one.result()
        with pytest.raises(OutputError, match="changed since it was read"):
            two.result()
    assert article.read_text() == TEXT.replace("![]", "![A barn]")


def test_a_file_that_changed_since_is_refused(article):
    with pytest.raises(OutputError, match="changed since it was read"):
        plan_change(article, {0: "A barn"}, SETTINGS, read=digest(b"something else"))
    change = plan(article)
    article.write_text(TEXT + "More.\n")
    with pytest.raises(OutputError, match="changed since it was read"):
        write_change(change)
    assert article.read_text() == TEXT + "More.\n"
    assert [each.name for each in article.parent.iterdir()] == ["a.md"]


def test_symbolic_links_are_followed_inside_the_folder_only(tmp_path):
    inside, outside = tmp_path / "docs", tmp_path / "private"
    inside.mkdir()
    outside.mkdir()
    (inside / "real.md").write_text(TEXT)
    (inside / "link.md").symlink_to("real.md")
    (outside / "secret.md").write_text(TEXT)
    (inside / "out.md").symlink_to("../private/secret.md")
    write_change(plan(inside / "link.md", within=inside))
    assert (inside / "link.md").is_symlink()
    assert "![A barn]" in (inside / "real.md").read_text()
    for within in (inside, None):
        with pytest.raises(OutputError, match="leads out"):
            plan(inside / "out.md", within=within)
    assert (outside / "secret.md").read_text() == TEXT


def test_a_folder_that_a_link_has_taken_the_place_of_is_not_written_into(tmp_path):
    inside, outside = tmp_path / "docs", tmp_path / "private"
    for folder in (inside / "guide", outside):
        folder.mkdir(parents=True)
        (folder / "a.md").write_text(TEXT)
    change = plan(inside / "guide" / "a.md", within=inside)
    (inside / "guide").rename(inside / "old")
    (inside / "guide").symlink_to(outside)
    with pytest.raises(OutputError, match="leads elsewhere by now"):
        write_change(change)
    assert (outside / "a.md").read_text() == TEXT
    assert (inside / "old" / "a.md").read_text() == TEXT


def test_what_a_link_leads_out_to_is_not_even_read(tmp_path):
    (tmp_path / "docs").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "docs" / "a.md").symlink_to(tmp_path / "pipe")
    with pytest.raises(OutputError, match="leads out"):  # reading it would wait for ever
        plan_change(tmp_path / "docs" / "a.md", {0: "A barn"}, SETTINGS, read="", within=tmp_path / "docs")


KILLED = """
import os, random, signal, sys, time
from pathlib import Path
from iconotext.alt_text.writing import Inserted
from iconotext.alt_text.writing import Change, write_change
path, states = Path(sys.argv[1]), [Path(name).read_bytes() for name in sys.argv[1:]]
drawn = random.Random(0)
for _ in range(15):
    before = os.stat(path).st_mtime_ns
    child = os.fork()
    while not child:
        now = path.read_bytes()
        write_change(Change(path, path, now, Inserted(states[now == states[0]], ())))
    while os.stat(path).st_mtime_ns == before and os.waitpid(child, os.WNOHANG) == (0, 0):
        time.sleep(0.001)
    time.sleep(drawn.random() * 0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert path.read_bytes() in states
"""


@pytest.mark.kill
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_killed_at_any_moment_the_file_is_the_old_or_the_new_one(tmp_path):
    path, other = tmp_path / "a.md", tmp_path / "other.md"
    filler = "Words and words.\n" * 20_000
    path.write_text(TEXT + filler)
    other.write_text(TEXT.replace("![]", "![A barn]") + filler)
    subprocess.run([sys.executable, "-c", KILLED, str(path), str(other)], check=True)
