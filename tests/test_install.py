"""The wheel as users get it: built, installed into empty environments, alone and with each extra, and run there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from iconotext.extras import EXTRAS
from iconotext.recipe import dump_recipe
from tests.support.graph_models import write_dual_graphs, write_resnets, write_sentence_graphs
from tests.support.training import small_recipe, write_pairs, write_synthetic

pytestmark = [pytest.mark.slow, pytest.mark.install]

HEAVY = (
    "torch transformers sentence_transformers pandas sklearn statsmodels scipy lancedb pyarrow matplotlib tensorboard"
).split()
"""What the core must not bring."""

TO_PANDAS = "import iconotext; print(iconotext.to_pandas(iconotext.Linker.load().link('demo/article.md')))"

SERVES = """
import re, subprocess, sys, urllib.request
command = [sys.executable, "-m", "iconotext", "serve", "--port", "0", "--no-browser"]
server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
try:
    address = re.search(r"http://\\S+/", server.stderr.readline())[0]
    assert b'"ok"' in urllib.request.urlopen(address + "v1/health").read()
finally:
    server.terminate()
"""

DOCLING = """
from docling_core.types.doc import DoclingDocument
document = DoclingDocument(name="paper")
document.add_text(label="text", text="Our cat sits still.")
document.add_picture()
document.save_as_json("paper.json")
"""

EXAMPLES = Path(__file__).parents[1] / "examples"

RESNET = """
from iconotext.features import load_image_backbone
assert load_image_backbone("resnet").dim == 12
"""

WORD2VEC = """
from iconotext.features.word_vectors import train_word2vec
assert train_word2vec([[1, 2]], 3, dim=4, seed=0).any()
"""

SMALL_ROWS = "--jobs 1 --set dim=8 --set text.word_dim=6 --set training.epochs=1 --set features.image="

RUNS: dict[str, list[str | list[str]]] = {
    "demo": ["-m iconotext demo again"],
    "docling": [["-c", DOCLING], f"{EXAMPLES}/pictures_in_docling.py paper.json linked.json"],
    "formats": ["-m iconotext link article.org --to json"],
    "hub": [
        "-m iconotext models",
        "-m iconotext link demo/article.md --model graphs --to json",
        "-m iconotext link demo/article.md --text sentences --to json",
    ],
    "haystack": [f"{EXAMPLES}/pictures_in_haystack.py demo/article.md"],
    "langchain": [f"{EXAMPLES}/pictures_in_langchain.py demo/article.md"],
    "library": ["-m iconotext library add lib demo", "-m iconotext search lib cat"],
    "llama-index": [f"{EXAMPLES}/pictures_in_llama_index.py demo/article.md"],
    "mcp": [
        [
            "-c",
            "from pathlib import Path; from iconotext.mcp_server import Served, server; server(Served(Path('demo')))",
        ]
    ],
    "ocr": ["-m iconotext link demo/article.md --evidence ocr,caption --to json"],
    "pandas": [["-c", TO_PANDAS]],
    "parquet": [
        "-m iconotext corpus convert corpus.jsonl corpus.parquet",
        "-m iconotext evaluate default gold.jsonl --results scores.parquet",
        "-m iconotext link demo/article.md --to parquet --output links.parquet",
    ],
    "ray": ["-m iconotext scale link corpus.jsonl --output linked --executor ray --workers 1"],
    "resnet": [["-c", RESNET]],
    "scale": ["-m iconotext scale link corpus.jsonl --output linked --workers 2"],
    "train": [
        "-m iconotext train small.toml -c corpus.jsonl -o model --set training.epochs=1",
        "-m iconotext evaluate model corpus.jsonl --split test",
    ],
    "web": [["-c", SERVES]],
    "word2vec": [["-c", WORD2VEC]],
}
"""What the guides say that each extra is for."""

OF_PAPERS = [
    "-m iconotext papers analyze sizes corpus.jsonl",
    # trained rows with their scores, curves, and word vectors of the texts at hand
    f"-m iconotext papers reproduce 2 --corpus corpus.jsonl --only random --only dense {SMALL_ROWS}features.npy",
    "-m iconotext papers analyze correlation reproduced/2/results/random.parquet reproduced/2/results/dense.parquet",
    f"-m iconotext papers reproduce alikhani2021/7 --corpus pairs/pairs.jsonl --only cmca {SMALL_ROWS}pairs/features.npy",
    ["-c", "import mwparserfromhell, zstandard"],  # wiki, and the dumps of Reddit, whose sources are large
]
"""What the package of the papers is for."""

LARGEST = {"hub": 15e6}
"""Bytes that an extra may bring beside the core."""


@pytest.fixture(scope="module")
def place():
    """A folder with the demo, a small corpus, a recipe and models of other makers; gone with the environments in it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_synthetic(folder, 20)
        write_pairs(folder / "pairs", 60)
        (folder / "small.toml").write_text(dump_recipe(small_recipe()))
        write_resnets(folder)
        write_dual_graphs(folder / "graphs")
        write_sentence_graphs(folder / "sentences")
        (folder / "article.org").write_text("A cat sits.\n\n[[file:demo/pictures/cat.jpg]]\n")
        write_gold(folder)
        yield folder


