"""How often ``iconotext check`` and other tools are right about alternative texts that other people judged.

    python benchmarks/alternative_texts.py --judged FOLDER --real captions.jsonl --tools FOLDER

``--judged`` has the folders ``github``, ``act``, ``typo3`` and ``equalize``, each with the files named in ``SETS`` out
of a checkout of the repository. Every picture there becomes a page of its own, with what the case says of its
surroundings. Found: a tool says anything against the alternative text of a picture that is judged faulty.

``--real`` are lists of pictures (``captions.jsonl``) whose authors took care: all that is found there is counted.
``--tools`` is a folder in which ``npm install`` was run with the packages of ``alternative_texts.mjs``.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import lxml.html
from statsmodels.stats.proportion import proportion_confint

from iconotext.check.audit import check_page
from iconotext.check.page import Page
from iconotext.check.picture import Picture
from iconotext.check.places import Place
from iconotext.check.rules import CheckSettings, apply_rules
from iconotext.read import ReadSettings

Element = Any  # lxml has no types of its own that mypy could check


@dataclass(frozen=True)
class Case:
    """The markup of a picture with its surroundings, and whether its alternative text is judged faulty."""

    name: str
    markup: str
    faulty: bool


def github(folder: Path) -> Iterator[Case]:
    """Cases of github/accessibility-scanner-alt-text-plugin: ``tests/fixtures/alt-quality/*.json``."""
    for file in sorted(folder.glob("*.json")):
        for case in json.loads(file.read_text(encoding="utf-8")):
            yield Case(case["id"], surrounded(case), case["expected"] != "ok")


def surrounded(case: dict[str, str]) -> str:
    """The picture of a case with the function, the caption and the text that its context tells."""
    context = case["context"]
    markup = f'<img src="{escape(case["image"])}" alt="{escape(case["alt"])}">'
    said = re.search(r'visible text "([^"]+)" appears within the same link', context)
    address = re.search(r"link pointing to (https?://[^\s,]+[^\s,.])", context)
    if "<input" in context:
        markup = markup.replace("<img", '<input type="image"')
    elif "content of a button" in context or "link/button" in context:
        markup = f"<button>{markup}</button>"
    elif address:
        markup = f'<a href="{address[1]}">{markup}{f" {said[1]}" if said else ""}</a>'
    outside = re.search(r'The text "([^"]+)" appears OUTSIDE the link', context)
    below = re.search(r'caption immediately below it: "([^"]+)"', context)
    if below:
        markup = f"<figure>{markup}<figcaption>{escape(below[1])}</figcaption></figure>"
    said_before = r'(?:near the image|before the image|immediately above the image|body text below): "([^"]+)"'
    texts = re.findall(said_before, context, re.IGNORECASE)
    before = "".join(f"<p>{escape(text)}</p>\n" for text in texts)
    return f"{before}<div>{markup}{f' {escape(outside[1])}' if outside else ''}</div>"


def act(folder: Path) -> Iterator[Case]:
    """Passed and failed examples of rules of act-rules/act-rules.github.io: ``_rules/*.md``."""
    pattern = re.compile(r"#### (Passed|Failed) (Example \d+)\n.*?```html\n(.*?)```", re.DOTALL)
    for file in sorted(folder.glob("*.md")):
        for verdict, number, markup in pattern.findall(file.read_text(encoding="utf-8")):
            if len(pictures(markup)) == 1:
                yield Case(f"{file.stem} {verdict} {number}", re.sub(r"</?html[^>]*>", "", markup), verdict == "Failed")


def typo3(folder: Path) -> Iterator[Case]:
    """Pictures of CreateNothing/Typo3AccessLinter: ``src/test/resources/testData/images/*-{issues,valid}.html``."""
    for file in sorted(folder.glob("*.html")):
        for number, picture in enumerate(pictures(file.read_text(encoding="utf-8"))):
            holder = next(picture.iterancestors("a", "button", "figure", "li"), picture)
            markup = lxml.html.tostring(holder, encoding="unicode", with_tail=False)
            yield Case(f"{file.stem} {number}", markup, "issues" in file.stem)


def equalize(folder: Path) -> Iterator[Case]:
    """Cases of equalizedigital/accessibility-checker: ``tests/jest/rules/img*.test.js``."""
    pattern = re.compile(r"html: (['`])(.*?)\1,\s*shouldPass: (true|false)", re.DOTALL)
    for file in sorted(folder.glob("*.js")):
        for number, (_, markup, passes) in enumerate(pattern.findall(file.read_text(encoding="utf-8"))):
            if len(pictures(markup)) == 1 and "${" not in markup:
                yield Case(f"{file.stem} {number}", markup.replace("\\'", "'"), passes == "false")


SETS = {"github": github, "act": act, "typo3": typo3, "equalize": equalize}


def pictures(markup: str) -> list[Element]:
    """The pictures of a piece of HTML."""
    whole: Element = lxml.html.fromstring(f"<div>{markup}</div>")
    return list(whole.xpath("//img | //input[@type='image']"))


def page_of(case: Case) -> str:
    """A web page with a case."""
    head = '<!DOCTYPE html>\n<html lang="en"><head><title>A page</title></head>'
    return f"{head}<body><main>\n{case.markup}\n</main></body></html>\n"


def ours(cases: list[Case], folder: Path) -> dict[str, list[str]]:
    """The name of each case, to the rules of ``iconotext check`` that its alternative text breaks."""
    found = {}
    for number, case in enumerate(cases):
        path = folder / f"{number}.html"
        path.write_text(page_of(case), encoding="utf-8")
        checked = check_page(path, CheckSettings(rules=("alt",)), ReadSettings())
        found[case.name] = [finding.rule for _, finding in checked.findings]
    return found


def others(cases: list[Case], tools: Path) -> dict[str, dict[str, list[str]]]:
    """Each other tool with its version, to what it says of each case."""
    script = Path(__file__).with_suffix(".mjs").read_text(encoding="utf-8")
    rows = [{"name": case.name, "page": page_of(case), "markup": case.markup} for case in cases]
    node = ["node", "--input-type=module", "--eval", script]  # evaluated, so that imports are looked up in the folder
    done = subprocess.run(node, cwd=tools, input=json.dumps(rows), stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, dict[str, list[str]]] = json.loads(done.stdout)
    return found


def row(title: str, cases: list[Case], found: dict[str, list[str]]) -> str:
    """A row of the table: precision and recall, with 95 % intervals of Wilson."""
    told = [case for case in cases if found.get(case.name)]
    right, faulty = sum(case.faulty for case in told), sum(case.faulty for case in cases)
    return f"| {title} | {share(right, len(told))} | {share(right, faulty)} |"


def share(count: int, total: int) -> str:
    """A count of a total, in percent with its interval."""
    low, high = proportion_confint(count, total, method="wilson") if total else (0, 0)
    return f"{count} of {total}: {100 * count / max(total, 1):.0f} % ({100 * low:.0f}–{100 * high:.0f})"


def real(path: Path) -> None:
    """Count what is found in alternative texts of careful authors, each as a picture on a page of its own."""
    counts, total, examples = Counter[str](), 0, dict[str, list[str]]()
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        texts = dict(zip(entry.get("kinds") or (), entry["captions"], strict=False))
        if not texts.get("alt"):
            continue
        total += 1
        address = quote(entry["source"].rpartition(":")[2])
        picture = Picture(Place("a.html"), 0, (address,), alt=texts["alt"], caption=texts.get("caption"))
        for _, rule, _ in apply_rules(Page("a.html", "html", [picture]), CheckSettings(rules=("alt",))).broken:
            counts[rule.name] += 1
            examples.setdefault(rule.name, []).append(texts["alt"])
    print(f"\n{path.parent.name}: {total:,} texts; {dict(counts.most_common())}")
    for name, texts_ in examples.items():
        for text in texts_[:: max(1, len(texts_) // 8)]:
            print(f"    {name}: {text[:150]!r}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judged", type=Path, help="the folder with the sets")
    parser.add_argument("--real", type=Path, nargs="*", default=[], help="lists of pictures with texts that are good")
    parser.add_argument("--tools", type=Path, help="a folder with the npm packages of the other tools")
    given = parser.parse_args()
    for name, cases_of in SETS.items() if given.judged else ():
        cases = list(cases_of(given.judged / name))
        print(f"\n{name}: {len(cases)} pictures, {sum(case.faulty for case in cases)} judged faulty\n")
        print("| tool | precision | recall |\n|---|---|---|")
        with tempfile.TemporaryDirectory() as work:
            found = ours(cases, Path(work))
        print(row("iconotext check", cases, found))
        for tool, said in others(cases, given.tools).items() if given.tools else ():
            print(row(tool, cases, said))
    for path in given.real:
        real(path)


if __name__ == "__main__":
    main()
