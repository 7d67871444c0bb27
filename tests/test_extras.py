"""Without the packages of the extras, everything else works, and what needs one says what to install."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from iconotext.cli.common import known_errors
from iconotext.errors import MissingPackageError
from iconotext.extras import EXTRAS, require
from tests.fuzz.seeds import seeds
from tests.support.images import noise
from tests.support.pdf import tram_pdf
from tests.support.training import write_synthetic

DISTRIBUTIONS = {
    "docling_core": "docling-core",
    "haystack": "haystack-ai",
    "skimage": "scikit-image",
    "lap": "lapx",
    "pypandoc": "pypandoc_binary",
    "langchain_core": "langchain-core",
    "llama_index": "llama-index-core",
    "python_multipart": "python-multipart",
}
OWN_PROGRAMS = {"docling", "haystack", "langchain", "llama-index", "mcp", "ray"}
"""Extras that are no part of ``all``."""

DIVIDED_TEXT = "# A heading\n\nA sentence about a dog.\n\n![A dog](docs/a.png)\n\nAnother sentence.\n"


@pytest.fixture
def bare(monkeypatch):
    """As after ``pip install iconotext`` without extras."""
    for module in sum(EXTRAS.values(), ()):
        monkeypatch.setitem(sys.modules, module, None)


def test_the_extras_are_those_of_the_project():
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    extras = dict(project["optional-dependencies"])
    assert extras.pop("all") == [f"iconotext[{','.join(sorted(EXTRAS.keys() - OWN_PROGRAMS))}]"]
    assert "iconotext[all]" in extras.pop("dev")
    named = {
        name: {each.partition(">")[0] for each in packages if not each.startswith("iconotext[")}
        for name, packages in extras.items()
    }
    assert named == {name: {DISTRIBUTIONS.get(module, module) for module in EXTRAS[name]} for name in EXTRAS}
    always = {each.partition(">")[0] for each in project["dependencies"]}
    assert not always & set().union(*named.values())


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_is_missing_is_named_with_its_extra(bare, extra):
    message = rf'^this needs {EXTRAS[extra][0]}, .*pip install "iconotext\[{extra}\]"$'
    with pytest.raises(MissingPackageError, match=message):
        require(extra, purpose="this")
    with pytest.raises(MissingPackageError, match=f"^this needs {EXTRAS[extra][-1]}, "):
        require(extra, EXTRAS[extra][-1], purpose="this")


def test_a_missing_import_deep_inside_is_one_line(monkeypatch, capsys):
    def imports(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    with pytest.raises(SystemExit), known_errors():
        imports("torch.nn")
    assert capsys.readouterr().err == (
        'iconotext: this needs torch, which is not installed: pip install "iconotext[train]"\n'
    )
    with pytest.raises(ModuleNotFoundError), known_errors():  # nothing of ours: a fault to be seen whole
        imports("nobody_knows")


NEEDY = {
    "serve --no-browser": "web",
    "demo": "demo",
    "link a.org": "formats",
    "library add lib docs": "library",
    "mcp docs": "mcp",
    "library add lib docs --evidence ocr": "library",
    "train default -c corpus.jsonl -o model": "train",
    "train relations -c corpus.jsonl -o model": "train",
    "link a.md --model org/clip --download": "hub",
    "models org/clip:fp16 --download": "hub",
    "link a.org --to json": "formats",
    "link a.md --to parquet --output links.parquet": "parquet",
    "chunks a.md --output chunks.parquet": "parquet",
    "evaluate default corpus.jsonl --results scores.parquet": "parquet",
    "corpus convert corpus.jsonl corpus.parquet": "parquet",
    "corpus check table.parquet": "parquet",
    "scale link corpus.jsonl --output linked": "scale",
    "link a.md --evidence caption,ocr": "ocr",
}

CORE = [
    "link a.md --to json",
    "chunks a.md --json",
    "context a.md --output contexts.jsonl",
    "link a.md a.html a.docx a.epub a.pdf --explain",
    "evaluate default gold.jsonl",
    "evaluate default gold.jsonl --evidence picture,caption,layout --compare no-training",
    "link a.rst",
    "corpus build folder -s a.md -o built.jsonl",
    "corpus check corpus.jsonl",
    "corpus split corpus.jsonl -o parts.jsonl",
    "cache",
    "place b.md a.md --json",
    "check b.md --json",
    "context a.md --prompt",
    "corpus stats corpus.jsonl",
    "models",
]
"""What works without any extra."""

BLOCK = """
import sys
sys.modules.update(dict.fromkeys({blocked}))
"""

RUN = """
import json, sys
from typer.testing import CliRunner
from iconotext.cli.app import app

