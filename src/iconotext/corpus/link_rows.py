"""Links for data engines: ``link_rows`` takes a batch of rows, and returns it with the links of each row.

Ray Data, the Hugging Face library, Polars, datatrove and Data-Juicer call such a function with batches of their own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from iconotext.corpus.found_images import FoundImages, named_by_address
from iconotext.corpus.image_files import ShardPictures, leads_out
from iconotext.corpus.row import FindsImages, document_of
from iconotext.corpus.row_schemas import Sample, Schema, samples_of, schema_of
from iconotext.decide.settings import LinkSettings
from iconotext.linker import Linker
from iconotext.read import Failure
from iconotext.report.as_json import plain_number
from iconotext.types import LinkedDocument

LINKS, PROBLEMS = "iconotext_links", "iconotext_problems"  # the columns that are added

Batch = TypeVar("Batch")


def link_rows(
    batch: Batch, *, pictures: Path | str | None = None, model: str = "default", settings: LinkSettings | None = None
) -> Batch:
    """Link the documents of a batch of rows; the function that data engines call.

    The function can be pickled, loads the model once in each process, and has no state: a row has the same links in
    whatever batch it comes. So layout counts by the habits of authors in general, or by ``settings.habit``. Relations
    and explanations are left out.

    Args:
        batch: A table of pyarrow, Polars or pandas, columns of equal length (a mapping of lists or arrays), or a list
            of mappings, with the columns of one of ``corpus.row_schemas.SCHEMAS``. It is not changed.
        pictures: Folder of the pictures that are not in the rows, by name or by a digest of their address. Files
            elsewhere are never opened, and nothing is fetched.
        model: As for ``Linker.load``.
        settings: How documents are linked.

    Returns:
        The batch, of the same kind and with the same rows, with two more columns. ``iconotext_links`` is a list, the
        strongest link first, of ``image`` and ``text``, the numbers of the picture and of the text among the row's own
        (``text`` is null if the row has one text), ``sentence``, the linked sentence, ``confidence``, that the picture
        belongs to this sentence, and ``paragraph_confidence``, that it belongs to its paragraph.
        ``iconotext_problems`` is a list of texts: why the row, or a picture of it, could not be linked. For a batch of
        the Hugging Face library only the two columns are returned, which it adds to the others.

    Raises:
        CorpusError: The columns are of no known schema, or ``pictures`` is no folder.
        FeatureError: There is no such model.
        TypeError: The batch is something else.
    """
    if isinstance(batch, Sequence | Mapping) and not batch:
        return batch  # without rows, a list has no columns by which to recognise its schema
    schema = schema_of(_columns(batch))
    rows = _rows(batch, schema)
    linker, finder = _loaded(model, settings or LinkSettings(), None if pictures is None else os.fspath(pictures))
    links: list[list[dict[str, Any]]] = [[] for _ in rows]
    problems: list[list[str]] = [[] for _ in rows]
    samples = []
    for sample in samples_of(rows, schema):
        for problem in sample.record.problems:
            text = problem.message if problem.field is None else f"field {problem.field}: {problem.message}"
            problems[sample.row].append(text)
        if sample.record.row is not None and not sample.record.problems:
            samples.append((sample, sample.record.row))
    documents = (document_of(row, finder, sample.record.files) for sample, row in samples)
    for (sample, _), linked in zip(samples, linker.link_all(documents, habits={}), strict=True):
        if isinstance(linked, Failure):
            problems[sample.row].append(str(linked.error))
            continue
        for image in linked.document.images:
            if image.problem is not None:
                problems[sample.row].append(f"{image.source}: {image.problem}")
        links[sample.row] = links_of(linked, sample)
    returned: Batch = _with_columns(batch, links, problems)
    return returned


def links_of(linked: LinkedDocument, sample: Sample | None = None) -> list[dict[str, Any]]:
    """Return the links of a document as ``link_rows`` does, the strongest first.

    Args:
        sample: Numbers the pictures and texts as the row does; None if it numbers them as the document does.
    """
    return [
        {
            "image": link.image if sample is None else sample.images[link.image],
            "text": link.sentence if sample is None else sample.texts[link.sentence],
            "sentence": linked.document.sentences[link.sentence].text,
            "confidence": plain_number(link.confidence),
            "paragraph_confidence": plain_number(link.paragraph_confidence),
        }
        for link in linked.links
    ]


@cache
def _loaded(model: str, settings: LinkSettings, pictures: str | None) -> tuple[Linker, FindsImages]:
    linker = Linker.load(model, settings.model_copy(update={"relations": "none", "explain": False}))
    return linker, PicturesOfRows(pictures)


class PicturesOfRows:
    """Finds the pictures of rows in one folder, and nowhere else."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        if folder is not None:
            self._shard_pictures = ShardPictures(Path(folder), (), picture_folder=FoundImages(Path(folder)))

    def find(self, source: str) -> tuple[Path | bytes | None, str | None]:
        """See ``FindsImages``."""
        if self._folder is None:
            return None, "not in the row; name the folder of the pictures: link_rows(batch, pictures=...)"
        if not named_by_address(source):
            source = os.path.relpath(os.path.join(self._folder, source), self._folder)
            # Engines make names absolute, by a folder of theirs: then the last part is looked for in ours.
            source = os.path.basename(source) if leads_out(source) else source
        return self._shard_pictures.find(source)


