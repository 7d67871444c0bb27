"""Jupyter notebooks → blocks: the text cells as Markdown, their attached pictures, and the outputs of code cells."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from lxml import etree

from iconotext.errors import DocumentError
from iconotext.images.file import IMAGE_FORMATS, SVG
from iconotext.read.address import MADE_BY_CODE
from iconotext.read.blocks import Block, Flow, FlowImage
from iconotext.read.cross_references import fill_references
from iconotext.read.html import html_blocks, parse_html
from iconotext.read.markdown import markdown_tree, split_front_matter
from iconotext.read.sentences import language_code
from iconotext.read.settings import ReadSettings
from iconotext.read.text_file import decode_text
from iconotext.system.strict_json import parse_json

PICTURES = {row.media_type: row.suffixes[0] for row in sorted(IMAGE_FORMATS, key=lambda row: row.name != "PNG")}
"""Kinds of pictures that an output may hold, the preferred one first: PNG, which loses nothing."""

REMOVED = frozenset(("remove-cell", "remove_cell", "hide-cell"))
"""Tags of cells that Jupyter Book and nbconvert do not show."""
REMOVED_OUTPUT = REMOVED | {"remove-output", "remove_output"}
OPTION = re.compile(r"^#\|[ \t]*([\w-]{1,40}):[ \t]*(\S[^\n]{0,2000})$", re.MULTILINE)
"""An option such as ``#| fig-cap: The old tram``, at the beginning of a cell in Quarto."""


def read_notebook(path: Path, settings: ReadSettings) -> list[Flow]:
    """Read a notebook, as one flow. Code and its printed output are left out; nothing is run."""
    del settings  # nothing of it concerns notebooks
    try:
        notebook = parse_json(decode_text(path))
    except ValueError as error:
        raise DocumentError(f"not a notebook: {error}; save it again") from error
    cells = _cells(notebook)
    whole = etree.Element("body")  # of all text cells, since references in one may mean figures in another
    texts: dict[int, Any] = {}  # number of a text cell to its HTML
    front: dict[str, str] = {}
    for number, cell in enumerate(cells, 1):
        source = _text(cell.get("source"))
        if number == 1:
            source, front = split_front_matter(source)
        if cell.get("cell_type") in ("markdown", "heading") and not _tags(cell) & REMOVED:
            level = cell.get("level")  # of heading cells, which existed before version 4
            heading = "#" * level + " " if isinstance(level, int) and 0 < level < 7 else ""
            texts[number] = markdown_tree(heading + source, path.stem)
            whole.append(texts[number])
    fill_references(whole)
    glued = _glued(cells)
    blocks: list[Block] = []
    for number, cell in enumerate(cells, 1):
        if number in texts:
            blocks += [_with_pictures(block, cell, glued) for block in html_blocks(texts[number])]
        elif cell.get("cell_type") == "code" and not _tags(cell) & REMOVED_OUTPUT:
            blocks += _outputs(cell, number)
    title = front.get("title") or _dictionary(notebook.get("metadata")).get("title")
    return [Flow(blocks, title if isinstance(title, str) else None, language_code(front.get("lang", "")))]


def _cells(notebook: Any) -> list[dict[str, Any]]:
    """Return the cells; in version 3 they stood in a worksheet."""
    if isinstance(notebook, dict):
        sheets = notebook.get("worksheets")
        cells = _dictionary(sheets[0]).get("cells") if isinstance(sheets, list) and sheets else notebook.get("cells")
        if isinstance(cells, list):
            return [cell for cell in cells if isinstance(cell, dict)]
    raise DocumentError("not a notebook: there are no cells in it")


def _tags(cell: dict[str, Any]) -> set[str]:
    tags = _dictionary(cell.get("metadata")).get("tags")
    return {tag for tag in tags if isinstance(tag, str)} if isinstance(tags, list) else set()


