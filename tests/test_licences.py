"""scripts/licences.py, which a release must pass."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "licences.py"


def check(folder: Path, *licences: dict[str, object], name: str = "thing") -> tuple[int, str]:
    bill = folder / "bill.json"
    bill.write_text(json.dumps({"components": [{"name": name, "version": "1", "licenses": list(licences)}]}))
    done = subprocess.run(
        [sys.executable, "-I", str(SCRIPT), str(bill), str(folder)], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    "licence",
    [
        {"license": {"id": "MIT"}},
        {"expression": "Apache-2.0 AND (BSD-3-Clause OR GPL-2.0-only)"},
        {"expression": "GPL-3.0-only OR MIT"},
        {"expression": "Apache-2.0 WITH LLVM-exception"},
        {"license": {"name": "License :: OSI Approved :: BSD License"}},
    ],
)
def test_permissive_licences_pass(tmp_path, licence):
    assert check(tmp_path, licence)[0] == 0


MIT = {"license": {"id": "MIT"}}
GPL_AS_TEXT = {"encoding": "base64", "content": base64.b64encode(b"... GPLv3 ...").decode()}


@pytest.mark.parametrize(
    ("licences", "message"),
    [
        ([], "no licence is stated"),
        ([{"license": {"id": "GPL-3.0-only"}}], "not permissive: GPL-3.0-only"),
        ([{"expression": "MIT AND LGPL-2.1-only"}], "not permissive: MIT AND LGPL-2.1-only"),
        ([{"license": {"name": "Ask my lawyer"}}], "not permissive: Ask my lawyer"),
        ([MIT, {"license": {"id": "MPL-2.0"}}], "not permissive: MPL-2.0"),
        ([MIT, {"license": {"name": "declared license of 'thing'", "text": GPL_AS_TEXT}}], "speaks of the GPL"),
    ],
)
def test_what_is_unknown_or_copyleft_needs_a_word(tmp_path, licences, message):
    status, said = check(tmp_path, *licences)
    assert status == 1
    assert message in said
    assert "thing: look at each" in said


def test_a_word_is_enough(tmp_path):
    status, said = check(tmp_path, {"license": {"id": "MPL-2.0"}}, name="certifi")
    assert (status, "binds changes to its own files" in said) == (0, True)


def test_a_copyleft_library_inside_a_wheel_needs_a_word(tmp_path):
    (tmp_path / "a_codec.libs").mkdir()
    (tmp_path / "a_codec.libs" / "libx265-4883ecb5.so.217").touch()
    status, said = check(tmp_path, {"license": {"id": "MIT"}}, name="A.Codec")
    assert (status, "carries libx265" in said) == (1, True)
