"""A WebDataset tar as a corpus: each sample is a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from iconotext.corpus.row import Part, Problem, Record, Row, parse_row
from iconotext.corpus.tar import Tar, is_picture
from iconotext.errors import CorpusError, OutputError
from iconotext.read.sentences import split_sentences
from iconotext.strict_json import parse_json


def sample_parts(path: Path) -> Iterator[Part]:
    """The samples, in one part; see ``sample_records``. Their pictures are members of the same tar."""
    yield partial(_records_to_the_end, path)


def count_samples(path: Path) -> int:
    """Number of samples, including bad ones; ``CorpusError`` for an unreadable file."""
    return sum(1 for _ in Tar(path).samples())


def write_samples(rows: Iterable[Row], path: Path, *, force: bool) -> int:
    """Raise ``OutputError``: such tars can only be read."""
    raise OutputError(f"{path}: no samples are written into a tar; name a file .jsonl or .parquet")


def _records_to_the_end(path: Path) -> Iterator[Record]:
    tar = Tar(path)
    yield from sample_records(tar)
    if tar.problem is not None:
        raise CorpusError(f"{path}: cannot be read on: {tar.problem}")


def sample_records(tar: Tar) -> Iterator[Record]:
    """A record for each sample.

    ``.json`` may be a row of our corpora, without ``id`` and ``images`` if wanted; else the sentences are in ``.txt``.
    ``images`` are names of members, or suffixes of the sample's own name (``0.jpg``); without them, the pictures of the
    sample are used in the order of the archive. Keys that are no columns (``url``, ``caption``) are in ``meta.sample``.
    """
    for number, (key, parts) in enumerate(tar.samples(), 1):
        place = f"sample {number}, {key}"
        try:
            yield parse_row(_values(tar, key, parts), place)
        except (ValueError, CorpusError) as error:
            yield Record(place, None, (Problem(place, None, " ".join(str(error).split())),))


def _values(tar: Tar, key: str, parts: dict[str, str]) -> dict[str, Any]:
    said = parse_json(tar.read(parts["json"]).decode()) if "json" in parts else {}
    if not isinstance(said, dict):
        raise ValueError("its .json is no object")
    images = [name for suffix, name in parts.items() if is_picture(suffix)]
    if "sentences" in said:
        if isinstance(named := said.get("images"), list):
            images = [parts.get(name, name) if isinstance(name, str) and name not in tar else name for name in named]
            said = said | {"images": images}
        others = {name: value for name, value in said.items() if name not in Row.model_fields}
        known = {name: value for name, value in said.items() if name in Row.model_fields}
        if others and isinstance(meta := known.get("meta", {}), dict):
            known["meta"] = {"sample": others, **meta}
        return {"id": key, "images": images, **known}
    if "txt" not in parts:
        raise ValueError("neither a .txt nor a .json with sentences")
    text = " ".join(tar.read(parts["txt"]).decode().split())
    return {
        "id": key,
        "sentences": [text[start:end] for start, end in split_sentences(text, "en")],
        "images": images,
        "meta": {"sample": said} if said else {},
    }
