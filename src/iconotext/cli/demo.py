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

    The photographs are the samples that scikit-image carries (`pip install 'iconotext[demo]'`). The article has some
    faults, so that `iconotext check` has something to find.

    **Examples**

    - `iconotext demo`
    - `iconotext demo garden/ --force`
    """
    with known_errors():
        from iconotext.cli.link import RunSettings, link_folder
        from iconotext.demo import write_demo
        from iconotext.linker import LinkSettings

        article = write_demo(folder, force=force)
        linking = LinkSettings(explain=True)  # the page shows why each picture is linked
        link_folder([article], folder / "linked", RunSettings(linking=linking, force=force))
