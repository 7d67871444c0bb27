"""The distribution of the check alone, its hook and its action: what they name is there, runs, and is light."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from iconotext.read.format import all_formats
from iconotext_check.program import READS, main
from tests.fuzz.seeds import seeds

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "packages/iconotext-check"
PROGRAM = "from iconotext_check import main; main()"
MODULES = f"{ROOT / 'src'}{os.pathsep}{PACKAGE / 'src'}"
MEGABYTE = 1e6


def run(*command, folder, expected):
    hidden = ("PYTHONPATH", "COVERAGE", "ICONOTEXT")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    done = subprocess.run([*map(str, command)], cwd=folder, env=kept, capture_output=True, text=True, timeout=1800)
    assert done.returncode == expected, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def write_documents(folder):
    (folder / "docs").mkdir()
    for name in "ab":
        (folder / f"docs/{name}.png").touch()
    (folder / "docs/a.md").write_text("# A\n\n![image](a.png)\n")
    (folder / "docs/b.html").write_text("<html><body><main><p>B</p><img src='b.png'></main></body></html>")


def test_the_program_has_the_options_of_the_command(tmp_path, monkeypatch, capsys):
    write_documents(tmp_path)
    monkeypatch.chdir(tmp_path)

    def ends(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        return ended.value.code, capsys.readouterr().out

    with pytest.raises(SystemExit, match="2"):
        main(["docs", "--chunks", "chunks.jsonl"])
    assert "error: --chunks has to link the documents: pip install iconotext" in capsys.readouterr().err
    status, printed = ends("docs", "--json", "--skip", "alt-missing")
    assert (status, [row["rule"] for row in json.loads(printed)]) == (1, ["alt-placeholder"])
    assert ends("docs", "--rules", "alt-long,alt-sentence") == (0, "")
    assert ends("docs", "--exclude", "*.md", "--exclude", "*.html") == (2, "")
    assert ends("docs", "--baseline", "known.json", "--write-baseline")[0] == 0
    assert ends("docs", "--baseline", "known.json") == (0, "")
    for wrong in (["--rules", "nothing"], ["--large", "0"], ["--empty", "perhaps"], ["--root"], []):
        assert ends(*([*wrong, "docs"] if wrong else []))[0] == 2


def test_it_imports_nothing_heavy():
    code = "import sys, iconotext_check.program; print([m for m in ('numpy', 'onnxruntime', 'PIL', 'typer') if m in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": MODULES}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_it_reads_every_format_that_it_names_without_the_packages_of_the_whole_program(tmp_path):
    for format_ in READS:
        (tmp_path / f"a{all_formats()[format_].suffixes[0]}").write_bytes(seeds(format_)[0])
    absent = ("numpy", "onnxruntime", "PIL", "trafilatura", "typer", "pypdfium2", "rich")
    code = f"import sys; sys.modules.update(dict.fromkeys({absent})); {PROGRAM}"
    environment = {**os.environ, "PYTHONPATH": MODULES}
    done = subprocess.run(
        [sys.executable, "-c", code, ".", "--json"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert done.stderr.endswith(f" of {len(READS)} documents\n")  # none is damaged, or in want of a package
    assert {Path(row["place"]["path"]).suffix for row in json.loads(done.stdout)} >= {
        ".md",
        ".html",
        ".docx",
        ".rst",
        ".adoc",
    }


def test_the_hook_is_valid_and_names_the_program():
    (hook,) = import_module("pre_commit.clientlib").load_manifest(str(PACKAGE / ".pre-commit-hooks.yaml"))
    assert tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]["scripts"] == {
        hook["entry"]: "iconotext_check:main"
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "status"), [({}, 1), ({"ARGUMENTS": "--skip alt,file"}, 0), ({"SARIF": "found.sarif"}, 1)]
)
def test_the_action_runs_the_program(tmp_path, settings, status):
    write_documents(tmp_path)
    action = yaml.safe_load((PACKAGE / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    (check,) = [step for step in action["runs"]["steps"] if step.get("name") == "Check"]
    asked = {name: f"${{{{ inputs.{name.lower()} }}}}" for name in check["env"]}
    assert check["env"] == asked
    assert {name.lower() for name in asked} == set(action["inputs"])
    program = tmp_path / "iconotext-check/bin/iconotext-check"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nPYTHONPATH={MODULES} exec {sys.executable} -c "{PROGRAM}" "$@"\n')
    program.chmod(0o755)
    given = {"PATHS": "docs", "ARGUMENTS": "", "BASELINE": "", "SARIF": "", "RUNNER_TEMP": str(tmp_path), **settings}
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", check["run"]], cwd=tmp_path, env={**os.environ, **given})
    assert done.returncode == status
    assert (tmp_path / "found.sarif").exists() == ("SARIF" in settings)


@pytest.mark.slow
@pytest.mark.install
def test_the_action_installs_what_it_runs_and_it_is_light(tmp_path):
    write_documents(tmp_path)
    steps = {step["name"]: step for step in yaml.safe_load((PACKAGE / "action.yml").read_text())["runs"]["steps"]}
    given = {
        "ACTION": PACKAGE,
        "PATHS": "docs",
        "ARGUMENTS": "--json",
        "BASELINE": "",
        "SARIF": "",
        "RUNNER_TEMP": tmp_path,
    }
    environment = [f"{name}={value}" for name, value in given.items()]
    path = f"PATH={Path(sys.executable).parent}:{os.environ['PATH']}"
    shell = ["env", path, *environment, "bash", "-eo", "pipefail", "-c"]
    run(*shell, steps["Install"]["run"], folder=tmp_path, expected=0)
    printed = run(*shell, steps["Check"]["run"], folder=tmp_path, expected=1)
    assert [row["rule"] for row in json.loads(printed)] == ["alt-placeholder", "alt-missing"]
    (packages,) = (tmp_path / "iconotext-check/lib").glob("python3*/site-packages")
    brought = {path.name for path in packages.iterdir()}
    # No folder iconotext: whoever installs iconotext as well, in any order, has both, and may uninstall either.
    assert not brought & {"iconotext", "numpy", "onnxruntime", "PIL", "typer", "rich", "trafilatura"}
    tools = ("pip", "setuptools", "pkg_resources")  # which venv brings
    files = [file for file in packages.rglob("*") if file.is_file()]
    own = [file for file in files if not file.relative_to(packages).parts[0].startswith(tools)]
    assert sum(file.stat().st_size for file in own) < 36 * MEGABYTE
    for name, text in OTHERS.items():  # every format that it reads, with what was installed alone
        (tmp_path / name).write_text(text)
        program = tmp_path / "iconotext-check/bin/iconotext-check"
        assert "reference-missing" in run(program, name, "--rules", "reference", folder=tmp_path, expected=1)


TWO = "Text on the tram.\n\n{}\n\nAs Figure 3 shows.\n\n{}\n"
OTHERS = {
    "a.rst": TWO.format(*(f".. figure:: {n}.png\n\n   Figure {n}: A tram" for n in (1, 2))),
    "a.adoc": TWO.format(*(f".Figure {n}: A tram\nimage::{n}.png[x]" for n in (1, 2))),
    "a.qmd": TWO.format(*(f"![x]({n}.png)\n\n*Figure {n}: A tram*" for n in (1, 2))),
}


@pytest.mark.slow
@pytest.mark.install
def test_pre_commit_installs_the_hook_of_the_guide_at_its_revision_and_runs_it(tmp_path):
    """The repository of the hook is the sdist, unpacked."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", tmp_path, PACKAGE, folder=tmp_path, expected=0)
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        packed.extractall(tmp_path, filter="data")
    hook = tmp_path / sdist.name.removesuffix(".tar.gz")
    block = re.search(r"^```yaml\n(repos:.*?)^```$", (ROOT / "docs/check.md").read_text(), re.MULTILINE | re.DOTALL)
    assert block is not None
    (guide,) = yaml.safe_load(block[1])["repos"]
    git = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    user = tmp_path / "user"
    user.mkdir()
    write_documents(user)
    (user / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [{**guide, "repo": hook.as_uri()}]}))
    for folder in (hook, user):
        run("git", "init", "--quiet", folder=folder, expected=0)
        run("git", "add", ".", folder=folder, expected=0)
    run(*git, "commit", "--quiet", "--message", "Release", folder=hook, expected=0)
    run("git", "tag", guide["rev"], folder=hook, expected=0)
    command = ["env", f"PRE_COMMIT_HOME={tmp_path / 'home'}", sys.executable, "-m", "pre_commit", "run", "--all-files"]
    printed = run(*command, folder=user, expected=1)
    assert "alt-placeholder" in printed
    assert "alt-missing" in printed
