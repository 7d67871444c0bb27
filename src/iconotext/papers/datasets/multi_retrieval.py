"""The data sets that were released with Hessel 2019, one folder each: ``docs.json``, and features of the images.

Images are named by ids. With a folder of pictures they are found there by id; the features are copied beside the
corpus, so that recipes with published features can be run.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from iconotext.corpus.builders.frame.build import Build, Values
from iconotext.corpus.builders.frame.compared_sizes import count_sizes
from iconotext.corpus.builders.frame.json_source import source_file
from iconotext.corpus.builders.images.found import FoundImages
from iconotext.corpus.published_sizes import PublishedSizes
from iconotext.corpus.released import DOCUMENTS_FILE
from iconotext.corpus.stats import Counting
from iconotext.corpus.store import read_records
from iconotext.errors import OutputError, SettingError
from iconotext.features.feature_table import ROWS_FILE, TABLE_FILE, check_copy, copy_feature_table
from iconotext.papers.datasets.shards import with_images

ABOUT = (
    "a data set of the paper as released, from www.cs.cornell.edu/~jhessel/multiretrieval/multiretrieval.html: "
    f"{DOCUMENTS_FILE}, with {TABLE_FILE} and {ROWS_FILE} beside it"
)


class MultiRetrievalSettings(BaseModel):
    """What is made of a released data set."""

    model_config = ConfigDict(extra="forbid")

    features: bool = True
    """Copy the features beside the corpus, if they lie beside the source."""


def multi_retrieval_rows(
    build: Build,
    source: Path,
    settings: MultiRetrievalSettings,
    *,
    images: Path | None = None,
    only_found: bool = False,
    published: PublishedSizes | None = None,
    force: bool = False,
) -> Iterator[Values]:
    """Documents of a released data set, in its order, with its splits and labels.

    Args:
        build: The run.
        source: Folder with ``docs.json``, also in a folder in it; or that file.
        settings: What is made of it.
        images: Folder with the pictures: named by id, whatever their suffix.
        only_found: Leave out images without a file, and then documents without images.
        published: What the paper says of this data set.
        force: Replace features of another data set.

    Raises:
        CorpusError: ``docs.json`` is not there or broken, or there is no such folder of pictures.
        SettingError: Pictures are to be left out, and no folder is named.
        OutputError: Features of another data set lie beside the corpus, or they cannot be written.
    """
    if only_found and images is None:
        raise SettingError("only_found=True needs images=..., the folder of the pictures")
    check_features(source, build.folder, settings, force=force)
    file = _documents_file(source)
    found = FoundImages(images) if images is not None else None
    way = lru_cache(maxsize=1024)(build.way)
    counting = Counting()
    read = missing = 0
    renamed: dict[str, str] = {}
    for record in build.watch(read_records(file), label="Reading"):
        read += 1
        row = record.row
        if record.problems or row is None:
            build.report.drop("document cannot be read", record.place, str(record.problems[0]))
            continue
        values = row.model_dump(exclude_none=True)
        files = [found.named(name) if found is not None else None for name in row.images]
        missing += sum(path is None for path in files)
        sources = [
            name if path is None else f"{way(path.parent)}/{path.name}"
            for name, path in zip(row.images, files, strict=True)
        ]
        renamed |= {name: new for name, new in zip(row.images, sources, strict=True) if name != new}
        if only_found:
            there = [i for i, path in enumerate(files) if path is not None]
            for name, path in zip(row.images, files, strict=True):
                if path is None:
                    build.report.drop("picture not there", name, "not found")
            if not there:
                build.report.drop("no picture there", row.id)
                continue
            values, sources = with_images(values, there), [sources[i] for i in there]
        values["images"] = sources
        counting.add(row.split, len(row.sentences), len(sources), sources, values.get("links"), row.relations)
        yield values
    build.report.count("documents in the source", read)
    if found is not None:
        build.report.count("images without a file", missing)
    stats = counting.stats()
    if published is not None:
        count_sizes(build.report, stats, published)
    if settings.features:
        if copy_feature_table(file.parent, build.folder, renamed=renamed, force=force):
            build.report.note(f"{TABLE_FILE} and {ROWS_FILE}: copied beside the corpus")
        elif not (file.parent / TABLE_FILE).is_file():
            build.report.note(f"no {TABLE_FILE} in {file.parent}: the corpus has no features")


def check_features(source: Path, folder: Path, settings: MultiRetrievalSettings, *, force: bool = False) -> None:
    """Raise where features are to be copied into a folder that has those of another data set.

    Raises:
        CorpusError: ``docs.json`` is not there, or only one of the two files of features.
        OutputError: It has, and ``force`` is not set.
    """
    if settings.features:
        try:
            check_copy(_documents_file(source).parent, folder, force=force)
        except OutputError as error:
            raise OutputError(f"{error}; features=false copies none") from error


def _documents_file(source: Path) -> Path:
    return source if source.is_file() else source_file(source, [DOCUMENTS_FILE], ABOUT)
