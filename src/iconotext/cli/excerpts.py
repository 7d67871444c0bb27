"""``iconotext context`` and ``iconotext chunks``: the sentences about each picture, and documents in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iconotext.cli.common import PRINT_OR_WRITE, check_unused, known_errors
from iconotext.cli.link import Paths, Run, RunSettings, linked_documents, print_parts
from iconotext.cli.options import LINKING, Download, Force, Json, Model, Quiet, Reading, settings_options
from iconotext.cli.output import complain, print_table, say
from iconotext.decide.settings import OF_CONTEXTS
from iconotext.errors import SettingError
from iconotext.excerpts import CONTEXT_WORDS, Chunk, ChunkImage, SlimChunk
from iconotext.linker import LinkSettings
from iconotext.plain_text import counted, json_text, percent, readable, shortened
from iconotext.report.chunks import ChunkSettings
from iconotext.report.context import Context
from iconotext.types import LinkedDocument

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


Linking = Annotated[LinkSettings, replace(LINKING, only=(*OF_CONTEXTS, "relations"))]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="File to write, .jsonl or .parquet.", show_default=False),
]


@settings_options
def context(
    paths: Paths,
    reading: Reading,
    linking: Linking,
    words: Annotated[
        int,
        typer.Option(
            min=1,
            help="Most words for each picture; characters in Chinese, Japanese, Korean. "
            "Its sentences together have no more.",
        ),
    ] = CONTEXT_WORDS,
    output: Output = None,
    json: Json = False,
    prompt: Annotated[
        bool,
        typer.Option(
            "--prompt",
            help="Give what a vision model would get, as JSON lines. It is what `alt-text draft --captioner` sends.",
        ),
    ] = False,
    model: Model = "default",
    download: Download = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Give for each picture the sentences that talk about it: enough to describe it, or to ask a model about it.

    Whole sentences, the surest first until they fill the words, in reading order; beside them headings, caption,
    alternative text, the confidence of the paragraph, and where each sentence stands in the document.

    **Examples**

    - `iconotext context article.md`
    - `iconotext context docs/ --words 60 --output contexts.jsonl`
    - `iconotext context article.md --json | jq '.[].text'`
    - `iconotext context docs/ --prompt --output prompts.jsonl`
    """
    with known_errors(download=download):
        from iconotext.report.context import contexts

        settings = RunSettings(model, reading, linking, force, quiet)
        if prompt:
            _write_prompts(paths, settings, words, output, as_json=json)
            return
        _write(paths, settings, Context, lambda linked: contexts(linked, words), _context_table, output, as_json=json)


def _write_prompts(paths: list[str], settings: RunSettings, words: int, output: Path | None, *, as_json: bool) -> None:
    """Write a line for each picture that can be seen."""
    from iconotext.alt_text.prompt import prompts
    from iconotext.system.files import write_text

    if as_json or (output is not None and output.suffix.lower() != ".jsonl"):
        raise SettingError("--prompt gives JSON lines: leave --json out, and let the name of --output end in .jsonl")

    def lines_of(linked: LinkedDocument) -> Iterator[str]:
        for prompt in prompts(linked, words):
            if prompt.problem is None:
                yield json_text(prompt.row()) + "\n"
            else:
                complain(f"{prompt.id} ({prompt.context.source}): no prompt: {prompt.problem}")

    def save(lines: Iterator[str], path: Path) -> None:
        write_text(path, lines, force=settings.force)

    _write_all(paths, settings, output, "prompt", lines_of, print_parts, save)


def _context_table(contexts: list[Context]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from iconotext.report.terminal import bar

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 1, 0))
    table.add_column("Picture", overflow="fold")
    table.add_column("Context")
    table.add_column("Paragraph", no_wrap=True)
    for context in contexts:
        cell = Text(" › ".join(map(readable, context.headings)), style="dim")
        cell.append(f"{chr(10) if context.headings else ''}{readable(context.text) or 'nothing'}", style="not dim")
        sure = context.paragraph_confidence
        confidence = Text(f"by {context.by}", style="dim") if sure is None else bar(sure)
        table.add_row(Text(shortened(readable(context.source), 40)), cell, confidence)
    return table


