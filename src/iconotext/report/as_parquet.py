"""Linked documents as Parquet and pandas tables, with a row for each link."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.evidence.kinds import evidence_names
from iconotext.excerpts import Chunk
from iconotext.extras import require
from iconotext.plain_text import encodable
from iconotext.report.as_excerpts import NUMBERS, row
from iconotext.report.context import Context
from iconotext.report.flow import links_by_image
from iconotext.system.files import open_atomic
from iconotext.types import Explanation, LinkedDocument

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table of links.

    Attributes:
        type: Name of the Arrow type; ``map`` is one from strings to floats.
        value: Returns the value from a linked document, from an image and its number, or from a link and its sentence.
    """

    name: str
    type: str
    summary: str
    value: Callable[..., Any]


OF_DOCUMENT = (
    Column("document", "string", "Id of the document.", lambda linked: linked.document.id),
    Column(
        "source", "string", "File of the document, or its address on the web.", lambda linked: linked.document.place
    ),
    Column("title", "string", "Title of the document.", lambda linked: linked.document.title),
    Column("language", "string", "Language of the document, ISO 639-1.", lambda linked: linked.document.language),
    Column("model", "string", "Name of the model that linked it.", lambda linked: linked.model),
)
OF_IMAGE = (
    Column("image", "int32", "Number of the picture in the document, from 0.", lambda image, number: number),
    Column(
        "image_source", "string", "Address of the picture, as the document writes it.", lambda image, _: image.source
    ),
    Column("page", "int32", "Page of a PDF on which the picture stands, from 1.", lambda image, _: image.page),
    Column("alt", "string", "Alternative text of the picture.", lambda image, _: image.alt),
    Column("caption", "string", "Caption of the picture.", lambda image, _: image.caption),
    Column("problem", "string", "Why the picture takes no part in linking.", lambda image, _: image.problem),
)
OF_LINK = (
    Column("sentence", "int32", "Number of the linked sentence, from 0.", lambda link, _: link.sentence),
    Column("text", "string", "The sentence.", lambda _, sentence: sentence.text),
    Column(
        "kind",
        "string",
        "Kind of the sentence's block: paragraph, heading, item, quote, cell or caption.",
        lambda _, sentence: sentence.kind,
    ),
    Column("block", "int32", "Number of the sentence's block.", lambda _, sentence: sentence.block),
    Column("score", "float", "The value from which links were chosen.", lambda link, _: link.score),
    Column(
        "confidence", "float", "Probability that the picture belongs to the sentence.", lambda link, _: link.confidence
    ),
    Column(
        "paragraph_confidence",
        "float",
        "Probability that the picture belongs to the sentence's paragraph.",
        lambda link, _: link.paragraph_confidence,
    ),
    *(
        Column(
            f"evidence_{kind}",
            "float",
            f"What {kind} adds to the log-odds of the link.",
            lambda link, _, kind=kind: link.evidence.get(kind),
        )
        for kind in evidence_names()
    ),
    Column(
        "relations",
        "map",
        "Name to probability of each coherence relation.",
        lambda link, _: None if link.relations is None else dict(link.relations),
    ),
)
COLUMNS = (*OF_DOCUMENT, *OF_IMAGE, *OF_LINK)
"""The columns; all but ``document`` and ``model`` may be null."""

_TYPES = {column.name: column.type for column in COLUMNS}

WORDS = {"begin": "int32", "end": "int32", "weight": "float"}
REGIONS = {"left": "float", "top": "float", "right": "float", "bottom": "float", "weight": "float"}
"""Fields of the lists in ``explanation_words`` and ``explanation_regions``, the columns for explanations."""

BATCH_ROWS = 50_000
"""Rows held in memory before they are written, about 30 MB."""


