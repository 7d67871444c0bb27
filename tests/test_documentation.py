"""What README, guides and docstrings name is there: commands, modules, constructs that are read."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

from iconotext.cli.app import app
from iconotext.evidence.reference import EXPLICIT, reference_evidence
from iconotext.read import formats_by_suffix, read

ROOT = Path(__file__).parents[1]
HOMES = (ROOT / "docs", ROOT / "packages/iconotext-papers")
PROGRAM: Any = typer.main.get_command(app)
SHOWN = [
    pytest.param(line[2:].strip(), id=f"{path.name}: {line[2:].strip()[:60]}")
    for path in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(path for home in HOMES for path in sorted(home.rglob("*.md"))),
    ]
    for line in path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    if re.match(r"(?: {4}|\$ )iconotext ", line) and " NAME " not in line
]


@pytest.mark.parametrize("line", SHOWN)
def test_every_command_that_is_shown_exists_with_its_options(line):
    words = shlex.split(line, comments=True)[1:]
    command, options = PROGRAM, {"--help", "--version", "--install-completion", "--show-completion"}
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
        options = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    assert [word for word in words if word.startswith("-") and word.split("=")[0] not in options] == []
    assert command is not PROGRAM or words[0] in options


def test_they_are_found():
    assert len(SHOWN) > 60


def test_the_tables_of_the_guides_are_those_of_the_program(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    docs_tables = import_module("docs_tables")
    guides = {path.name: text_of(path) for home in HOMES for path in home.rglob("*.md")}
    stale = [name for name, text in guides.items() if docs_tables.filled(text, with_records=False) != text]
    assert stale == [], "python scripts/docs_tables.py"


@pytest.mark.slow
def test_the_tables_of_results_are_those_of_the_records():
    checked = subprocess.run(
        [sys.executable, ROOT / "scripts/docs_tables.py", "--check"], capture_output=True, text=True
    )
    assert checked.stdout + checked.stderr == "", "python scripts/docs_tables.py"


def test_the_picture_of_the_architecture_has_every_folder():
    drawn = (ROOT / "docs/images/architecture.svg").read_text(encoding="utf-8")
    folders = [path.parent.name for path in (ROOT / "src/iconotext").glob("*/__init__.py")]
    missing = [name for name in folders if f"{name}/<" not in drawn]
    assert missing == [], "python scripts/draw_architecture.py"


def test_the_code_of_the_guide_to_extensions_is_that_of_the_package_which_tests_install():
    package = "".join(text_of(path) for path in sorted((ROOT / "tests/other_package").glob("*.*")))
    blocks = re.findall(r"^```(?:python|toml)\n(.*?)^```$", text_of(ROOT / "docs/extend.md"), re.MULTILINE | re.DOTALL)
    assert [block for block in blocks if block not in package] == []
    assert len(blocks) >= 4


SOURCE = ROOT / "src/iconotext"
NOT_OURS = {"conf.py"}
"""Files of others that the guides name: of Sphinx."""

MADE = "live/"
"""Pages that `scripts/make_site.py` adds to the site."""


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def is_there(name: str, *homes: Path) -> bool:
    return name in NOT_OURS or any((home / name).exists() for home in (ROOT, SOURCE, *homes))


def leads_somewhere(dotted: str) -> bool:
    """Whether ``folder.module``, or a name within one, is part of the package."""
    parts = dotted.removeprefix("iconotext.").split(".")
    for number in range(len(parts), 0, -1):
        place = SOURCE.joinpath(*parts[:number])
        module = place.with_suffix(".py") if place.with_suffix(".py").is_file() else place / "__init__.py"
        if module.is_file():
            rest = parts[number:]
            return not rest or re.search(rf"\b{rest[0]}\b", text_of(module)) is not None
    return False


GUIDES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
OF_EARLIER = {ROOT / "CHANGELOG.md"}
"""Which names modules as they were then."""


def test_modules_that_a_guide_names_are_there():
    missing = []
    for path in (guide for guide in GUIDES if guide not in OF_EARLIER):
        text = text_of(path)
        files = set(re.findall(r"`([\w./-]+\.py)(?:::\w+|: \w+)?`", text))
        dotted = set(re.findall(r"(?<![\w./-])iconotext\.[a-z_]+(?:\.\w+)*(?![\w/])", text)) - {"iconotext.toml"}
        names = {name for name in dotted if (SOURCE / name.split(".")[1]).exists() or name.count(".") > 1}
        missing += [(path.name, name) for name in files if not is_there(name, ROOT / "docs")]
        missing += [(path.name, name) for name in names if not leads_somewhere(name)]
    assert missing == []


def test_modules_that_docstrings_and_comments_name_are_there():
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir()}
    missing = []
    for path in SOURCE.rglob("*.py"):
        text = text_of(path)
        named = re.findall(r"``((?:iconotext\.)?[a-z_]+(?:\.[a-z_]+)+)``", text)
        modules = {name for name in named if name.removeprefix("iconotext.").split(".")[0] in folders} - VALUES
        missing += [
            (path.name, name) for name in re.findall(r"`([\w/-]+\.py)`", text) if not is_there(name, path.parent)
        ]
        missing += [(path.name, name) for name in modules if not leads_somewhere(name)]
    assert missing == []


VALUES = {
    "features.npy",
    "corpus.jsonl",
    "features.image",
    "library.json",
    "recipe.linking.centre",
    "library.add.model",
    "similarity.directions",
}
"""Files of users, values of objects and settings that look like modules."""


@pytest.mark.parametrize(
    ("suffix", "construct", "text"),
    [
        (".qmd", "@fig-x", "![A tram](a.png){#fig-x}\n\nA red tram waits in @fig-x.\n"),
        (".qmd", "::: {#fig-x}", "::: {#fig-x}\n![](a.png)\n\nA tram\n:::\n\nA red tram waits in @fig-x.\n"),
        (".md", "{figure}", "```{figure} a.png\n:name: x\n\nA tram\n```\n\nA red tram waits in {numref}`x`.\n"),
        (".adoc", "<<id>>", "[#id]\n.A tram\nimage::a.png[]\n\nA red tram waits in <<id>>.\n"),
        (".rst", ":numref:", ".. _x:\n\n.. figure:: a.png\n\n   A tram\n\nA red tram waits in :numref:`x`.\n"),
    ],
)
def test_what_the_guides_say_of_a_construct_is_so(tmp_path, picture, suffix, construct, text):
    picture("a.png")
    (tmp_path / f"a{suffix}").write_text(f"# Trams\n\n{text}" if suffix not in (".rst", ".adoc") else text)
    document = read(tmp_path / f"a{suffix}")
    (image,) = document.images
    assert "A tram" in (image.caption or "")
    assert reference_evidence(document).max() == EXPLICIT
    assert f"`{construct}" in text_of(ROOT / "docs/formats.md")
    for guide in GUIDES:
        for clause in re.split(r"[;.|\n]", text_of(guide)):
            assert not ("not understood" in clause and construct.split("-")[0].split(" ")[0] in clause), guide


def test_kinds_of_files_that_the_guides_say_are_not_documentare_not():
    (shown,) = re.findall(r"`Not read: ([^`]+)`", text_of(ROOT / "docs/link-reference.md"))
    kinds = set(re.findall(r"\.\w+", shown))
    assert kinds
    assert kinds.isdisjoint(formats_by_suffix())


def test_files_that_the_guides_for_contributors_name_are_there():
    texts = [text_of(ROOT / name) for name in ("CONTRIBUTING.md", "docs/architecture.md")]
    named = {name for text in texts for name in re.findall(r"`([\w/.]+(?:/|\.py|\.md))`", text)}
    assert [name for name in sorted(named) if not is_there(name)] == []


def shown_text(path: Path) -> str:
    """The text of a page without its blocks of code."""
    return re.sub(r"^( *```).*?^\1 *$", "", text_of(path), flags=re.MULTILINE | re.DOTALL)


def anchors(path: Path) -> set[str]:
    """The fragments that a page has: its headings, as the guides' site and GitHub name them, and ids of its HTML."""
    headings = re.findall(r"^#+ +(.+?)(?: *\{[^}]*\})?$", shown_text(path), re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower() for heading in headings]
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading)) for heading in plain} | set(
        re.findall(r"id=\"([^\"]+)\"", text_of(path))
    )


