"""The data sets that were released with Hessel 2019, one folder each: ``docs.json``, and features of the images.

Images are named by ids. With a folder of images they are found there by id; the features are copied beside the corpus,
so that recipes with published features can be run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from iconotext.corpus.formats.json_stream import source_file
from iconotext.corpus.formats.released import DOCUMENTS_FILE
from iconotext.corpus.found_images import FoundImages
from iconotext.corpus.store import read_records
from iconotext.errors import OutputError
from iconotext.features.feature_table import ROWS_FILE, TABLE_FILE, read_rows
from iconotext.system.files import check_overwrite, write_bytes, write_text
from iconotext.system.strict_json import dump_json
from iconotext_papers.datasets.downloads import DataSetSettings
from iconotext_papers.published.sizes import PUBLISHED

if TYPE_CHECKING:
    from iconotext.corpus.builders.build import Build, Values

ABOUT = (
    "a data set of the paper as released, from www.cs.cornell.edu/~jhessel/multiretrieval/multiretrieval.html: "
    f"{DOCUMENTS_FILE}, with {TABLE_FILE} and {ROWS_FILE} beside it"
)


class Settings(DataSetSettings):
    """Make a corpus out of a data set that was released with Hessel 2019: docs.json, features.npy, id2row.json.

    Splits and labels are those of the release. Images are ids; with --images they are found by id, whatever the suffix.
    The features are copied beside the corpus. They serve all corpora of that folder, so each data set has its own.

    **Examples**

    - `iconotext papers build multi-retrieval -s mscoco/ -o c.jsonl --compare MSCOCO`
    - `iconotext papers build multi-retrieval -s diy/ -o c.jsonl --images diy/images`
    """

    source: Path
    """Folder with docs.json, as released."""

    compare: Literal["MSCOCO", "Story-DII", "Story-SIS", "DII-Stress", "DIY", "RQA", "WIKI"] | None = None
    """Show the published sizes of this data set."""

    features: bool = True
    """Copy the features beside the source. They then lie beside the corpus."""


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """Documents of a released data set, in its order, with its splits and labels."""
    source = settings.source
    file = source if source.is_file() else source_file(source, [DOCUMENTS_FILE], ABOUT)
    table = file.with_name(TABLE_FILE) if settings.features and file.with_name(TABLE_FILE).is_file() else None
    if table is not None:
        try:
            check_overwrite(build.folder / TABLE_FILE, build.force)
        except OutputError as error:
            raise OutputError(f"{error}; features=False copies none") from error
    sources: dict[str, str] = {}
    yield from _documents(build, settings, file, sources)
    if settings.compare is not None:
        build.published = PUBLISHED[settings.compare]
    if table is not None:
        rows = {sources.get(name, name): row for name, row in read_rows(file.with_name(ROWS_FILE)).items()}
        write_bytes(build.folder / TABLE_FILE, table.read_bytes(), force=True)
        write_text(build.folder / ROWS_FILE, dump_json(rows) + "\n", force=True)
        build.report.note(f"{TABLE_FILE} and {ROWS_FILE}: copied beside the corpus")
    elif settings.features:
        build.report.note(f"no {TABLE_FILE} in {file.parent}: the corpus has no features")


def _documents(build: Build, settings: Settings, file: Path, sources: dict[str, str]) -> Iterator[Values]:
    """Yield the documents, and note in ``sources`` the path of each image whose file is there, by its id."""
    pictures = None if settings.images is None else FoundImages(settings.images)
    read = missing = 0
    for record in build.watch(read_records(file), label="Reading"):
        read += 1
        row = record.row
        if record.problems or row is None:
            build.report.drop("document cannot be read", record.place, str(record.problems[0]))
            continue
        files = [None if pictures is None else pictures.named(name) for name in row.images]
        missing += files.count(None)
        sources |= {n: build.relative_path(path) for n, path in zip(row.images, files, strict=True) if path is not None}
        values = row.model_dump(exclude_none=True) | {"images": [sources.get(name, name) for name in row.images]}
        yield values
    build.report.count("documents in the source", read)
    if pictures is not None:
        build.report.count("images without a file", missing)
