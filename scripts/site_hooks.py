"""What the site adds to the guides: the list of decisions, made of the files that are there."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Put the list of decisions, by their titles, below the text of ``decisions.md``."""
    if page.file.src_path != "decisions.md":
        return markdown
    found = sorted(Path(config["docs_dir"], "decisions").glob("*.md"))
    titles = [path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for path in found]
    return markdown + "".join(
        f"\n- [{title}](decisions/{path.name})" for title, path in zip(titles, found, strict=True)
    )
