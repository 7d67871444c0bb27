from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest
import typer

from iconotext.cli.app import app
from iconotext.cli.config import OF_A_PROJECT
from tests.support import program

PROGRAM = typer.main.get_command(app)


def context_of(path: tuple[str, ...], **settings: Any) -> Any:
    """Click's context of a command that is called with one argument."""
    command: Any = PROGRAM
    context = command.make_context("iconotext", [*path, "a.md"])
    for word in path:
        command = command.commands[word]
        arguments = [] if settings else ["a.md"]
        context = command.make_context(word, arguments, parent=context, **settings)
    return context


def given(*path: str) -> dict[str, Any]:
    """The options of a command that come from variables and files, as its function gets them."""
    context = context_of(path, resilient_parsing=True)
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {
        name: getattr(value, "value", value)
        for name, value in context.params.items()
        if sources[name] is not None and sources[name].name in ("DEFAULT_MAP", "ENVIRONMENT")
    }


@pytest.fixture
def error(capsys):
    """What a command says of the variables and files: one line, after which it ends."""

    def line(*path: str) -> str:
        with pytest.raises(SystemExit):
            context_of(path)
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        return said.removeprefix("iconotext: ").rstrip()

    return line


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The user's own file; the working folder is an empty one."""
    file = tmp_path / "own.toml"
    file.touch()
    monkeypatch.setenv("ICONOTEXT_CONFIG", str(file))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return file


@pytest.fixture
def project(own):
    return own.parent / "here" / "iconotext.toml"


def test_environment_before_project_before_own_file(own, project, monkeypatch):
    own.write_text(
        '[link]\nto = "json"\nlanguage = "de"\nmodel = "mine"\nexplain = true\n[library.add]\nmodel = "other"'
    )
    project.write_text('[link]\nto = "jsonl"\nlanguage = "fr"')
    monkeypatch.setenv("ICONOTEXT_LINK_LANGUAGE", "pt")
    monkeypatch.setenv("ICONOTEXT_LINK_EXPLAIN", "no")
    monkeypatch.setenv("ICONOTEXT_LINK_EXCLUDE", "drafts 'my site'")
    monkeypatch.setenv("ICONOTEXT_LINK_K", "5")
    assert given("link") == {
        "to": "jsonl",
        "reading_language": "pt",
        "model": "mine",
        "linking_explain": False,
        "reading_exclude": ("drafts", "my site"),
        "linking_k": 5,
    }
    assert given("library", "add") == {"model": "other"}
    assert given("search") == {}


def test_the_command_line_comes_first(own, tmp_path, monkeypatch):
    corpus = tmp_path / "c.jsonl"
    documents = [{"id": str(n), "sentences": ["A cat."], "images": [f"{n}.png"]} for n in range(10)]
    corpus.write_text("".join(json.dumps(document) + "\n" for document in documents))
    monkeypatch.setenv("ICONOTEXT_CORPUS_SPLIT_TEST", "0.5")
    monkeypatch.setenv("ICONOTEXT_CORPUS_SPLIT_OUTPUT", str(tmp_path / "by-environment.jsonl"))
    first = program.run("corpus", "split", corpus)
    assert "5 test" in first.stderr, first.output
    assert (tmp_path / "by-environment.jsonl").is_file()
    second = program.run("corpus", "split", corpus, "--test", "0.2", "--output", tmp_path / "2.jsonl")
    assert "2 test" in second.stderr, second.output