@settings_options
def chunks(
    paths: Paths,
    reading: Reading,
    linking: Linking,
    cutting: ChunkSettings,
    output: Output = None,
    json: Json = False,
    model: Model = "default",
    download: Download = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Cut documents into chunks for retrieval, each picture in the chunk whose sentences talk about it.

    Chunks end at headings or between paragraphs where they can, and none is longer than the limit. A picture that
    belongs to two chunks is in both, one without links is where it stands, and none is left out.

    **Examples**

    - `iconotext chunks article.md`
    - `iconotext chunks docs/ --tokens 256 --once --output chunks.jsonl`
    - `iconotext chunks docs/ --tokens 512 --tokenizer models/e5/ -o chunks.parquet`
    - `iconotext chunks book.epub --json | jq '.[] | {headings, text}'`
    """
    with known_errors(download=download):
        settings = RunSettings(model, reading, linking, force, quiet)
        shown = output is None and not json  # the table has columns that slim chunks lack
        cutting = cutting.model_copy(update={"full": True}) if shown else cutting
        cutting.check()
        _write(paths, settings, cutting.kind, cutting.of, _chunk_table, output, as_json=json)


def _chunk_table(chunks: list[Chunk]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("Document", overflow="fold")
    in_tokens = any(chunk.tokens is not None for chunk in chunks)
    for name in ("Chunk", "Tokens" if in_tokens else "Words"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("Headings")
    table.add_column("Pictures")
    for chunk in chunks:
        pictures = Text("\n").join(_picture(image) for image in chunk.images)
        headings = Text(shortened(readable(" › ".join(chunk.headings)), 60))
        table.add_row(
            Text(readable(chunk.document)), str(chunk.chunk), str(chunk.tokens or chunk.words), headings, pictures
        )
    return table


def _picture(image: ChunkImage) -> Text:
    from rich.text import Text

    text = Text(shortened(readable(image.source), 40))
    also = "" if image.also_in is None else f", also in {image.also_in}"
    sure = image.paragraph_confidence
    text.append(f" ({f'by {image.by}' if sure is None else f'paragraph {percent(sure)}'}{also})", style="dim")
    return text


def _write(
    paths: list[str],
    settings: RunSettings,
    kind: type[Context] | type[Chunk] | type[SlimChunk],
    excerpts_of: Callable[[LinkedDocument], Iterable[Any]],
    table: Callable[[list[Any]], Table],
    output: Path | None,
    *,
    as_json: bool,
) -> None:
    """Link documents and write their excerpts."""
    from iconotext.report.as_excerpts import NOUNS, check_suffix, json_array, write_excerpts

    if output is not None:
        check_unused({"--json": as_json}, PRINT_OR_WRITE)
        check_suffix(output)

    def show(rows: Iterator[Any]) -> None:
        if as_json:
            print_parts(json_array(rows))
        else:
            print_table(table(list(rows)))

    def save(rows: Iterator[Any], path: Path) -> None:
        write_excerpts(rows, path, kind, force=settings.force)

    _write_all(paths, settings, output, NOUNS[kind], excerpts_of, show, save)


def _write_all(
    paths: list[str],
    settings: RunSettings,
    output: Path | None,
    noun: str,
    items_of: Callable[[LinkedDocument], Iterable[Any]],
    show: Callable[[Iterator[Any]], None],
    save: Callable[[Iterator[Any], Path], None],
) -> None:
    """Link documents and show or save the items of all; ``Run.finish`` determines the exit status."""
    from iconotext.features.cache import cache_folder
    from iconotext.read import fetch_pages
    from iconotext.system.files import check_overwrite

    if output is not None:
        check_overwrite(output, settings.force)
    files, reading = fetch_pages(paths, settings.reading, cache_folder() / "pages")
    run = Run(files, reading, output=output, quiet=settings.quiet)
    written = 0

    def items() -> Iterator[Any]:
        nonlocal written
        for linked in linked_documents(run, replace(settings, reading=reading)):
            for item in items_of(linked) if isinstance(linked, LinkedDocument) else ():
                written += 1
                yield item

    if output is None:
        show(items())
    else:
        save(items(), output)
        if not settings.quiet:
            say(f"Wrote {output}: {counted(written, noun)} of {counted(run.linked, 'document')}", err=True)
    run.finish()
