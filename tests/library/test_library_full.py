"""A disk that is full: one clear line, the library as it was or with what was committed, and the same command goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from iconotext.library.store import describe, open_library
from tests.support.library import content, paint, update

pytestmark = pytest.mark.slow
resource = pytest.importorskip("resource", reason="the system knows no limits of files")

WRITER = """
import resource, sys
from pathlib import Path
from iconotext.cli.common import known_errors
from iconotext.library import update as add
from tests.support.library import update

add.BATCH, add.TIDY_AFTER = 20, 2
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
with known_errors():
    update(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def limited(lib: Path, photos: Path, limit: int) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parents[2]
    environment = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}  # it writes files, too
    environment["PYTHONPATH"] = os.pathsep.join([str(root / "src"), str(root)])
    command = [sys.executable, "-c", WRITER, str(lib), str(photos), str(limit)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("limit", [500, 5_000, 9_000])
def test_no_room_is_one_line_and_the_same_command_goes_on(tmp_path, limit):
    lib, photos = tmp_path / "lib", tmp_path / "photos"
    for number in range(60):
        paint(photos / f"{number:02}.png", (4 * number, 255 - 4 * number, 40))
    done = limited(lib, photos, limit)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert "cannot be read or written" in line
    assert "make room: what is in the library stays, and the same command goes on" in line
    if (lib / "library.json").exists():
        assert describe(open_library(lib))["pictures"] in range(60)
    update(lib, photos)
    update(tmp_path / "whole", photos)
    assert content(lib) == content(tmp_path / "whole")


@pytest.mark.parametrize("which", ["data/*.lance", "_indices/*/*tokens.lance", "_versions/*.manifest"])
def test_a_file_that_was_cut_short_unnoticed_is_gone_back_over(tmp_path, which):
    lib, photos = tmp_path / "lib", tmp_path / "photos"
    for number in range(6):
        paint(photos / f"{number}.png", (40 * number, 255 - 40 * number, 40))
        update(lib, photos)
    newest = max((lib / "pictures.lance").glob(which), key=lambda file: file.stat().st_mtime_ns)
    newest.write_bytes(newest.read_bytes()[:-100])
    update(lib, photos)
    update(tmp_path / "whole", photos)
    assert content(lib) == content(tmp_path / "whole")
    assert describe(open_library(lib))["pictures"] == 6
