"""Make the site of the guides: python scripts/make_site.py; python scripts/make_site.py serve shows it in the browser.

To the guides it adds pages that iconotext makes of our own documents, pages of records, and lists. Zensical, which
calls nothing of ours, makes the site of all of them, as ``mkdocs.yml`` says.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "build/docs"
sys.path[:0] = [str(ROOT / "scripts")]

import records  # noqa: E402  # lies beside this file
from drawn_garden import write_garden  # noqa: E402

from iconotext import Linker, save  # noqa: E402
from iconotext.demo import write_demo  # noqa: E402

QUESTION = "Two children balance on a plank"
"""What is searched for on the page of a search."""


def main() -> None:
    """Write what the site is made of into ``build/docs``, and build the site in ``site/``, or serve it."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES)
    (PAGES / "live/pictures").mkdir(parents=True)
    for name, content in live_pages().items():
        (PAGES / "live" / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    names = sorted(path.stem for path in records.OTHERS.glob("*.json"))
    for name in names:
        write(f"results/records/{name}.md", records.page(name))
    decisions = sorted((PAGES / "decisions").glob("*.md"))
    add_list("decisions.md", {f"decisions/{path.name}": first_line(path) for path in decisions})
    add_list("results/records.md", {f"records/{name}.md": records.read(name)["title"] for name in names})
    for path in PAGES.rglob("*.md"):  # from the guides to the pages of records
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r"(\]\([^)\s]*\brecords/[\w.-]+)\.json\)", r"\1.md)", text), encoding="utf-8")
    command = sys.argv[1:] or ["build", "--clean", "--strict"]
    sys.exit(
        subprocess.run([sys.executable, "-m", "zensical", *command, "-f", ROOT / "mkdocs.yml"], cwd=ROOT).returncode
    )


def write(page: str, text: str) -> None:
    """Write a page of the site."""
    (PAGES / page).write_text(text, encoding="utf-8")


def add_list(page: str, titles: Mapping[str, str]) -> None:
    """Put a list of links, addresses to titles, below the text of a page."""
    listed = "".join(f"\n- [{title}]({address})" for address, title in titles.items())
    write(page, (PAGES / page).read_text(encoding="utf-8") + listed)


def first_line(path: Path) -> str:
    """Return the title of a page in Markdown."""
    return path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def live_pages() -> dict[str, str | bytes]:
    """Link the demo, a section of a textbook and a recipe, search their pictures and check their alternative texts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_garden(folder / "garden")
        shutil.copytree(ROOT / "examples/levers", folder / "levers")
        write_demo(folder / "demo")
        documents = {"demo": "demo/article.md", "textbook": "levers/levers.md", "recipe": "garden/bread.md"}
        linker = Linker.load()
        for page, document in documents.items():
            save(linker.link(folder / document), folder / f"{page}.html")
        run(folder, "library", "add", "lib", "demo/article.md", "levers", "garden")
        run(folder, "search", "lib", QUESTION, "--top", "4", "--html", "search.html")
        pages = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.html")}
        pictures = {f"pictures/{path.name}": path.read_bytes() for path in (folder / "garden").glob("*.png")}
        pages["search.html"] = re.sub(r' href="file:[^"]*"', "", pages["search.html"])  # to documents that end here
        return {**pages, **pictures, "check.md": report(folder)}


def report(folder: Path) -> str:
    """A page of what ``check`` finds in the garden, beside what the text says of each picture."""
    findings = json.loads(run(folder, "check", "garden", "levers", "--json", ends=1))
    contexts = json.loads(run(folder, "context", "garden", "--json"))
    says = {
        each["source"]: max(each["sentences"], key=lambda sentence: sentence["confidence"] or 0)["text"]
        for each in contexts
        if each["sentences"]
    }
    head = """---
hide: [toc]
---

# Pictures without a good alternative text

What `iconotext check garden levers` finds in three documents of ours, and what the text says about each of these
pictures, from `iconotext context`. [The rules](../check.md).

| picture | where | what is wrong | what the text says |
|---|---|---|---|
"""
    rows = []
    for each in findings:
        source, place, message = each["source"], each["place"], html.escape(each["message"], quote=False)
        picture = f"![](pictures/{source}){{width=160}}"
        rows.append(f"| {picture} | {place['path']}:{place['line']} | {message} | {says.get(source, '')} |\n")
    return head + "".join(rows)


def run(folder: Path, *arguments: str, ends: int = 0) -> str:
    """Run iconotext in a folder, and return what it prints; it must end with this status."""
    done = subprocess.run([sys.executable, "-m", "iconotext", *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode != ends:
        command = f"iconotext {' '.join(arguments)}"
        raise SystemExit(f"{command}: the site is made with the program; scripts/setup installs it. {done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
