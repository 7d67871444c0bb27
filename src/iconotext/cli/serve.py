"""Programs that answer others: ``iconotext serve`` people in the browser, ``iconotext mcp`` language models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.alt_text.captioner import CaptionerSettings
from iconotext.cli.alt_text import Captioning, named_captioner
from iconotext.cli.common import known_errors
from iconotext.cli.excerpts import Linking
from iconotext.cli.options import Download, Model, Runtime, Threads, argument, complete_models, option, settings_options
from iconotext.cli.output import say_open
from iconotext.extras import require
from iconotext.serve.settings import ServeSettings

if TYPE_CHECKING:
    from collections.abc import Callable


@settings_options
def serve(
    serving: ServeSettings,
    captioning: Captioning = CaptionerSettings(),
    model: Annotated[str, typer.Option(help="Name or folder of a model.", autocompletion=complete_models)] = "default",
    threads: Threads = None,
    runtime: Runtime = None,
    browser: Annotated[bool, option("--browser/--no-browser", help="Open the page at the start.")] = True,
) -> None:
    """Read linked documents in the browser, and correct their links.

    Drop an article on the page: its pictures stand beside their sentences. Under Review its links are corrected with
    the keyboard; the corrections become a corpus for `evaluate` and `train`. Only this machine can reach the page, and
    only with the address that is printed; each works once. Stop it with Ctrl-C; the next start goes on from there.

    **Examples**

    - `iconotext serve`
    - `iconotext serve --root docs/ --data reviews/`
    - `iconotext serve --library lib --root photos/`
    - `iconotext serve --root docs/ --captioner http://127.0.0.1:8080/v1`
    - `iconotext serve --port 0 --no-browser`
    - `iconotext serve --host 0.0.0.0 --allow docs.example.org`
    """
    with known_errors(goes_on=True):
        require("web", purpose="iconotext serve")
        from iconotext.serve.app import run

        run(serving, model, _announcing(browser), named_captioner(captioning))


def _announcing(browser: bool) -> Callable[[str], None]:
    opened = not browser

    def announce(address: str) -> None:
        nonlocal opened
        say_open(address)
        if not opened:
            import webbrowser

            opened = True
            webbrowser.open(address)

    return announce


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