def _kind(batch: object) -> str:
    """Return the kind of a batch: ``pyarrow``, ``polars``, ``pandas``, ``columns`` or ``rows``."""
    package = type(batch).__module__.partition(".")[0]
    if package in ("pyarrow", "polars", "pandas") and hasattr(batch, "columns"):
        return package
    if isinstance(batch, Mapping):
        return "columns"
    if isinstance(batch, Sequence) and all(isinstance(row, Mapping) for row in batch):
        return "rows"
    raise TypeError(
        f"link_rows takes a table of pyarrow, Polars or pandas, a mapping of columns, or a list of mappings, not "
        f"{type(batch).__name__}"
    )


def _columns(batch: Any) -> list[str]:
    match _kind(batch):
        case "pyarrow":
            return list(batch.schema.names)
        case "polars" | "pandas":
            return list(batch.columns)
        case "rows":
            return list(dict.fromkeys(name for row in batch for name in row))
    return list(batch)


def _rows(batch: Any, schema: Schema) -> list[dict[str, Any]]:
    """Return the columns of the rows that the schema reads."""
    chosen = [c for c in _columns(batch) if schema.reads is None or c in (*schema.columns, *schema.reads)]
    match _kind(batch):
        case "pyarrow":
            rows: list[dict[str, Any]] = batch.select(chosen).to_pylist()
        case "polars":
            rows = batch.select(chosen).to_dicts()
        case "pandas":
            rows = batch[chosen].to_dict("records")
        case "rows":
            rows = [{name: row.get(name) for name in chosen} for row in batch]
        case _:
            columns = [batch[name] for name in chosen]
            rows = [dict(zip(chosen, values, strict=True)) for values in zip(*columns, strict=True)]
    return rows


def _with_columns(batch: Any, links: list[list[dict[str, Any]]], problems: list[list[str]]) -> Any:
    """Return a batch of the same kind with the new columns, of the same types even where all are empty."""
    new: dict[str, Any] = {LINKS: links, PROBLEMS: problems}
    match _kind(batch):
        case "pyarrow":
            import pyarrow as pa

            number, text, share = pa.int32(), pa.string(), pa.float32()
            link = pa.struct(
                {"image": number, "text": number, "sentence": text, "confidence": share, "paragraph_confidence": share}
            )
            arrays = {LINKS: pa.array(links, pa.list_(link)), PROBLEMS: pa.array(problems, pa.list_(text))}
            old = {name: batch.column(name) for name in batch.schema.names if name not in new}
            return type(batch).from_arrays([*old.values(), *arrays.values()], names=[*old, *arrays])
        case "polars":
            import polars as pl

            fields = {
                "image": pl.Int32,
                "text": pl.Int32,
                "sentence": pl.String,
                "confidence": pl.Float32,
                "paragraph_confidence": pl.Float32,
            }
            types = {LINKS: pl.List(pl.Struct(fields)), PROBLEMS: pl.List(pl.String)}
            return batch.with_columns([pl.Series(name, values, dtype=types[name]) for name, values in new.items()])
        case "pandas":
            return batch.assign(**{name: _objects(values) for name, values in new.items()})
        case "rows":
            rows = zip(batch, links, problems, strict=True)
            return [{**row, LINKS: of_row, PROBLEMS: problem} for row, of_row, problem in rows]
    if type(batch).__module__.startswith("datasets."):
        return new  # which the library merges; its own columns would be encoded again
    if any(isinstance(values, np.ndarray) for values in batch.values()):
        new = {name: _objects(values) for name, values in new.items()}
    return {**batch, **new}


def _objects(values: Sequence[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
