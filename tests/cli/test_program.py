from __future__ import annotations

import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Ctrl-C comes while a module is imported.
INTERRUPTED = """
import importlib.abc, os, signal, sys

class Interrupt(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
sys.argv = ["iconotext", "--version"]
from {entry} import {function}
{function}()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
@pytest.mark.parametrize("module", ["iconotext", "iconotext.types", "iconotext.cli.app", "none"])
def test_an_interruption_before_the_program_has_begun_shows_no_traceback(module):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    entry, function = project["scripts"]["iconotext"].split(":")
    code = INTERRUPTED.format(module=module, entry=entry, function=function)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stderr == ""
    if module == "none":
        assert done.stdout.startswith("iconotext ")
    else:
        assert (done.returncode, done.stdout) == (-signal.SIGINT, "")
