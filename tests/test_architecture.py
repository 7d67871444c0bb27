"""The shape of the project: who may import whom, what is public, what starts quickly."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import iconotext

SOURCE = Path(iconotext.__file__).parent
DOCS = Path(__file__).parents[1] / "docs"

LAYERS = """
errors excerpts plain_text extras types relations system demo images similarity objectives recipe read features networks
encoders evidence decide report linked run place linker check alt_text corpus adapters evaluate library mcp_server train scale
serve cli
""".split()
"""A module imports only from what stands before it."""

FORBIDDEN = [
    ("evaluate", "library"),  # measures need no pictures to search
    ("library", "scale"),  # a library adds one shard; runs over many are another matter
]
"""Folders that must not import each other, though the order of the layers would allow one of the two directions."""

MODULES = {
    ".".join(["iconotext", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(".__init__"): path
    for path in SOURCE.rglob("*.py")
}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> set[str]:
    """Modules of ours that a module imports, inside functions and for types too; of the package only the version is."""
    found = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {each if each in MODULES else node.module for each in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & set(MODULES) - {"iconotext"}


def folders(path: Path) -> set[str]:
    """The folders, and modules of the package, from which a module imports."""
    return {name.split(".")[1] for name in imported(path)}


def test_modules_import_only_from_above():
    wrong = []
    for path in SOURCE.rglob("*.py"):
        relative = path.relative_to(SOURCE)
        layer = relative.parts[0].removesuffix(".py")
        if layer in ("__init__", "__main__"):
            continue
        allowed = set(LAYERS[: LAYERS.index(layer) + 1])
        wrong += [(str(relative), name) for name in folders(path) - allowed]
    assert wrong == []


def test_the_program_names_nothing_of_the_package_of_the_papers():
    """It is one of other packages: what it needs of the program is open to all of them."""
    assert not (SOURCE / "papers").exists()
    named = re.compile(r"iconotext_papers|iconotext-papers|iconotext\.papers")
    texts = [path for path in SOURCE.rglob("*") if path.suffix in (".py", ".html", ".js", ".toml", ".md")]
    assert [str(path) for path in texts if named.search(path.read_text(encoding="utf-8"))] == []
    commands = {row.path.split()[-1] for row in import_module("iconotext.cli.commands").COMMANDS}
    assert commands.isdisjoint({"papers", "reproduce", "analyze", "mscoco", "wiki", "clue", "multi-retrieval"})


@pytest.mark.parametrize(("folder", "other"), FORBIDDEN)
def test_folders_that_stay_apart(folder, other):
    assert [str(path) for path in (SOURCE / folder).rglob("*.py") if other in folders(path)] == []


def test_corpora_start_no_processes_themselves():
    starts = re.compile(r"^import multiprocessing|ProcessPoolExecutor", re.MULTILINE)
    wrong = [name for name, path in MODULES.items() if starts.search(path.read_text(encoding="utf-8"))]
    assert [name for name in wrong if name.startswith("iconotext.corpus.")] == []  # ``system.processes`` starts them


def test_modules_do_not_import_each_other_in_a_circle():
    imports = {name: imported(path) - {name} for name, path in MODULES.items()}
    while (used := set().union(*imports.values())) and (
        done := {name for name, needed in imports.items() if not needed & imports.keys() or name not in used}
    ):
        imports = {name: needed for name, needed in imports.items() if name not in done}
    assert imports == {}  # circles, and what lies between two


@pytest.mark.slow
def test_tests_do_not_import_from_one_another():
    """What several test modules use stands in ``tests/support``; the fuzzer is a program of its own."""
    tests = Path(__file__).parent
    wrong = []
    for path in tests.rglob("*.py"):
        for node in ast.walk(parsed(path)):
            name = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            if name.startswith("tests.") and not name.startswith(("tests.support", "tests.fuzz")):
                wrong.append((path.relative_to(tests).as_posix(), name))
    assert wrong == []


ROOMS = {
    "iconotext": "index",
    "iconotext.alt_text": "alt_text",
    "iconotext.check": "check",
    "iconotext.corpus": "corpus",
    "iconotext.library": "library",
    "iconotext.evaluate": "evaluate",
    "iconotext.train": "train",
}
"""Packages whose names users may import, and the pages of ``docs/api`` that list these names."""


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_can_be_imported_and_are_documented(room):
    package = import_module(room)
    page = (DOCS / f"api/{ROOMS[room]}.md").read_text(encoding="utf-8")
    public = {name: getattr(package, name) for name in package.__all__}
    assert package.__all__ == sorted(package.__all__)
    assert set(public) <= set(dir(package))
    assert [name for name, value in public.items() if callable(value) and not value.__doc__] == []
    assert f"<!-- names {room} -->" in page
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing


@pytest.mark.parametrize("room", ROOMS)
def test_no_module_hides_a_public_name(room):
    package = import_module(room)
    modules = {name.removeprefix(f"{room}.") for name in MODULES}
    assert set(package.__all__) & modules <= {"read"}  # which is imported before any other module could import it


@pytest.mark.parametrize(
    "statement", ["import iconotext", "import iconotext.cli.app", "import iconotext.linker, iconotext.decide.combine"]
)
def test_start_up_stays_quick(statement):
    heavy = (
        "torch transformers sentence_transformers scipy sklearn pyarrow trafilatura lxml docx PIL lapx lightning_fabric "
        "pandas matplotlib statsmodels lancedb gensim fastapi uvicorn ray"
    ).split()
    code = f"import sys; {statement}; print([m for m in {heavy} if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_modules_stay_small():
    lengths = {
        path.relative_to(SOURCE): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")
    }
    assert {path: n for path, n in lengths.items() if n > 600} == {}


def returns_unasserted(body: list[ast.stmt], asserted: bool = False) -> Iterator[int]:
    """Lines of a test at which it returns though nothing was asserted on the way there."""
    for statement in body:
        if isinstance(statement, ast.Return) and not asserted:
            yield statement.lineno
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from returns_unasserted(getattr(statement, field, []), asserted)
        for handler in getattr(statement, "handlers", []):
            yield from returns_unasserted(handler.body, asserted)
        raises = isinstance(statement, ast.With) and "raises" in ast.unparse(statement.items[0])
        asserted = asserted or isinstance(statement, ast.Assert) or raises


def test_no_test_returns_before_its_assertion():
    found = [
        f"{path.name}:{line}"
        for path in sorted(Path(__file__).parent.rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        for line in returns_unasserted(node.body)
    ]
    assert found == []


def test_what_a_row_of_a_table_names_is_loaded_in_one_way():
    """``pkgutil.resolve_name``; but names of rooms, and classes of other packages that have no fixed names."""
    loads = re.compile(r"getattr\(import_module\(|= import_module\(self")
    found = {name for name, path in MODULES.items() if loads.search(path.read_text(encoding="utf-8"))}
    assert found == {"iconotext.system.lazy"}


def test_what_to_open_is_said_by_one_function():
    said = re.compile(r"say\(f\"Open |'Open'")
    commands = [path for path in (SOURCE / "cli").glob("*.py") if said.search(path.read_text(encoding="utf-8"))]
    assert {path.name for path in commands} - {"analyses.py"} == {"output.py"}
