"""Photo journals for iconotext: a package of somebody else, which adds a row to each open table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated

import numpy as np
import typer

from iconotext import Document, LinkedDocument, Linker, ReadSettings, read
from iconotext.check import CheckSettings, Page, Picture, Rule
from iconotext.evidence.kinds import EvidenceKind
from iconotext.read.blocks import Block, Flow, FlowImage
from iconotext.read.format import DocumentFormat
from iconotext.report.outputs import Output


def read_journal(path: Path, settings: ReadSettings) -> Iterable[Flow]:
    """Read a journal: a paragraph a line, and a picture with its caption in lines such as ``@ tram.jpg A red tram``."""
    blocks = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("@ "):
            source, _, caption = line[2:].partition(" ")
            blocks.append(Block(images=[(0, FlowImage((source,), caption=caption or None))]))
        elif line.strip():
            blocks.append(Block(line))
    yield Flow(blocks)


JOURNAL = DocumentFormat(
    name="journal",
    title="Journal",
    suffixes=(".journal",),
    reader="iconotext_journal:read_journal",
    summary="A paragraph a line, and lines that begin with @ for pictures.",
)


def file_names(document: Document) -> np.ndarray:
    """Return 1 for each sentence and image, shape (S, V), where the sentence holds the name of the image's file."""
    names = [Path(image.source).stem.lower() for image in document.images]
    return np.array([[name in sentence.text.lower() for name in names] for sentence in document.sentences], float)


FILE_NAME = EvidenceKind(
    name="file_name",
    summary="The name of its file.",
    function="iconotext_journal:file_names",
    weight=2.0,
)


def camera_name(picture: Picture, page: Page, settings: CheckSettings) -> str | None:
    """Find pictures that are still called as the camera called them."""
    name = PurePosixPath(picture.source).name
    return f"{name} is the camera's name: call it after what it shows" if name.startswith("DSC_") else None


CAMERA = Rule("journal-camera", "warning", "A picture has the name that the camera gave it.", camera_name)


def csv_lines(documents: Iterable[LinkedDocument], folder: Path) -> Iterator[str]:
    """Yield a line for each link: picture, sentence, confidence."""
    for linked in documents:
        for link in linked.links:
            image, sentence = linked.document.images[link.image], linked.document.sentences[link.sentence]
            line = io.StringIO()
            csv.writer(line).writerow([image.source, sentence.text, f"{link.confidence:.2f}"])
            yield line.getvalue()


CSV = Output("csv", (".csv",), "A line for each link.", text="iconotext_journal:csv_lines")


def unlinked(path: Annotated[Path, typer.Argument(help="Document.")]) -> None:
    """List the pictures of a document that belong to no sentence."""
    linked = Linker.load().link(read(path))
    for number in sorted(set(range(len(linked.document.images))) - {link.image for link in linked.links}):
        typer.echo(linked.document.images[number].source)
