"""``iconotext mcp``: a server of the Model Context Protocol for the documents of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from iconotext.cli.common import known_errors
from iconotext.cli.excerpts import Linking
from iconotext.cli.options import Download, Model, argument, settings_options
from iconotext.extras import require


@settings_options
def mcp(
    folder: Annotated[
        Path,
        argument(metavar="FOLDER", help="What may be read: documents, libraries.", exists=True, file_okay=False),
    ],
    linking: Linking,
    model: Model = "default",
    download: Download = False,
) -> None:
    """Answer questions of a language model about the documents of a folder, by the Model Context Protocol on stdio.

    Its tools are link, context, search and place. Nothing outside the folder is read, and nothing is fetched. The
    program that asks starts this command itself.

    **Examples**

    - `iconotext mcp docs/`
    - `iconotext mcp docs/ --relations default`
    """
    with known_errors(download=download):
        require("mcp", purpose="iconotext mcp")
        from iconotext.mcp_server import Served, server

        server(Served(folder, model, linking)).run("stdio")