def leads_nowhere(path: Path, link: str) -> bool:
    place, _, fragment = link.partition("#")
    target = path.parent / place if place else path
    return not target.exists() or bool(fragment and target.suffix == ".md" and fragment not in anchors(target))


def test_every_link_of_a_page_leads_somewhere():
    nowhere = []
    for path in GUIDES:
        links = re.findall(r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)", re.sub(r"`[^`\n]*`", "", shown_text(path)))
        ours = {link for link in links if not re.match(rf"\w+:|{MADE}", link)}
        nowhere += [(path.name, link) for link in sorted(ours) if leads_nowhere(path, link)]
    assert nowhere == []


def test_every_decision_that_is_cited_is_there_and_is_the_one_that_the_link_leads_to():
    there = {int(path.name[:4]): path.name for home in HOMES for path in home.rglob("decisions/0*.md")}
    wrong = []
    folders = [
        ROOT / name for name in ("docs", "src", "tests", "benchmarks", "fitting", "recipes", "scripts", "packages")
    ]
    texts = [*GUIDES, *(path for folder in folders for path in folder.rglob("*.*") if path.suffix in (".py", ".toml"))]
    for path in (path for path in texts if path not in OF_EARLIER):
        text = text_of(path)
        cited = re.findall(r"\b[Dd]ecisions?`?,? (\d+)(?:, (\d+))?(?: (?:and|to) (\d+))?\b", text)
        wrong += [(path.name, n) for numbers in cited for n in numbers if n and int(n) not in there]
        wrong += [
            (path.name, name)
            for name in re.findall(r"(?<![\w-])(\d{4}-[a-z0-9-]+\.md)", text)
            if name not in there.values()
        ]
        linked = re.findall(r"\[(?:[Dd]ecision\s)?(\d+)\]\([^)]*?(\d{4})-[^)]*\)", text)
        wrong += [(path.name, n) for n, number in linked if int(n) != int(number)]
    assert wrong == []


