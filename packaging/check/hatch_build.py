"""Which modules of iconotext the check needs: those that its program and its readers import, and what these import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path(__file__).parents[2] / "src"
PROGRAM = ("iconotext.check.standalone", "iconotext.system.worker")


class Modules(BuildHookInterface[Any]):
    """Puts the modules into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name them."""
        for path in needed():
            build_data["force_include"][str(path)] = path.relative_to(SOURCE).as_posix()


def needed() -> list[Path]:
    """The files of the modules."""
    found: set[Path] = set()
    # Readers are imported when a document needs them; ``pandoc.convert`` knows which formats need an extra.
    waiting = [*PROGRAM, *(f"iconotext.read.{name}" for name in (*_formats(), "pandoc.convert"))]
    while waiting:
        for path in _files(waiting.pop()):
            if path not in found:
                found.add(path)
                waiting += _imported(ast.parse(path.read_text(encoding="utf-8")))
    return sorted(found)


def _formats() -> Iterator[str]:
    """The formats that the program reads, ``READS`` in its module; the module of each reader has the format's name."""
    program = (SOURCE / "iconotext/check/standalone.py").read_text(encoding="utf-8")
    for node in ast.parse(program).body:
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
