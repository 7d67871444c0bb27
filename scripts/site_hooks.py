"""What the site adds to the guides: pages that iconotext makes of our own documents, and the list of decisions."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "scripts")]

from drawn_garden import write_garden  # noqa: E402  # lies beside this file

QUESTION = "Two children balance on a plank"
"""What is searched for on the page of a search."""


def on_files(files: Any, *, config: Any) -> Any:
    """Add the pages of ``live/``: the site is made with the program that it describes."""
    for name, content in live_pages().items():
        files.append(File.generated(config, f"live/{name}", content=content))
    return files


@cache
def live_pages() -> dict[str, str]:
    """Link the demo, a section of a textbook and a recipe, search their pictures and check their alternative texts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_garden(folder / "garden")
        shutil.copytree(ROOT / "examples/levers", folder / "levers")
        run(folder, "demo")
        pages = {"demo.html": folder / "demo/linked/article.html"}
        for page, document in (("textbook.html", "levers/levers.md"), ("recipe.html", "garden/bread.md")):
            run(folder, "link", document, "--output", "linked", "--force")
            pages[page] = folder / "linked" / Path(document).with_suffix(".html").name
        run(folder, "library", "add", "lib", "demo/article.md", "levers", "garden")
        run(folder, "search", "lib", QUESTION, "--html", "search.html")
        pages["search.html"] = folder / "search.html"
        checked = run(folder, "check", "garden", "levers", ends=1)
        report = (
            f"# Pictures without a good alternative text\n\n```console\n$ iconotext check garden levers\n{checked}```\n"
        )
        return {page: path.read_text(encoding="utf-8") for page, path in pages.items()} | {"check.md": report}


def run(folder: Path, *arguments: str, ends: int = 0) -> str:
    """Run iconotext in a folder, and return what it prints; it must end with this status."""
    done = subprocess.run([sys.executable, "-m", "iconotext", *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode != ends:
        command = f"iconotext {' '.join(arguments)}"
        raise PluginError(f"{command}: the site is made with the program; scripts/setup installs it. {done.stderr}")
    return done.stdout


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Put the list of decisions, by their titles, below the text of ``decisions.md``."""
    if page.file.src_path != "decisions.md":
        return markdown
    found = sorted(Path(config["docs_dir"], "decisions").glob("*.md"))
    titles = [path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for path in found]
    return markdown + "".join(
        f"\n- [{title}](decisions/{path.name})" for title, path in zip(titles, found, strict=True)
    )