def test_names_that_a_guide_gives_with_their_module_are_in_it():
    """As in "`cli/commands.py`: `COMMANDS`" and "`MAX_RESULT`, `MAX_DECODED` in `images/raster.py`"."""
    missing = []
    for path in (guide for guide in GUIDES if guide not in OF_EARLIER):
        text = text_of(path)
        pairs = re.findall(r"`([\w/]+\.py)`(?:: |, its )`([A-Za-z_]\w+)`", text)
        for names, module in re.findall(
            r"((?:`[A-Z]\w+`(?:, | and )?)+)(?: stands| stand| of the table)? in `([\w/]+\.py)`", text
        ):
            pairs += [(module, name) for name in re.findall(r"\w+", names) if name not in ("and",)]
        for module, name in pairs:
            home = next((home / module for home in (ROOT, SOURCE) if (home / module).is_file()), None)
            if home is None or not re.search(rf"\b{name}\b", text_of(home)):
                missing.append((path.name, module, name))
    assert missing == []


def test_measuring_scripts_that_are_named_are_there_or_in_the_history():
    """As in "`git show 13f1b03b:benchmarks/order.py`"; records and the heads of the scripts name them too."""
    homes = [ROOT / name for name in ("docs", "benchmarks", "fitting", "packages", "src")]
    texts = [*GUIDES, *(path for home in homes for path in home.rglob("*") if path.suffix in (".py", ".md", ".json"))]
    script = re.compile(r"(?<!:)\b((?:packages/[\w-]+/)?benchmarks/\w+\.(?:py|mjs))")
    named = {(path.name, name) for path in texts for name in script.findall(text_of(path))}
    assert {each for each in named if not (ROOT / each[1]).exists()} == set()


def test_modules_that_tests_name_by_their_path_are_there():
    folders = "|".join(path.name for path in SOURCE.iterdir() if path.is_dir())
    named = re.compile(rf"\"((?:{folders})/[\w/]+\.py)\"")
    tests = [path for path in (ROOT / "tests").rglob("*.py") if path.parent.name != "other_package"]
    missing = {(path.name, name) for path in tests for name in named.findall(text_of(path)) if not is_there(name)}
    assert missing == set()


RECORDS = sorted((ROOT / "docs/results/records").glob("*.json"))


def test_every_record_is_led_to_by_a_page_and_says_what_measured_it():
    linked = {name for guide in GUIDES for name in re.findall(r"records/([\w.-]+)\.json\)", text_of(guide))}
    assert sorted({path.stem for path in RECORDS} - linked) == []
    without = []
    for path in RECORDS:
        record = json.loads(text_of(path))
        known = record["command"] or re.search(
            r"git show|throw-away program|taken out of the program", str(record["about"])
        )
        without += [] if known else [path.name]
    assert without == []
