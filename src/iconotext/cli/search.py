"""``iconotext search``: find pictures of a library by sentence, picture and coherence relation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli import complete
from iconotext.cli.common import known_errors
from iconotext.cli.options import Download, Force, Json
from iconotext.cli.output import output_console, say, say_json

if TYPE_CHECKING:
    from iconotext.encoder import Encoder
    from iconotext.library.search import Query, Result
    from iconotext.library.store import Library

INDENT = (0, 0, 0, 8)
"""Of what is said of a result: as wide as how well it matches."""


def search(
    library: Annotated[
        Path, typer.Argument(metavar="LIB", help="Folder of the library.", show_default=False, file_okay=False)
    ],
    sentence: Annotated[
        str | None, typer.Argument(metavar="SENTENCE", help="What the picture should fit.", show_default=False)
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="A picture to be like; with a sentence too, both count.", dir_okay=False, show_default=False),
    ] = None,
    relation: Annotated[
        str | None,
        typer.Option(
            help="How picture and sentence should stand to each other: visible, story, reaction, action, result, ...",
            autocompletion=complete.relations,
            show_default=False,
        ),
    ] = None,
    top: Annotated[int, typer.Option(help="How many pictures.", min=1, max=1000)] = 10,
    folder: Annotated[
        Path | None,
        typer.Option(help="Only pictures in this folder, or of documents in it.", show_default=False),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Taken in or after: 2024, 2024-05, 2024-05-31.", show_default=False),
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="DATE", help="Taken in or before.", show_default=False)] = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="Show --top pictures even if none is a good match.")] = False,
    download: Download = False,
    json: Json = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with the pictures.", show_default=False)
    ] = None,
    force: Force = False,
) -> None:
    """Find pictures by what they show, by what is said of them, and by how they stand to a sentence.

    **Examples**

    - `iconotext search lib "Two dogs play on a beach"`
    - `iconotext search lib "We got lost on the way" --relation story --html found.html`
    - `iconotext search lib --picture like-this.jpg --folder photos/2024 --top 50 --json`
    """
    with known_errors(download=download):
        from iconotext.library.filters import make_filters
        from iconotext.library.store import open_library
        from iconotext.write import check_overwrite

        from iconotext.library.search import Query, has_good_match  # isort: skip

        if html is not None:
            check_overwrite(html, force)
        query = Query(sentence, picture, relation, top, make_filters(folder, since, until), anyway)
        opened = open_library(library)
        query, found = find(opened.path, query)
        if html is not None:
            from iconotext.library.search_page import write_search_page

            write_search_page(html, opened, query, found, force=force)
        if found and not has_good_match(found):
            say(f"No picture matches well{'' if anyway else '; the nearest'}:", err=True)
        if json:
            say_json([result.as_json() for result in found])
        else:
            show(query, found)
            if html is not None:
                say(f"Open {html}", err=True)


def find(path: Path, query: Query) -> tuple[Query, list[Result]]:
    """Search a library with the models that it was made with; the query with its relation by name, and the results."""
    from dataclasses import replace

    from iconotext.cli.library import named_relation_model
    from iconotext.embed.folder import init_folder
    from iconotext.evaluate.refinement_tuning import read_refinement
    from iconotext.features import FeatureCache
    from iconotext.library.encode import library_encoder
    from iconotext.library.search import is_english
    from iconotext.library.search import search as search_library
    from iconotext.library.store import open_library

    cache = FeatureCache()
    library = open_library(path)
    relation_model = named_relation_model(library.settings.relations_from, cache)
    encoder = library_encoder(library.settings.model)
    refinement = read_refinement(init_folder(library.settings.model)) if encoder.coherence is not None else None
    if query.relation is not None:
        query = replace(query, relation=named(query.relation, library, encoder))
    results = search_library(library, query, encoder, relation_model, refinement)
    if query.text and relation_model is not None and not is_english(query.text):
        say("the sentence is not English, so the relation model, which reads English, says nothing of it", err=True)
    return query, results


def named(relation: str, library: Library, encoder: Encoder) -> str:
    """The name of a relation that was typed.

    Raises:
        SettingError: There is no such relation here.
    """
    from iconotext.library.search import told_relations
    from iconotext.relations import find_relation, relation_name

    told = told_relations(library, encoder)
    return relation_name(relation, told) if told else find_relation(relation).name  # search says what is missing


def show(query: Query, found: list[Result]) -> None:
    """The results on stdout, a few lines each; the terminal alone breaks the names of files, so they can be copied."""
    from rich.padding import Padding
    from rich.text import Text

    from iconotext.library.items import from_here
    from iconotext.plain_text import percent, readable, shortened
    from iconotext.relations import short_name

    if not found:
        say("No picture satisfies the filters.")
        return
    console = output_console()
    for result in found:
        line = [f"likeness {result.score:.2f}" if result.match is None else f"{result.match.level:6}"]
        if query.relation in result.relations:
            line.append(f"{short_name(query.relation)} {percent(result.relations[query.relation])}")
        console.print(Text(readable("  ".join([*line, from_here(result.image)]))), soft_wrap=True)
        if result.match is not None:
            console.print(Padding(Text(readable(result.match.why), style="dim"), INDENT, expand=False))
        if result.document is not None:
            console.print(Text(f"        in {readable(from_here(result.document))}", style="dim"), soft_wrap=True)
        if said := result.caption or (result.sentences[0].text if result.sentences else result.alt):
            console.print(Padding(Text(shortened(readable(said), 100)), INDENT, expand=False))