def rows(linked: LinkedDocument) -> Iterator[dict[str, Any]]:
    """Yield the rows of a document: for each image, in order, its links, the strongest first.

    An image without links has a row without sentence, and a document without images a row without image, so that every
    document and every image is in the table.
    """
    document = linked.document
    head = {column.name: column.value(linked) for column in OF_DOCUMENT}
    by_image = links_by_image(linked)
    for i, image in enumerate(document.images):
        cells = head | {column.name: column.value(image, i) for column in OF_IMAGE}
        for link in by_image.get(i, []):
            sentence = document.sentences[link.sentence]
            values = {column.name: column.value(link, sentence) for column in OF_LINK}
            yield {**cells, **values, **_explanation(link.explanation)}
        if i not in by_image:
            yield cells
    if not document.images:
        yield head


def _explanation(explanation: Explanation | None) -> dict[str, Any]:
    if explanation is None:
        return {}
    return {
        "explanation_words": [dict(zip(WORDS, word, strict=True)) for word in explanation.words],
        "explanation_regions": [dict(zip(REGIONS, region, strict=True)) for region in explanation.regions],
    }


def write_parquet(
    documents: Iterable[LinkedDocument], path: Path, *, force: bool = False, explained: bool = False
) -> None:
    """Write the rows of all documents to one file, a batch at a time.

    Args:
        documents: May be a generator; at most ``BATCH_ROWS`` rows and one document are in memory.
        explained: Whether to include columns for explanations.
    """
    require("parquet", purpose="a table of Parquet")
    import pyarrow.parquet as pq

    schema = table_schema(explained=explained)
    with open_atomic(path, force=force) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        all_rows = chain.from_iterable(map(rows, documents))
        while batch := list(islice(all_rows, BATCH_ROWS)):
            writer.write_table(table_of(batch, schema))


def table_schema(*, explained: bool = False) -> Any:
    """Return the table's schema of pyarrow; ``explained`` adds the columns for explanations."""
    import pyarrow as pa

    fields = [
        (name, pa.map_(pa.string(), pa.float32()) if type_ == "map" else pa.type_for_alias(type_))
        for name, type_ in _TYPES.items()
    ]
    if explained:
        for name, parts in (("explanation_words", WORDS), ("explanation_regions", REGIONS)):
            item = pa.struct([(part, pa.type_for_alias(type_)) for part, type_ in parts.items()])
            fields.append((name, pa.list_(item)))
    return pa.schema(fields)


def table_of(batch: Sequence[dict[str, Any]], schema: Any) -> Any:
    """Return a table of pyarrow of some rows, with texts that UTF-8 can encode."""
    import pyarrow as pa

    return pa.Table.from_pydict({name: _column(name, batch) for name in schema.names}, schema=schema)


def _column(name: str, batch: Sequence[dict[str, Any]]) -> list[Any]:
    values = [row.get(name) for row in batch]
    if _TYPES.get(name) != "string":
        return values
    # Each text once: that of a document is in all its rows.
    encoded = {value: value if value is None else encodable(value) for value in set(values)}
    return [encoded[value] for value in values]


def to_pandas(source: LinkedDocument | Iterable[Context | Chunk]) -> pd.DataFrame:
    """Return a pandas table; integers that may be missing are ``Int32`` or ``Int64``.

    Args:
        source: A linked document, for the rows of ``report.as_parquet``, one per link; or contexts or chunks, for the
            rows of ``context --json`` and ``chunks --json``.

    Raises:
        MissingPackageError: pandas is not installed.
    """
    require("pandas", purpose="a table of pandas")
    import pandas as pd

    if isinstance(source, LinkedDocument):
        table = pd.DataFrame(list(rows(source)))
        table = table.reindex(columns=[*_TYPES, *(name for name in table.columns if name not in _TYPES)])
        return table.astype({name: "Int32" for name, type_ in _TYPES.items() if type_ == "int32"})
    excerpts = list(source)
    names = [f.name for f in fields(excerpts[0] if excerpts else Context)]
    table = pd.DataFrame([row(excerpt) for excerpt in excerpts], columns=names)
    return table.astype({name: "Int64" for name in names if name in NUMBERS})
