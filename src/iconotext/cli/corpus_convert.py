"""``iconotext corpus convert``: a corpus in another format, and its features with it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import known_errors
from iconotext.cli.corpus_progress import encoded, watched
from iconotext.cli.options import Force

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
    force: Force = False,
) -> None:
    """Write a corpus in another format; features that lie beside it (`features.npy`, `id2row.json`) are copied along.

    **Examples**

    - `iconotext corpus convert corpus.jsonl corpus.parquet`
    - `iconotext corpus convert mscoco/ mscoco.jsonl`
    - `iconotext corpus convert corpus.jsonl for-released-code/ --features efficientnet-lite0`
    - `iconotext corpus convert shard.jsonl.zip shard.parquet`
    - `iconotext corpus convert corpus.jsonl train-00000.parquet --to obelics`
    """
    with known_errors():
        convert_corpus(source, target, to, features, force=force)


def convert_corpus(source: Path, target: Path, to: To | None, features: str | None, *, force: bool) -> None:
    """Read, write, and take the table of features along; say on stderr what was done and what was left out."""
    from iconotext.corpus.document_row import written_source
    from iconotext.corpus.feature_table import ROWS_FILE, TABLE_FILE, copy_feature_table
    from iconotext.corpus.released import documents_file
    from iconotext.corpus.store import corpus_folder, format_of, left_out, target_format, write_corpus
    from iconotext.write import refuse

    format_of(source)  # before anything is written
    kind = to.value if to is not None else target_format(target)
    file = documents_file(target) if kind == "released" else target
    home, folder = corpus_folder(source), file.parent
    refuse(file, force)
    if features is not None:
        refuse(folder / TABLE_FILE, force)
        refuse(folder / ROWS_FILE, force)
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
    typer.echo(f"{file}: {written} documents", err=True)
    if lost:
        typer.echo(f"{kind} has no place for {', '.join(sorted(lost))}: left out", err=True)
    if features is not None:
        _write_features(folder / TABLE_FILE, files, features, force=force)
        typer.echo(f"{folder / TABLE_FILE}, {ROWS_FILE}: features of {len(files)} images by {features}", err=True)
    elif copy_feature_table(home, folder, renamed=renamed, force=force):
        typer.echo(
            f"{folder / TABLE_FILE}, {ROWS_FILE}: copied along for recipes",
            err=True,
        )
    elif kind == "released" and not (folder / TABLE_FILE).is_file():
        typer.echo(f"the released code also needs {TABLE_FILE} and {ROWS_FILE}: --features computes them", err=True)


def _write_features(path: Path, files: dict[str, Path], backbone: str, *, force: bool) -> None:
    """Compute and write the features of pictures, by what the corpus calls them."""
    from iconotext.corpus.feature_table import write_feature_table
    from iconotext.features import FeatureCache, cached_image, load_image_backbone

    encoder = cached_image(load_image_backbone(backbone), FeatureCache())
    chunks = encoded(encoder, list(files.values()), "Features")
    write_feature_table(path, list(files), chunks, dim=encoder.dim, force=force)
