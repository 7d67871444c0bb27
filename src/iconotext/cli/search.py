"""``iconotext search``: find pictures of a library by sentence, picture and coherence relation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import known_errors
from iconotext.cli.options import Download, Force, Json, argument, option
from iconotext.cli.output import output_console, say, say_json, say_open
from iconotext.plain_text import percent, readable, shortened
from iconotext.relations import RELATIONS, short_name

if TYPE_CHECKING:
    from iconotext.library.search import Query, Result

INDENT = (0, 0, 0, 8)
"""Indentation of the lines about a result: the width of its level."""


def search(
    library: Annotated[Path, argument(metavar="LIB", help="Folder of the library.", file_okay=False)],
    sentence: Annotated[str | None, argument(metavar="SENTENCE", help="What the picture should fit.")] = None,
    picture: Annotated[
        Path | None, option(help="A picture to be like. With a sentence too, both count.", dir_okay=False)
    ] = None,
    relation: Annotated[
        str | None,
        option(
            help="How picture and sentence should be related. visible, story, reaction, action, result, ...",
            autocompletion=lambda: [(row.short, row.meaning) for row in RELATIONS],
        ),
    ] = None,
    top: Annotated[int, typer.Option(help="How many pictures.", min=1, max=1000)] = 10,
    folder: Annotated[Path | None, option(help="Only pictures in this folder, or of documents in it.")] = None,
    since: Annotated[str | None, option(metavar="DATE", help="Taken in or after: 2024, 2024-05, 2024-05-31.")] = None,
    until: Annotated[str | None, option(metavar="DATE", help="Taken in or before.")] = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="Show --top pictures even if none is a good match.")] = False,
    download: Download = False,
    json: Json = False,
    html: Annotated[Path | None, option(metavar="FILE", help="Write a page with the pictures.")] = None,
    force: Force = False,
) -> None:
    """Find pictures for a sentence, in a library.

    What counts is their content, the texts about them, and their relation to the sentence.

    **Examples**

    - `iconotext search lib "Two dogs play on a beach"`
    - `iconotext search lib "We got lost" --relation story --html found.html`
    - `iconotext search lib --picture like-this.jpg --folder photos/ --top 50`
    """
    with known_errors(download=download):
        from iconotext.library.candidates import make_filters
        from iconotext.library.search import Query, find_images, has_good_match
        from iconotext.system.files import check_overwrite

        if html is not None:
            check_overwrite(html, force)
        filters = make_filters(folder, since, until)
        opened, query, results, note = find_images(library, Query(sentence, picture, relation, top, filters, anyway))
        if note is not None:
            say(note, err=True)
        if html is not None:
            from iconotext.library.results_page import write_search_page

            write_search_page(html, opened, query, results, force=force)
        if results and not has_good_match(results):
            say(f"No picture matches well{'' if anyway else '; the nearest'}:", err=True)
        if json:
            say_json([result.as_json() for result in results])
        else:
            show(query, results)
            if html is not None:
                say_open(html)


def show(query: Query, results: list[Result]) -> None:
    """Print the results, a few lines each; names of files are not wrapped, so that they can be copied."""
    from rich.padding import Padding
    from rich.text import Text

    from iconotext.library.items import from_here

    if not results:
        say("No picture satisfies the filters.")
        return
    console = output_console()
    for result in results:
        line = [f"likeness {result.score:.2f}" if result.match is None else f"{result.match.level:6}"]
        if query.relation in result.relations:
            line.append(f"{short_name(query.relation)} {percent(result.relations[query.relation])}")
        console.print(Text(readable("  ".join([*line, from_here(result.image)]))), soft_wrap=True)
        if result.match is not None:
            console.print(Padding(Text(readable(result.match.why), style="dim"), INDENT, expand=False))
        if result.document is not None:
            console.print(Text(f"        in {readable(from_here(result.document))}", style="dim"), soft_wrap=True)
        if text := result.caption or (result.sentences[0].text if result.sentences else result.alt):
            console.print(Padding(Text(shortened(readable(text), 100)), INDENT, expand=False))
