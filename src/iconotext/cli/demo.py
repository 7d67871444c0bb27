"""``iconotext demo``: write an example article with photographs, and link it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iconotext.cli.common import known_errors


def demo(
    folder: Annotated[Path, typer.Argument(help="Folder to write the article and its linked page to.")] = Path("demo"),
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
) -> None:
    """Write an example article with photographs and link it.

    The photographs are the samples that scikit-image carries (`pip install 'iconotext[demo]'`). With
    `iconotext[ocr]`, the words in the pictures are read, too.
    """
    with known_errors():
        from iconotext.cli.link import RunSettings, link_folder
        from iconotext.demo import write_demo
        from iconotext.evidence.kinds import EVIDENCE
        from iconotext.extras import has
        from iconotext.linker import LinkSettings

        article = write_demo(folder, force=force)
        with_ocr = {"evidence": EVIDENCE} if has("ocr") else {}
        linking = LinkSettings(explain=True, **with_ocr)  # the page shows why each picture is linked
        link_folder([article], folder / "linked", RunSettings(linking=linking, force=force))
