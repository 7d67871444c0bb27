"""Which modules of iconotext the check needs: those that its program and its readers import, and what these import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).parent
PROGRAM = HERE / "src/iconotext_check/program.py"
SOURCE = HERE.parents[1] / "src"


class Modules(BuildHookInterface[Any]):
    """Puts the modules, and the licence of the whole, into the sdist, or straight into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name them, unless they are there: a wheel is also made of the sdist, and a clone is used as it lies."""
        if version == "editable" or (PROGRAM.parent / "modules").is_dir():
            return
        into = "src/iconotext_check" if self.target_name == "sdist" else "iconotext_check"
        files = build_data["force_include"]
        files.update({str(path): f"{into}/modules/{path.relative_to(SOURCE).as_posix()}" for path in needed()})
        if self.target_name == "sdist":
            files[str(HERE.parents[1] / "LICENSE")] = "LICENSE"


def needed() -> list[Path]:
    """The files of the modules."""
    found: set[Path] = set()
    # Readers are imported when a document needs them; ``pandoc.convert`` knows which formats need an extra.
    program = ast.parse(PROGRAM.read_text(encoding="utf-8"))
    readers = (f"iconotext.read.{name}" for name in (*_formats(program), "pandoc.convert"))
    waiting = ["iconotext.system.worker", *_imported(program), *readers]
    while waiting:
        for path in _files(waiting.pop()):
            if path not in found:
                found.add(path)
                waiting += _imported(ast.parse(path.read_text(encoding="utf-8")))
    return sorted(found)


def _formats(program: ast.Module) -> Iterator[str]:
    """The formats that the program reads, ``READS`` in its module; the module of each reader has the format's name."""
    for node in program.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "READS":
            yield from ast.literal_eval(node.value)


def _files(module: str) -> Iterator[Path]:
    """The file of a module and those of the packages around it; none for a name within a module."""
    folder = SOURCE
    for part in module.split("."):
        folder = folder / part
        path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
        if path.is_file():
            yield path


def _imported(node: ast.AST) -> Iterator[str]:
    """What a module imports as soon as it is imported itself; what a function imports, others may need."""
    if isinstance(node, ast.FunctionDef | ast.If):
        return
    if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("iconotext"):
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    for child in ast.iter_child_nodes(node):
        yield from _imported(child)
