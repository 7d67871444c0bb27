"""``iconotext corpus build folder``: files as people have them become a corpus."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import Annotated

import typer

from iconotext.cli.build.options import Settings, Sources, Workers
from iconotext.cli.build.run import run_build
from iconotext.cli.common import known_errors, make_settings, parse_settings
from iconotext.cli.options import AllowOutside, CorpusOutput, Fetch, Force, Root, Seed


class Links(StrEnum):
    """Rules by which an author's layout tells which sentences a picture belongs to."""

    ADJACENT = "adjacent"
    CAPTION = "caption"
    STEP = "step"


def folder(
    source: Sources,
    output: CorpusOutput,
    links: Annotated[
        Links | None,
        typer.Option(
            help="Gold links from the layout. adjacent: the paragraph at the picture. step: the list item or section "
            "it stands in. caption: the sentence that says what the caption says.",
            show_default="none are known",
        ),
    ] = None,
    root: Root = None,
    allow_outside: AllowOutside = False,
    fetch: Fetch = False,
    validation: Annotated[float, typer.Option(help="Share of the documents for validation.")] = 0.1,
    test: Annotated[float, typer.Option(help="Share of the documents for test.")] = 0,
    seed: Seed = 0,
    workers: Workers = None,
    set_: Settings = None,
    force: Force = False,
) -> None:
    """Make a corpus out of documents: Markdown, HTML, DOCX, EPUB and PDF files, or folders of them.

    Pictures that came inside a document, or from the web, are written beside the corpus; others stay where they are.
    Captions are not among the sentences. What cannot be used is dropped and told. Documents that share a picture go
    together into train, validation or test.

    **Examples**

    - `iconotext corpus build folder --source docs/ --output corpus.jsonl`
    - `iconotext corpus build folder --source site/ --root site/static -o corpus.parquet --test 0.1`
    - `iconotext corpus build folder --source recipes/ -o recipes.jsonl --links step`
    - `iconotext corpus build folder -s books/ -o books.jsonl --set epub=chapters --set language=en`
    """
    with known_errors(goes_on=True):
        from iconotext.corpus.builders.folder import FolderSettings, folder_rows
        from iconotext.read import ReadSettings

        reading_set, folder_set = parse_settings(set_ or [], ReadSettings, FolderSettings)
        options = {"root": root, "allow_outside": allow_outside or None, "fetch": fetch or None}
        reading = make_settings(ReadSettings, options | reading_set)
        own = {"links": links.value if links else None, "validation": validation, "test": test}
        settings = make_settings(FolderSettings, own | folder_set)
        run_build(
            "folder",
            partial(folder_rows, paths=source, settings=settings, reading=reading),
            output,
            sources=source,
            settings=settings.model_dump(mode="json") | {"reading": reading.model_dump(mode="json")},
            seed=seed,
            workers=workers,
            force=force,
        )
