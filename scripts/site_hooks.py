"""What the site adds to the guides: pages that iconotext makes of our own documents, pages of records, and lists."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "scripts")]

import records  # noqa: E402  # lies beside this file
from drawn_garden import write_garden  # noqa: E402

from iconotext import Linker, save  # noqa: E402
from iconotext.demo import write_demo  # noqa: E402

QUESTION = "Two children balance on a plank"
"""What is searched for on the page of a search."""


def on_files(files: Any, *, config: Any) -> Any:
    """Add the pages of ``live/``, since the site is made with the program that it describes, and those of records."""
    for name, content in live_pages().items():
        files.append(File.generated(config, f"live/{name}", content=content))
    for name in record_names():
        files.append(File.generated(config, f"results/records/{name}.md", content=records.page(name)))
    return files


def record_names() -> list[str]:
    """Return the names of the records that have a page."""
    return sorted(path.stem for path in records.OTHERS.glob("*.json"))


@cache
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
        source, place = each["source"], each["place"]
        picture = f"![](pictures/{source}){{width=160}}"
        rows.append(f"| {picture} | {place['path']}:{place['line']} | {each['message']} | {says.get(source, '')} |\n")
    return head + "".join(rows)


def run(folder: Path, *arguments: str, ends: int = 0) -> str:
    """Run iconotext in a folder, and return what it prints; it must end with this status."""
    done = subprocess.run([sys.executable, "-m", "iconotext", *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode != ends:
        command = f"iconotext {' '.join(arguments)}"
        raise PluginError(f"{command}: the site is made with the program; scripts/setup installs it. {done.stderr}")
    return done.stdout


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Lead from the guides to the pages of records, and put the lists of decisions and records below their texts."""
    if page.file.src_path == "decisions.md":
        found = sorted(Path(config["docs_dir"], "decisions").glob("*.md"))
        titles = [path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for path in found]
        return markdown + listed((title, f"decisions/{path.name}") for title, path in zip(titles, found, strict=True))
    if page.file.src_path == "results/records.md":
        return markdown + listed((records.read(name)["title"], f"records/{name}.md") for name in record_names())
    return re.sub(r"(\]\([^)\s]*\brecords/[\w.-]+)\.json\)", r"\1.md)", markdown)


def listed(links: Iterable[tuple[str, str]]) -> str:
    """Return a list of links in Markdown, from titles and addresses."""
    return "".join(f"\n- [{title}]({address})" for title, address in links)