def write_gold(folder):
    """A corpus of one document of the demo, ``gold.jsonl``, whose two pictures nobody takes for each other."""
    gold = {
        "id": "a",
        "sentences": ["Our cat sits still.", "Coffee goes dull within a minute."],
        "images": ["demo/pictures/cat.jpg", "demo/pictures/coffee.jpg"],
        "links": [[0, 0], [1, 1]],
    }
    (folder / "gold.jsonl").write_text(json.dumps(gold) + "\n")


@pytest.fixture(scope="module")
def wheel(place):
    run(sys.executable, "-m", "build", "--wheel", "--outdir", place / "dist", Path(__file__).parents[1], folder=place)
    (built,) = (place / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def core(place, wheel):
    """The Python of an environment that has nothing but the program and what it always needs."""
    python = environment(place / "core")
    pip_install(python, "--only-binary=:all:", wheel)  # nobody needs a compiler
    pip_install(python, "--no-deps", "scikit-image>=0.25")  # the photographs of the demo lie in its wheel
    run(python, "-m", "iconotext", "demo", folder=place)
    return python


def environment(folder):
    run(sys.executable, "-m", "venv", "--without-pip", folder, folder=folder.parent)
    return folder / "bin" / "python"


def pip_install(python, *what):
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile", *what, folder=None)


def run(*command, folder, **more):
    hidden = ("PYTHONPATH", "COVERAGE", "ICONOTEXT")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    kept |= {"ICONOTEXT_CACHE": str(folder / "cache")} if folder else {}
    kept |= {name: str(value) for name, value in more.items()}
    done = subprocess.run([*map(str, command)], cwd=folder, env=kept, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def site_packages(python):
    (folder,) = (python.parents[1] / "lib").glob("python3*/site-packages")
    return folder


def test_the_core_is_light(core, wheel):
    files = site_packages(core)
    brought = {path.name for path in files.iterdir()}
    # The demo's photographs, and what tokenizers brings.
    assert not brought & {*HEAVY, *sum(EXTRAS.values(), ())} - {"skimage", "huggingface_hub"}
    assert wheel.stat().st_size < 90e6
    assert sum(path.stat().st_size for path in files.rglob("*") if path.is_file()) < 490e6


def test_the_readme_says_how_large_it_is(tmp_path):
    root = Path(__file__).parents[1]
    (said,) = re.findall(r"(\d+) MB in all", (root / "README.md").read_text(encoding="utf-8"))
    command = [sys.executable, root / "benchmarks/install.py", "--size"]
    assert float(run(*command, folder=tmp_path).split()[0]) == pytest.approx(int(said), rel=0.1)


def test_the_core_links_and_evaluates(core, place):
    assert (place / "demo/linked/article.html").stat().st_size > 100_000
    assert run(core, "-m", "iconotext", "--version", folder=place).strip()
    linked = json.loads(run(core, "-m", "iconotext", "link", "demo/article.md", "--to", "json", folder=place))
    assert linked[0]["links"]
    (place / "article.rst").write_text("A cat sits.\n\n.. image:: demo/pictures/cat.jpg\n")
    assert json.loads(run(core, "-m", "iconotext", "link", "article.rst", "--to", "json", folder=place))[0]["images"]
    measured = json.loads(run(core, "-m", "iconotext", "evaluate", "default", "gold.jsonl", "--json", folder=place))
    assert measured["auc"] == 1


ONE_LINE = {
    "uv": ["uvx", "--no-build", "--from", "WHEEL"],
    "pipx": ["pipx", "run", "--pip-args=--only-binary=:all:", "--spec", "WHEEL"],
}
"""Runs a wheel without installing it, and without a compiler."""


@pytest.mark.parametrize("tool", ONE_LINE)
def test_it_is_run_in_one_line(tool, core, wheel, place):
    with tempfile.TemporaryDirectory(dir=place) as name:
        folder = Path(name)
        python = environment(folder / "tools")
        pip_install(python, tool)
        program, *options = [wheel if word == "WHEEL" else word for word in ONE_LINE[tool]]
        homes = {"HOME": folder, "UV_CACHE_DIR": folder / "uv", "PIPX_HOME": folder / "pipx"}
        pythons = {"UV_PYTHON": sys.executable, "PIPX_DEFAULT_PYTHON": sys.executable}
        command = [python.with_name(program), *options, "iconotext", "link", place / "demo/article.md", "--to", "json"]
        assert json.loads(run(*command, folder=folder, **homes, **pythons))[0]["links"]


def test_every_extra_is_run():
    assert RUNS.keys() == EXTRAS.keys()


@pytest.mark.parametrize("extra", RUNS)
def test_an_extra_brings_what_its_command_needs(extra, core, wheel, place):
    with tempfile.TemporaryDirectory(dir=place) as name:
        python = environment(Path(name) / "venv")
        # the packages of the core are seen from here, and those of the extra come beside them
        (site_packages(python) / "core.pth").write_text(f"{site_packages(core)}\n")
        pip_install(python, f"{wheel}[{extra}]")
        brought = sum(path.stat().st_size for path in site_packages(python).rglob("*") if path.is_file())
        assert brought < LARGEST.get(extra, 10e9)
        for command in RUNS[extra]:
            run(python, *(command.split() if isinstance(command, str) else command), folder=place)


def test_the_package_of_the_papers_is_installed_beside_the_program(core, wheel, place):
    with tempfile.TemporaryDirectory(dir=place) as name:
        python = environment(Path(name) / "venv")
        (site_packages(python) / "core.pth").write_text(f"{site_packages(core)}\n")
        pip_install(python, wheel, Path(__file__).parents[1] / "packages/iconotext-papers")
        for command in OF_PAPERS:
            run(python, *(command.split() if isinstance(command, str) else command), folder=place)


def test_a_package_of_somebody_else_adds_to_the_open_tables(core, wheel, place):
    with tempfile.TemporaryDirectory(dir=place) as name:
        python = environment(Path(name) / "venv")
        (site_packages(python) / "core.pth").write_text(f"{site_packages(core)}\n")
        pip_install(python, "--no-deps", Path(__file__).parent / "other_package")
        (place / "day.journal").write_text("Our cat sits still.\n@ demo/pictures/cat.jpg Our cat\nIt rained.\n")
        lines = run(python, "-m", "iconotext", "link", "day.journal", "--to", "csv", folder=place).splitlines()
        assert lines[0].startswith("demo/pictures/cat.jpg,Our cat sits still.,")
        assert run(python, "-m", "iconotext", "unlinked", "day.journal", folder=place) == ""
        named = "-m iconotext link day.journal --evidence layout,file_name --to json".split()
        assert json.loads(run(python, *named, folder=place))[0]["links"][0]["evidence"]["file_name"] > 0
        assert "unlinked" in run(python, "-m", "iconotext", "--help", folder=place)
        (place / "day.journal").write_text("Our cat sits still.\n@ DSC_0001.jpg Our cat\n")
        checking = "-m iconotext check day.journal --rules journal --baseline known.json --write-baseline".split()
        run(python, *checking, folder=place)
        assert '"journal-camera"' in (place / "known.json").read_text()
