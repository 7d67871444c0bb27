"""Converts a corpus to another format, with the features of its images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from iconotext.corpus.document_row import written_source
from iconotext.corpus.formats.released import documents_file
from iconotext.corpus.in_order import Watch, unwatched
from iconotext.corpus.linked import linked_corpus
from iconotext.corpus.store import (
    FormatName,
    corpus_folder,
    format_of,
    left_out,
    read_corpus,
    read_rows,
    target_format,
    write_corpus,
)
from iconotext.errors import CorpusError
from iconotext.features import ImageBackbone, feature_table
from iconotext.features.feature_table import ROWS_FILE, TABLE_FILE
from iconotext.write import check_overwrite

if TYPE_CHECKING:
    from iconotext.types import Document, FloatMatrix

AT_ONCE = 256
"""Pictures that are encoded at a time."""


@dataclass(frozen=True)
class Converted:
    """The result of a conversion.

    Attributes:
        left_out: Fields that the new format cannot store.
        images: Number of images for which features were computed.
        inside: Number of images inside rows, or in a tar beside the source; the result has only their names.
        features: What was done with the table of features beside the file; ``missing``: the released code needs one.
    """

    file: Path
    documents: int
    format: FormatName
    left_out: tuple[str, ...]
    images: int
    inside: int
    features: Literal["computed", "copied", "missing", "none"]


def convert_corpus(
    source: Path,
    target: Path,
    *,
    to: FormatName | None = None,
    features: str | None = None,
    links: str | None = None,
    force: bool = False,
    watch: Watch = unwatched,
) -> Converted:
    """Write a corpus in another format, and copy the features of its images that are beside it.

    Args:
        target: The file to write, or the folder for the released format.
        to: The format; None to choose by the name of the target.
        links: Model that links the documents first: see ``corpus.linked``. None keeps the existing links.
        features: Image backbone with which to compute ``features.npy`` and ``id2row.json`` beside the target.

    Raises:
        CorpusError: The source is damaged, or features are wanted and a picture has no file or cannot be read.
        FeatureError: There is no such backbone.
        OutputError: A file exists already, or cannot be written.
    """
    from iconotext.features.model_folder import IMAGE_BACKBONES, find_model

    format_of(source)  # check it before anything is written
    kind = to or target_format(target)
    file = documents_file(target) if kind == "released" else target
    home, folder = corpus_folder(source), file.parent
    check_overwrite(file, force)
    copied = features is None and folder.resolve() != home.resolve() and _has_rows(source, home, watch)
    if features is not None:
        find_model(features, IMAGE_BACKBONES)
        for name in (TABLE_FILE, ROWS_FILE):
            check_overwrite(folder / name, force)
    elif copied:
        feature_table.check_copy(home, folder, force=force)
    lost: set[str] = set()
    inside = 0
    names: dict[str, str] = {}  # of images: name in the source to name in the target
    files: dict[str, Path] = {}  # of images: name in the target to file

    def noted() -> Iterator[Document]:
        nonlocal inside
        found = read_corpus(source) if links is None else linked_corpus(read_corpus(source), links, kind)
        for document in watch(found, total=0, label="Converting"):
            lost.update(left_out(document, kind))
            own = [image.source for image in document.images if isinstance(image.file, bytes)]
            if own and features is not None:
                raise CorpusError(f"picture {own[0]}: features need files, and it lies in its row or in a tar")
            inside += len(own)
            images = (replace(e, file=None) if isinstance(e.file, bytes) else e for e in document.images)
            document = replace(document, images=tuple(images))
            for image in document.images:
                name = names[image.source] = written_source(image, folder)
                if isinstance(image.file, Path):
                    files[name] = image.file
            yield document

    written = write_corpus(noted(), target, force=force, to=kind)
    became: Literal["computed", "copied", "missing", "none"] = "none"
    if features is not None:
        _compute_features(folder / TABLE_FILE, files, features, force=force, watch=watch)
        became = "computed"
    elif copied:
        renamed = {old: new for old, new in names.items() if old != new}
        feature_table.copy_feature_table(home, folder, renamed=renamed, force=force)
        became = "copied"
    elif kind == "released" and not (folder / TABLE_FILE).is_file():
        became = "missing"
    return Converted(file, written, kind, tuple(sorted(lost)), len(files), inside, became)


def pooled_features(
    encoder: ImageBackbone, files: list[Path], watch: Watch, label: str = "Features"
) -> Iterator[FloatMatrix]:
    """(pictures, dim) features, ``AT_ONCE`` pictures at a time; ``CorpusError`` if a picture cannot be read."""
    starts = range(0, len(files), AT_ONCE)
    for start in watch(starts, total=len(starts), label=label):
        some = files[start : start + AT_ONCE]
        features = encoder.encode(some)
        for file, problem in zip(some, features.problems, strict=True):
            if problem is not None:
                raise CorpusError(f"{file}: {problem}; repair it or take it out: features need every picture")
        yield features.pooled


def _has_rows(source: Path, folder: Path, watch: Watch) -> bool:
    """Whether any image of a corpus has a row in the table of a folder, which may belong to another data set."""
    file = folder / ROWS_FILE
    if not file.is_file():
        return False
    known = feature_table.read_rows(file)
    rows = watch(read_rows(source), total=0, label="Looking for images with features")
    return any(image in known for row in rows for image in row.images)


def _compute_features(path: Path, files: dict[str, Path], backbone: str, *, force: bool, watch: Watch) -> None:
    """Compute and write the features of pictures; ``files``: name in the corpus to file."""
    from iconotext.features import FeatureCache, cached_image, load_image_backbone

    encoder = cached_image(load_image_backbone(backbone), FeatureCache())
    chunks = pooled_features(encoder, list(files.values()), watch)
    feature_table.write_feature_table(path, list(files), chunks, dim=encoder.dim, force=force)