def _text(value: Any) -> str:
    """Return a text, which may come as a list of its lines; "" for anything else."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _dictionary(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _glued(cells: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the outputs that code stores under a name, by which ``{glue:figure}`` shows them at another place."""
    values: dict[str, dict[str, Any]] = {}
    for cell in cells:
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) else ():
            scrap = _dictionary(_dictionary(_dictionary(output).get("metadata")).get("scrapbook"))
            if _text(scrap.get("name")):
                data = _dictionary(_dictionary(output).get("data"))
                prefix = _text(scrap.get("mime_prefix"))
                values[_text(scrap["name"])] = {kind.removeprefix(prefix): value for kind, value in data.items()}
    return values


def _with_pictures(block: Block, cell: dict[str, Any], glued: dict[str, dict[str, Any]]) -> Block:
    """Give a block of a text cell the bytes of its pictures: those attached to the cell, or stored for it by code."""
    attachments = _dictionary(cell.get("attachments"))

    def with_bytes(image: FlowImage) -> FlowImage:
        kind, _, name = image.sources[0].partition(":")
        if kind == "attachment":
            return _picture(image, _dictionary(attachments.get(name)))
        return _picture(image, glued[name]) if kind == MADE_BY_CODE and name in glued else image

    block.images = [(offset, with_bytes(image)) for offset, image in block.images]
    return block


def _outputs(cell: dict[str, Any], number: int) -> Iterator[Block]:
    """Yield the pictures among the outputs of a code cell, and its text output in Markdown."""
    declared = _declared_image(cell)
    outputs = cell.get("outputs")
    for place, output in enumerate(outputs if isinstance(outputs, list) else (), 1):
        data = _data(_dictionary(output))
        kind = next((kind for kind in PICTURES if data.get(kind)), None)
        if kind is not None:
            image = replace(declared, sources=(f"cell-{number}-output-{place}{PICTURES[kind]}",))
            yield Block(images=[(0, _picture(image, data))])
        elif _text(data.get("text/markdown")):
            yield from html_blocks(markdown_tree(_text(data["text/markdown"]), ""))
        elif "<img" in _text(data.get("text/html")):  # only its pictures: the text of tables and the like is data
            for block in html_blocks(parse_html(f"<article>{_text(data['text/html'])}</article>")):
                for _, picture in block.images:
                    yield Block(images=[(0, picture)])


def _data(output: dict[str, Any]) -> dict[str, Any]:
    """Return the data of an output by media type; in version 3, pictures are in it by short names: ``png``, ``svg``."""
    short_names = {kind: kind.partition("/")[2].removesuffix("+xml") for kind in PICTURES}
    return _dictionary(output.get("data")) or {kind: output.get(name) for kind, name in short_names.items()}


def _declared_image(cell: dict[str, Any]) -> FlowImage:
    """Return the properties of pictures that a code cell declares: in comments (Quarto) or in metadata (MyST)."""
    options = {key: value.strip().strip("\"'") for key, value in OPTION.findall(_text(cell.get("source")))}
    metadata = _dictionary(cell.get("metadata"))
    render = _dictionary(metadata.get("mystnb")) or _dictionary(metadata.get("render"))
    figure, image = _dictionary(render.get("figure")), _dictionary(render.get("image"))
    label = options.get("label") or _text(figure.get("name"))
    return FlowImage(
        (),
        alt=options.get("fig-alt") or _text(image.get("alt")) or None,
        caption=options.get("fig-cap") or " ".join(_text(figure.get("caption")).split()) or None,
        anchors=(label,) if label else (),
    )


def _picture(image: FlowImage, data: dict[str, Any]) -> FlowImage:
    """Return the image with its bytes, from an output or attachment by media types."""
    kind = next((kind for kind in PICTURES if _text(data.get(kind))), None)
    if kind is None:
        return replace(image, problem="the notebook names it and does not hold it")
    text = _text(data[kind])
    if kind == SVG.media_type and text.lstrip().startswith("<"):
        return replace(image, file=text.encode("utf-8", errors="replace"))
    try:
        return replace(image, file=base64.b64decode(text, validate=False))
    except (binascii.Error, ValueError):
        return replace(image, problem="damaged: no picture can be made of what the notebook holds")
