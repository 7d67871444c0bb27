"""``iconotext chunks``: documents in chunks for retrieval, each picture with its sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import known_errors
from iconotext.cli.excerpts import Kind, Linking, Output, Paths, write
from iconotext.cli.link import RunSettings
from iconotext.cli.options import Download, Force, Json, Reading, settings_options
from iconotext.excerpts import CHUNK_WORDS, Chunk, ChunkImage

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


@settings_options
def chunks(
    paths: Paths,
    reading: Reading,
    linking: Linking,
    words: Annotated[int, typer.Option(min=1, help="Most words of a chunk.")] = CHUNK_WORDS,
    output: Output = None,
    json: Json = False,
    model: Annotated[str, typer.Option(help="Name or folder of a model.")] = "default",
    download: Download = False,
    force: Force = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Tell only of errors.")] = False,
) -> None:
    """Cut documents into chunks for retrieval, each picture in the chunk whose sentences talk about it.

    Chunks end at headings or between paragraphs where they can. A picture that belongs to two chunks is in both, one
    without links is where it stands, and none is left out.

    **Examples**

    - `iconotext chunks article.md`
    - `iconotext chunks docs/ --words 200 --output chunks.parquet`
    - `iconotext chunks book.epub --json | jq '.[] | {headings, text, pictures: [.images[].source]}'`
    """
    with known_errors(download=download):
        from iconotext.report.chunks import chunks as chunks_of

        settings = RunSettings(model, reading, linking, force, quiet)
        write(paths, settings, Kind(Chunk, lambda linked: chunks_of(linked, words), _table), output, as_json=json)


def _table(found: list[Chunk]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from iconotext.plain_text import readable, shortened

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("Document", overflow="fold")
    for name in ("Chunk", "Words"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("Headings")
    table.add_column("Pictures")
    for each in found:
        pictures = Text("\n").join(_picture(image) for image in each.images)
        headings = Text(shortened(readable(" › ".join(each.headings)), 60))
        table.add_row(Text(readable(each.document)), str(each.chunk), str(each.words), headings, pictures)
    return table


def _picture(image: ChunkImage) -> Text:
    from rich.text import Text

    from iconotext.plain_text import percent, readable, shortened

    shown = Text(shortened(readable(image.source), 40))
    also = "" if image.also_in is None else f", also in {image.also_in}"
    shown.append(f" ({f'by {image.by}' if image.confidence is None else percent(image.confidence)}{also})", style="dim")
    return shown