def test_the_users_file_lies_in_the_configuration_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("ICONOTEXT_CONFIG")
    monkeypatch.setattr(typer, "get_app_dir", lambda name: str(tmp_path / name))
    (tmp_path / "iconotext").mkdir()
    (tmp_path / "iconotext" / "iconotext.toml").write_text('[link]\nmodel = "mine"\nfetch = true')
    assert given("link") == {"model": "mine", "reading_fetch": True}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[link]\nmodle = 'x'", r"'link\.modle': no such option; did you mean link\.model\?"),
        ("[lnik]\nmodel = 'x'", r"'lnik': no such command; did you mean \[link\]\?"),
        ("model = 'x'", r"'model': no such option"),
        ("[link]\n'\\u001b[2J' = 1".replace("'", '"'), r"'link\.\\x1b\[2J': no such option"),
        ("[link]\nepub = 'jsn'", r"link\.epub = 'jsn': 'jsn' is not one of 'book'"),
        ("[link]\nmin-confidence = 'high'", r"link\.min-confidence = 'high': .*valid"),
        ("[link.to]\nx = 1", r"link\.to: a value is needed"),
        ("[link", r"not TOML"),
        ("a = " + 10_000 * "[", r"not TOML"),
        ("link." + 500_000 * "a." + "a = 1", r"more than 16,384 characters"),
    ],
)
@pytest.mark.parametrize("whose", ["own.toml", "here/iconotext.toml"])
def test_what_is_wrong_is_said_with_its_place(own, error, whose, text, message):
    file = own.parent / whose
    file.write_text(text)
    line = error("link")
    assert re.search(message, line), line
    assert line.startswith(f"{file.name if whose != 'own.toml' else file}: ")


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("ICONOTEXT_LINK_MODLE", "x", "did you mean ICONOTEXT_LINK_MODEL"),
        ("ICONOTEXT_LINK_EXPLAIN", "perhaps", "ICONOTEXT_LINK_EXPLAIN = 'perhaps'"),
        ("ICONOTEXT_LINK_EXCLUDE", "'drafts", "No closing quotation"),
        ("ICONOTEXT_CONFIG", "/nowhere.toml", "no such file"),
    ],
)
def test_what_is_wrong_with_a_variable(own, error, monkeypatch, variable, value, message):
    monkeypatch.setenv(variable, value)
    line = error("link")
    assert message in line
    assert line.startswith(variable)


def test_a_wrong_value_for_another_command_stops_nothing(own):
    own.write_text('[corpus.build.folder]\nroot = "/nowhere"')
    assert given("link") == {}


@pytest.mark.parametrize(
    "text",
    [
        "link.fetch = true",
        "link.allow-outside = true",
        "link.allow_outside = true",
        'link.model = "evil"',
        'link.output = "../../.bashrc"',
        "link.force = true",
        'link.root = "/"',
        'link.text = "evil"',
        'link.k = 3\nlink.relations = "evil"',
        'library.add.relations = "evil"',
        'train.init = "evil"',
        'train.set = ["features.image=evil"]',
        'corpus.build.captions.backbone = "evil"',
        'search.html = "x.html"',
    ],
)
def test_the_file_of_a_folder_reaches_for_no_file_no_network_and_no_model(own, project, error, text):
    path = re.split(r"\.[\w-]+ =", text.splitlines()[-1])[0].split(".")
    project.write_text(text)
    assert "may not set this" in error(*path)
    project.unlink()
    own.write_text(text)
    given(*path)


def test_what_the_file_of_a_folder_may_set(own, project):
    project.write_text('link.language = "de"\nlink.k = 5\nlink.evidence = ["picture", "caption"]')
    evidence = ("picture", "caption")
    assert given("link") == {"reading_language": "de", "linking_k": 5, "linking_evidence": evidence}


def test_what_a_project_may_set_exists_and_is_no_path():
    for name in OF_A_PROJECT:
        command: Any = PROGRAM
        *words, option = name.split(".")
        for word in words:
            command = command.commands[word]
        (found,) = [p for p in command.params if f"--{option}" in p.opts]
        annotation = command.callback.__annotations__.get(found.name, "")
        assert "Path" not in str(annotation), name


def test_the_table_of_pyproject_is_no_longer_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for text, lines in (("[tool.iconotext.link]\nk = 1\n", 1), ("[tool.iconotext-x]\n", 0)):
        (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "a"\n{text}')
        context_of(("link",))
        assert capsys.readouterr().err.count("pyproject.toml: [tool.iconotext] is not read: move") == lines


def test_an_error_is_one_line(own, project):
    project.write_text("[link]\nfetch = true")
    result = program.run("link", "a.md", status=1)
    assert result.output.count("\n") == 1
    assert result.output.startswith("iconotext: iconotext.toml: link.fetch: ")


def test_the_help_says_where_options_may_come_from():
    text = program.run("--help").output
    assert "ICONOTEXT_LINK_MODEL" in text
    assert "iconotext.toml" in text


def test_a_wrong_settings_file_is_no_finding_of_a_check(tmp_path):
    (tmp_path / "iconotext.toml").write_text("[check]\nfoo = 1\n\n[link]\nfoo = 1\n")
    (tmp_path / "a.md").write_text("# A\n")
    statuses = {
        name: subprocess.run(
            [sys.executable, "-m", "iconotext", name, "a.md"], cwd=tmp_path, capture_output=True, check=False
        ).returncode
        for name in ("check", "link")
    }
    assert statuses == {"check": 2, "link": 1}
