"""A library whose writer is killed, and one that is searched while it is written: real processes, real SIGKILL."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from iconotext.errors import LibraryError
from iconotext.library.search import Query, search
from iconotext.library.store import describe, open_library
from tests.support.library import Colours, EveryLink, content, paint, update
from tests.support.shards import png, row, write_jsonl, write_tar

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system cannot kill so"),
]

IMAGES = 12
BATCH = 4

WRITER = """
import os, signal, sys
from pathlib import Path
from iconotext.library import update as library_add
from iconotext.library import changes
from iconotext.library.store import Library
from iconotext.library.commit import Ledger
from tests.support.library import Colours, EveryLink, update

lib, photos, what, nth, waits = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5] == "waits"
library_add.BATCH = changes.PART = 4
library_add.TIDY_AFTER = 2

def dying(method, when):
    calls = 0
    def called(*args, **more):
        nonlocal calls
        calls += 1
        if when == "before" and calls == nth:
            os.kill(os.getpid(), signal.SIGKILL)
        result = method(*args, **more)
        if when == "after" and calls == nth:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return called

if what != "never":
    when, name = what.split("-")
    kind = Ledger if name in ("put", "forget") else Library
    setattr(kind, name, dying(getattr(kind, name), when))

class Waiting(Colours):
    def look(self, files):
        if waits:  # for a line before each batch
            sys.stdin.readline()
        return super().look(files)

print("begin", flush=True)
report = update(lib, photos, colours=Waiting(), link=EveryLink())
print("end", report.added, flush=True)
"""


def writer(lib: Path, photos: Path, what: str = "never", nth: int = 1, *, waits: bool = False) -> subprocess.Popen[str]:
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    command = [sys.executable, "-c", WRITER, str(lib), str(photos), what, str(nth), "waits" if waits else ""]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment, stdin=pipe if waits else None, stdout=pipe, text=True)


def killed(lib: Path, photos: Path, what: str, nth: int) -> None:
    """Run a writer that is killed before or after its n-th call of a method."""
    process = writer(lib, photos, what, nth)
    process.communicate(timeout=600)
    assert process.returncode == -signal.SIGKILL


@pytest.fixture
def photos(tmp_path) -> Path:
    for number in range(IMAGES):
        paint(tmp_path / "photos" / f"{number:02}.png", (20 * number, 255 - 20 * number, 40))
    return tmp_path / "photos"


@pytest.mark.parametrize(
    ("what", "nth", "stored"),
    [
        ("before-insert", 1, 0),  # nothing is there yet but an empty library
        ("after-insert", 1, 4),  # in the library, not yet in the ledger
        ("before-put", 2, 8),  # in the library, forgotten by the ledger
        ("after-tidy", 2, 12),
    ],
)
def test_a_kill_leaves_a_library_that_is_searched_and_goes_on(tmp_path, photos, what, nth, stored):
    lib = tmp_path / "lib"
    killed(lib, photos, what, nth)
    assert describe(open_library(lib))["pictures"] == stored
    if stored:
        assert search(open_library(lib), Query("green", top=1), Colours().encoder())[0].image.endswith("00.png")
    else:
        with pytest.raises(LibraryError, match="empty"):
            search(open_library(lib), Query("green"), Colours().encoder())
    shutil.copytree(lib, tmp_path / "other")
    colours = Colours()
    report = update(lib, photos, colours=colours)
    assert len(colours.looked) == report.encoded == report.added == IMAGES - stored
    update(tmp_path / "whole", photos)
    assert content(lib) == content(tmp_path / "whole")
    for picture in photos.glob("0[0-3].png"):
        picture.unlink()
    assert update(tmp_path / "other", photos).removed == min(stored, 4)  # what went after the kill goes
    assert len(content(tmp_path / "other")) == IMAGES - 4


@pytest.mark.parametrize(("what", "nth", "stored"), [("after-insert", 1, 4), ("after-put", 3, 12)])
def test_a_kill_in_the_midst_of_a_shard_loses_no_part_that_was_brought_in(tmp_path, monkeypatch, what, nth, stored):
    monkeypatch.setattr("iconotext.library.changes.PART", 4)
    shards, lib, colours = tmp_path / "shards", tmp_path / "lib", Colours()
    write_jsonl(shards / "0.jsonl", [row(n, [f"{n}.png"]) for n in range(IMAGES)])
    write_tar(shards / "0.tar", {f"{n}.png": png(n) for n in range(IMAGES)})
    killed(lib, shards, what, nth)
    assert describe(open_library(lib))["pictures"] == stored
    report = update(lib, shards, colours=colours, link=EveryLink())
    assert len(colours.looked) == report.added == IMAGES - stored
    assert update(lib, shards, link=EveryLink()).shards_unchanged == 1
    update(tmp_path / "whole", shards, link=EveryLink())
    assert content(lib) == content(tmp_path / "whole")


@pytest.mark.parametrize(("what", "nth"), [("after-insert", 1), ("before-remove", 1), ("after-remove", 1)])
def test_a_kill_while_a_change_is_written_leaves_nothing_behind(tmp_path, photos, what, nth):
    lib = tmp_path / "lib"
    update(lib, photos)
    paint(photos / "03.png", "white")
    killed(lib, photos, what, nth)
    paint(photos / "03.png", "yellow")  # it changes again before the next run
    update(lib, photos)
    update(tmp_path / "whole", photos)
    assert content(lib) == content(tmp_path / "whole")


def test_a_library_is_searched_while_it_is_written_and_killed_at_any_time(tmp_path, photos):
    lib = tmp_path / "lib"
    paint(photos / "red.png", "red")
    update(lib, photos / "red.png")
    process = writer(lib, photos, waits=True)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.readline()
    counts = [0]
    try:
        process.stdin.write("\n")  # one batch of three
        process.stdin.flush()
        while counts[-1] < 1 + BATCH:
            assert process.poll() is None
            library = open_library(lib)
            found = search(library, Query("red", top=50), Colours().encoder())
            assert found[0].image.endswith("red.png")
            assert found[0].similarity == pytest.approx(1, abs=1e-3)
            counts.append(len(found))
        with pytest.raises(LibraryError, match="another process is adding"):
            update(lib, photos)
    finally:
        process.kill()
        process.communicate()
    assert counts == sorted(counts)
    update(lib, photos)
    assert len(content(lib)) == IMAGES + 1
