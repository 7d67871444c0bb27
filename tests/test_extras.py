"""Without the packages of the extras, everything else works, and what needs one says what to install."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from iconotext.cli.app import app
from iconotext.errors import MissingPackageError
from iconotext.extras import EXTRAS, require
from tests.train.synthetic import small_recipe, write_synthetic

DISTRIBUTIONS = {"skimage": "scikit-image", "lightning_fabric": "lightning-fabric"}
DIVIDED_TEXT = "# A heading\n\nA sentence about a dog.\n\n![A dog](a.png)\n\nAnother sentence.\n"


@pytest.fixture
def bare(monkeypatch):
    """As after ``pip install iconotext`` without extras."""
    for module in sum(EXTRAS.values(), ()):
        for loaded in [name for name in sys.modules if name.partition(".")[0] == module]:
            monkeypatch.setitem(sys.modules, loaded, None)
        monkeypatch.setitem(sys.modules, module, None)


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_the_extras_are_those_of_the_project():
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    extras = dict(project["optional-dependencies"])
    assert extras.pop("all") == [f"iconotext[{','.join(sorted(EXTRAS.keys() - {'timm'}))}]"]
    assert "iconotext[all]" in extras.pop("dev")
    named = {name: {each.partition(">")[0] for each in packages} for name, packages in extras.items()}
    assert named == {name: {DISTRIBUTIONS.get(module, module) for module in EXTRAS[name]} for name in EXTRAS}
    always = {each.partition(">")[0] for each in project["dependencies"]}
    assert not always & set().union(*named.values())


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_is_missing_is_named_with_its_extra(bare, extra):
    for module in EXTRAS[extra]:
        with pytest.raises(MissingPackageError, match=rf'^this needs {module}, .*pip install "iconotext\[{extra}\]"$'):
            require("json", module, purpose="this")


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("library add lib docs", "library"),
        ("library add lib docs --evidence text", "library"),
        ("demo", "demo"),
        ("link a.md --evidence caption,text", "ocr"),
        ("reproduce 2 --corpus corpus.jsonl", "papers"),
        ("corpus stats corpus.jsonl --plot sizes.svg", "papers"),
        ("corpus build wiki -s clef -o wiki.jsonl --workers 1", "papers"),
        ("corpus build diy -s reddit -o diy.jsonl --workers 1", "papers"),
    ],
)
def test_commands_say_what_to_install(bare, tmp_path, monkeypatch, picture, command, extra):
    monkeypatch.chdir(tmp_path)
    picture("docs/a.png")
    write_synthetic(tmp_path, 10)
    Path("a.md").write_text(DIVIDED_TEXT)
    for name in ("clef/metadata/1", "clef/text/en/1", "clef/images/1", "reddit/albums"):
        Path(name).mkdir(parents=True)
    Path("clef/text/en/1/1.xml").write_text("A sentence about a dog.")
    for number in range(3):
        Path(f"clef/metadata/1/{number}.xml").write_text(
            f'<image id="{number}" file="images/1/{number}.png"><name>P{number}.png</name>'
            '<text xml:lang="en"><caption article="text/en/1/1">x</caption></text></image>'
        )
        picture(f"clef/images/1/{number}.png", seed=number)
    Path("reddit/RS_2013-01.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    result = run(*command.split())
    assert result.exit_code == 1
    assert f'pip install "iconotext[{extra}]"' in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.slow
def test_the_rest_needs_none(bare, tmp_path, monkeypatch, picture):
    monkeypatch.chdir(tmp_path)
    picture("a.png")
    Path("a.md").write_text(DIVIDED_TEXT)
    linked = run("link", "a.md", "--to", "json")
    assert linked.exit_code == 0, linked.output
    assert json.loads(linked.stdout)[0]["links"]
    corpus = write_synthetic(tmp_path / "c", 20)
    Path("small.toml").write_text(toml_of(small_recipe(training={"epochs": 1})))
    trained = run("train", "small.toml", "-c", corpus, "-o", "model")
    assert trained.exit_code == 0, trained.output
    assert not Path("model/tensorboard").exists()
    assert run("corpus", "check", corpus).exit_code == 0


def toml_of(recipe):
    from iconotext.recipe import dump_recipe

    return dump_recipe(recipe)
