"""``iconotext corpus convert``: a corpus in another format, and its features with it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import known_errors, progress
from iconotext.cli.corpus_progress import encoded, total, watched
from iconotext.cli.options import Download, Force
from iconotext.cli.output import say
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from iconotext.types import Document


class To(StrEnum):
    """Formats of a corpus."""

    JSONL = "jsonl"
    PARQUET = "parquet"
    RELEASED = "released"
    MMC4 = "mmc4"
    OBELICS = "obelics"


def convert(
    source: Annotated[Path, typer.Argument(help="The corpus to read.", show_default=False)],
    target: Annotated[Path, typer.Argument(help="The corpus to write.", show_default=False)],
    to: Annotated[
        To | None,
        typer.Option(help="Format; default: as the name says, a folder for the released one.", show_default=False),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            help="Compute features.npy and id2row.json beside the result with this image backbone: efficientnet-lite0, "
            "a folder, or a name on the Hugging Face hub.",
            show_default=False,
        ),
    ] = None,
    download: Download = False,
    force: Force = False,
) -> None:
    """Write a corpus in another format; features of its images that lie beside it are copied along.

    These are `features.npy` and `id2row.json`, which serve all corpora of a folder: those of another data set that lie
    beside the result are replaced only with --force.

    **Examples**

    - `iconotext corpus convert corpus.jsonl corpus.parquet`
    - `iconotext corpus convert mscoco/ mscoco.jsonl`
    - `iconotext corpus convert corpus.jsonl for-released-code/ --features efficientnet-lite0`
    - `iconotext corpus convert shard.jsonl.zip shard.parquet`
    - `iconotext corpus convert corpus.jsonl train-00000.parquet --to obelics`
    """
    with known_errors(download=download):
        convert_corpus(source, target, to, features, force=force)


def convert_corpus(source: Path, target: Path, to: To | None, features: str | None, *, force: bool) -> None:
    """Read, write, and take the table of features along; say on stderr what was done and what was left out."""
    from iconotext.corpus.document_row import written_source
    from iconotext.corpus.released import documents_file
    from iconotext.corpus.store import corpus_folder, format_of, left_out, target_format, write_corpus
    from iconotext.features.feature_table import ROWS_FILE, TABLE_FILE, check_copy, copy_feature_table
    from iconotext.features.model_folder import IMAGE_BACKBONES, find_model
    from iconotext.write import check_overwrite

    format_of(source)  # before anything is written
    kind = to.value if to is not None else target_format(target)
    file = documents_file(target) if kind == "released" else target
    home, folder = corpus_folder(source), file.parent
    check_overwrite(file, force)
    copied = features is None and folder.resolve() != home.resolve() and _has_rows(source, home)
    if features is not None:
        find_model(features, IMAGE_BACKBONES)
        check_overwrite(folder / TABLE_FILE, force)
        check_overwrite(folder / ROWS_FILE, force)
    elif copied:
        check_copy(home, folder, force=force)
    lost: set[str] = set()
    renamed: dict[str, str] = {}
    files: dict[str, Path] = {}

    def noted() -> Iterator[Document]:
        for document in watched(source, "Converting"):
            lost.update(left_out(document, kind))
            for image in document.images:
                name = written_source(image, folder)
                if name != image.source:
                    renamed[image.source] = name
                if isinstance(image.file, Path):
                    files[name] = image.file
            yield document

    written = write_corpus(noted(), target, force=force, to=kind)
    say(f"{file}: {counted(written, 'document')}", err=True)
    if lost:
        say(f"{kind} has no place for {', '.join(sorted(lost))}: left out", err=True)
    if features is not None:
        _write_features(folder / TABLE_FILE, files, features, force=force)
        say(f"{folder / TABLE_FILE}, {ROWS_FILE}: features of {counted(len(files), 'image')} by {features}", err=True)
    elif copied:
        copy_feature_table(home, folder, renamed=renamed, force=force)
        say(f"{folder / TABLE_FILE}, {ROWS_FILE}: copied too, for recipes", err=True)
    elif kind == "released" and not (folder / TABLE_FILE).is_file():
        say(f"the released code also needs {TABLE_FILE} and {ROWS_FILE}: --features computes them", err=True)


def _has_rows(source: Path, folder: Path) -> bool:
    """Whether an image of a corpus has a row in the table of a folder; what lies there may be of another data set."""
    from iconotext.corpus import store
    from iconotext.features import feature_table

    file = folder / feature_table.ROWS_FILE
    if not file.is_file():
        return False
    known = feature_table.read_rows(file)
    rows = progress(store.read_rows(source), total=total(source), label="Looking for images with features")
    return any(image in known for row in rows for image in row.images)


def _write_features(path: Path, files: dict[str, Path], backbone: str, *, force: bool) -> None:
    """Compute and write the features of pictures, by what the corpus calls them."""
    from iconotext.features import FeatureCache, cached_image, load_image_backbone
    from iconotext.features.feature_table import write_feature_table

    encoder = cached_image(load_image_backbone(backbone), FeatureCache())
    chunks = encoded(encoder, list(files.values()), "Features")
    write_feature_table(path, list(files), chunks, dim=encoder.dim, force=force)