found = {}
for command in json.loads(sys.argv[1]):
    result = CliRunner().invoke(app, command.split())
    found[command] = [result.exit_code, result.stdout, result.stderr + "".join(repr(result.exception)[:500])]
print(json.dumps(found))
"""

DRAGGED_ALONG = ("pandas", "sklearn", "statsmodels", "sympy", "networkx", "skimage")
"""What nothing names but the packages of extras bring, or development."""


@pytest.fixture(scope="module")
def bare_runs(tmp_path_factory):
    """What every command does in a process, and in those that it starts, that finds no package of an extra."""
    folder = tmp_path_factory.mktemp("bare")
    blocked = sorted({*sum(EXTRAS.values(), ()), *DRAGGED_ALONG})
    (folder / "block").mkdir()
    (folder / "block" / "sitecustomize.py").write_text(BLOCK.format(blocked=blocked))
    write_inputs(folder)
    places = [str(folder / "block"), *(place for place in sys.path if place)]
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps([*NEEDY, *CORE])],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places), "COLUMNS": "100"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def write_inputs(folder):
    write_synthetic(folder, 10)
    (folder / "b.md").write_text("# Animals\n\nOur cat sits still, and nobody looks at her.\n")
    pictures = ["docs/a.png", *(f"clef/images/1/{number}.png" for number in range(3))]
    for seed, name in enumerate(pictures):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(noise(seed))
    (folder / "a.md").write_text(DIVIDED_TEXT)
    (folder / "a.rst").write_text("A sentence about a dog.\n\n.. image:: docs/a.png\n")
    (folder / "a.org").write_text("A sentence.\n\n[[file:docs/a.png]]\n")
    for name in ("html", "docx", "epub"):
        (folder / f"a.{name}").write_bytes(seeds(name)[0])
    (folder / "a.pdf").write_bytes(tram_pdf())
    gold = [
        {
            "id": f"d{n}",
            "sentences": ["A dog.", "A red tram."],
            "images": [pictures[n], pictures[n - 1]],
            "links": [[n % 2, 0]],
            "blocks": [0, 1],
            "positions": [0, 1],
        }
        for n in range(4)
    ]
    (folder / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in gold))
    (folder / "table.parquet").write_bytes(b"PAR1")
    for name in ("clef/metadata/1", "clef/text/en/1", "reddit/albums"):
        (folder / name).mkdir(parents=True)
    (folder / "clef/text/en/1/1.xml").write_text("A sentence about a dog.")
    for number in range(3):
        (folder / f"clef/metadata/1/{number}.xml").write_text(
            f'<image id="{number}" file="images/1/{number}.png"><name>P{number}.png</name>'
            '<text xml:lang="en"><caption article="text/en/1/1">x</caption></text></image>'
        )
    (folder / "reddit/RS_2013-01.zst").write_bytes(b"\x28\xb5\x2f\xfd")


@pytest.mark.parametrize("adapter", ["docling", "haystack", "langchain", "llama_index"])
def test_adapters_say_what_to_install(bare, monkeypatch, adapter):
    monkeypatch.delitem(sys.modules, f"iconotext.adapters.{adapter}", raising=False)
    extra = adapter.replace("_", "-")
    (brought,) = EXTRAS[extra]
    for loaded in [name for name in sys.modules if name.startswith(f"{brought}.")]:
        monkeypatch.setitem(sys.modules, loaded, None)
    with pytest.raises(MissingPackageError, match=rf'pip install "iconotext\[{extra}\]"$'):
        import_module(f"iconotext.adapters.{adapter}")


@pytest.mark.slow
@pytest.mark.parametrize(("command", "extra"), NEEDY.items())
def test_commands_say_what_to_install(bare_runs, command, extra):
    status, _, said = bare_runs[command]
    assert status == 1, said
    assert f'pip install "iconotext[{extra}]"' in said
    assert said.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("command", CORE)
def test_the_rest_needs_none(bare_runs, command):
    status, said, errors = bare_runs[command]
    assert status == 0, errors
    if command == "link a.md --to json":
        assert json.loads(said)[0]["links"]
