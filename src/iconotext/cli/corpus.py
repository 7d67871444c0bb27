"""``iconotext corpus``: check, count, convert, divide and build corpora."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import known_errors, make_settings, parse_settings, progress
from iconotext.cli.corpus_documents import documents
from iconotext.cli.corpus_pairs import pairs

if TYPE_CHECKING:
    from iconotext.corpus.builders.captions import Photo
    from iconotext.corpus.check import CheckedCorpus
    from iconotext.corpus.stats import CorpusStats
    from iconotext.features import ImageBackbone
    from iconotext.types import Document, FloatMatrix

SHOWN = 20
"""Problems that ``check`` prints; ``--json`` gives all."""

PICTURES = 256
"""Pictures that are encoded before their features are written."""

corpus = typer.Typer(name="corpus", help="Check, count, convert, divide and build corpora.", no_args_is_help=True)
build = typer.Typer(
    name="build", help="Make a corpus out of files, or out of photographs with captions.", no_args_is_help=True
)
corpus.add_typer(build)
build.command()(documents)
build.command()(pairs)


class To(StrEnum):
    """Formats of a corpus."""

    JSONL = "jsonl"
    PARQUET = "parquet"
    RELEASED = "released"
    MMC4 = "mmc4"


class Rule(StrEnum):
    """Data sets of the paper that documents out of captions may be like."""

    MSCOCO = "mscoco"
    DII = "dii"
    DII_STRESS = "dii-stress"


CorpusArgument = Annotated[
    Path,
    typer.Argument(
        metavar="PATH", help="A corpus: .jsonl, .parquet, a folder with docs.json, an mmc4 shard.", show_default=False
    ),
]
OutputOption = Annotated[Path, typer.Option("--output", "-o", help="The corpus to write.", show_default=False)]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
SeedOption = Annotated[int, typer.Option(help="Another seed, another choice.")]


@corpus.command()
def check(
    path: CorpusArgument,
    pictures: Annotated[
        bool, typer.Option("--pictures/--no-pictures", help="Decode every picture, or only see that it is there.")
    ] = True,
    json: JsonOption = False,
) -> None:
    """List everything that is wrong with a corpus: fields, ids, pictures, pictures in two splits.

    The exit status is 1 when there is something.

    **Examples**

    - `iconotext corpus check corpus.jsonl`
    - `iconotext corpus check mscoco/`
    - `iconotext corpus check corpus.parquet --json | jq '.problems[].field'`
    """
    with known_errors():
        from iconotext.corpus.check import check_corpus
        from iconotext.corpus.store import read_records

        records = progress(read_records(path), total=_total(path), label="Checking")
        checked = check_corpus(path, records, decode_pictures=pictures)
        if json:
            _print_json(_checked_json(checked))
        else:
            _show_checked(checked)
        if checked.problems:
            sys.exit(1)


@corpus.command()
def stats(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Corpora, each a row of the table.", show_default=False)
    ],
    json: JsonOption = False,
) -> None:
    """Count documents, sentences, images and links: the columns of Table 1 of Hessel 2019.

    Density is the number of gold links divided by the number of possible links, over the documents whose links are
    known.

    **Examples**

    - `iconotext corpus stats corpus.jsonl`
    - `iconotext corpus stats mscoco/ dii/ diy/ --json`
    """
    with known_errors():
        from iconotext.corpus.stats import corpus_stats

        found = [(path, corpus_stats(_watched(path, "Counting"))) for path in paths]
        if json:
            _print_json([{"corpus": str(path), **numbers.as_json()} for path, numbers in found])
        else:
            _show_stats(found)


@corpus.command()
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
    force: ForceOption = False,
) -> None:
    """Write a corpus in another format; features that lie beside it (`features.npy`, `id2row.json`) are copied along.

    **Examples**

    - `iconotext corpus convert corpus.jsonl corpus.parquet`
    - `iconotext corpus convert mscoco/ mscoco.jsonl`
    - `iconotext corpus convert corpus.jsonl for-released-code/ --features efficientnet-lite0`
    - `iconotext corpus convert shard.jsonl.zip shard.parquet`
    """
    with known_errors():
        convert_corpus(source, target, to, features, force=force)


@corpus.command()
def split(
    path: CorpusArgument,
    output: OutputOption,
    validation: Annotated[float, typer.Option(help="Share of the documents for validation.")] = 0.1,
    test: Annotated[float, typer.Option(help="Share of the documents for test.")] = 0.1,
    seed: SeedOption = 0,
    force: ForceOption = False,
) -> None:
    """Divide a corpus into train, validation and test, at random; splits that it has are replaced.

    Documents that share a picture go together, so that no picture is in two splits.

    **Example**

    - `iconotext corpus split corpus.jsonl --output split.jsonl --validation 0.1 --test 0.1`
    """
    with known_errors():
        from dataclasses import replace

        from iconotext.corpus.split import Shares, assign_splits
        from iconotext.corpus.store import write_corpus
        from iconotext.write import refuse

        refuse(output, force)
        splits = assign_splits(_watched(path, "Reading"), Shares(validation, test), seed=seed)
        documents = (
            replace(document, split=part) for document, part in zip(_watched(path, "Writing"), splits, strict=True)
        )
        written = write_corpus(documents, output, force=force)
        counts = ", ".join(f"{splits.count(name)} {name}" for name in ("train", "validation", "test"))
        typer.echo(f"{output}: {written} documents ({counts})", err=True)


@build.command()
def captions(
    source: Annotated[
        Path, typer.Argument(help='JSON lines, {"image": ..., "captions": [...], "split": ...}.', show_default=False)
    ],
    output: OutputOption,
    rule: Annotated[
        Rule,
        typer.Option(
            help="mscoco: 5 pairs, 5 other images, 5 other captions. dii: 5 pairs of similar images. dii-stress: and "
            "45 other captions."
        ),
    ] = Rule.MSCOCO,
    validation: Annotated[
        float, typer.Option(help="Share of the photographs without a split for validation.", show_default=False)
    ] = 0,
    test: Annotated[float, typer.Option(help="The same for test.", show_default=False)] = 0,
    test_on_validation: Annotated[
        bool,
        typer.Option(
            "--test-on-validation",
            help="The photographs for validation are for test, and --validation takes its share of those for training.",
        ),
    ] = False,
    seed: SeedOption = 0,
    backbone: Annotated[str, typer.Option(help="What says which images are similar.")] = "efficientnet-lite0",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="pairs, distractor_images, distractor_captions, versions, shuffles, evaluation_shuffles, topical.",
            show_default=False,
        ),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Make documents out of photographs with captions, by the rules of Hessel 2019 (supplement §1).

    In training there are up to five versions of a document, with other captions of the same images; in validation and
    test one, with the first captions. Distractor captions come from other photographs of the same split.

    **Examples**

    - `iconotext corpus build captions captions.jsonl --output corpus.jsonl --validation 0.1 --test 0.1`
    - `iconotext corpus build captions flickr8k/captions.jsonl -o benchmark.jsonl --set evaluation_shuffles=5`
    - `iconotext corpus build captions flickr8k/captions.jsonl -o three.jsonl --validation 0.1 --test-on-validation`
    - `iconotext corpus build captions captions.jsonl -o dii.parquet --rule dii`
    """
    with known_errors():
        from iconotext.corpus.builders import captions as builder
        from iconotext.corpus.split import Shares
        from iconotext.corpus.store import write_corpus
        from iconotext.errors import SettingError
        from iconotext.write import refuse

        (given,) = parse_settings(set_ or [], builder.CaptionSettings)
        settings = make_settings(builder.CaptionSettings, {**builder.RULES[rule.value], "seed": seed, **given})
        shares = Shares(validation, test)
        refuse(output, force)
        photos = builder.read_photos(source)
        if test_on_validation:
            if not validation:
                raise SettingError("--test-on-validation leaves none to validate on: say how many, as --validation 0.1")
            photos = builder.validation_as_test(photos)
        if validation or test:
            photos = builder.share_out(photos, shares, seed=seed)
        vectors = _vectors(photos, backbone) if settings.topical else None
        documents = builder.build_captions(photos, settings, vectors=vectors)
        written = write_corpus(documents, output, force=force)
        typer.echo(f"{output}: {written} documents out of {len(photos)} photographs", err=True)


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
        for document in _watched(source, "Converting"):
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
    names = list(files)
    starts = range(0, len(names), PICTURES)
    chunks = (
        _encoded(encoder, [files[name] for name in names[start : start + PICTURES]])
        for start in progress(starts, total=len(starts), label="Features")
    )
    write_feature_table(path, names, chunks, dim=encoder.dim, force=force)


def _encoded(encoder: ImageBackbone, files: list[Path]) -> FloatMatrix:
    """(files, dim) features of pictures.

    Raises:
        CorpusError: A picture cannot be read.
    """
    from iconotext.errors import CorpusError

    features = encoder.encode(files)
    for file, problem in zip(files, features.problems, strict=True):
        if problem is not None:
            raise CorpusError(f"{file}: {problem}; mend it or take it out, features need every picture")
    return features.pooled


def _vectors(photos: list[Photo], backbone: str) -> FloatMatrix:
    """(photos, dim) features of photographs."""
    import numpy as np

    from iconotext.features import FeatureCache, cached_image, load_image_backbone

    encoder = cached_image(load_image_backbone(backbone), FeatureCache())
    starts = range(0, len(photos), PICTURES)
    chunks = [
        _encoded(encoder, [photo.file for photo in photos[start : start + PICTURES]])
        for start in progress(starts, total=len(starts), label="Looking at photographs")
    ]
    return np.concatenate(chunks) if chunks else np.zeros((0, encoder.dim), np.float32)


def _total(path: Path) -> int:
    """Number of documents for a progress bar, 0 where there is none to be seen."""
    from iconotext.corpus.store import count_documents

    return count_documents(path) if sys.stderr.isatty() else 0


def _watched(path: Path, label: str) -> Iterator[Document]:
    """The documents of a corpus, with a progress bar."""
    from iconotext.corpus.store import read_corpus

    return progress(read_corpus(path), total=_total(path), label=label)


def _print_json(value: object) -> None:
    from iconotext.corpus.strict_json import dump_json

    typer.echo(dump_json(value))


def _checked_json(checked: CheckedCorpus) -> dict[str, object]:
    return {
        "corpus": str(checked.path),
        "format": checked.format,
        "documents": checked.documents,
        "problems": [
            {"place": problem.place, "field": problem.field, "message": problem.message} for problem in checked.problems
        ],
        "notes": list(checked.notes),
    }


def _show_checked(checked: CheckedCorpus) -> None:
    for problem in checked.problems[:SHOWN]:
        typer.echo(f"{checked.path}, {problem}")
    hidden = len(checked.problems) - SHOWN
    if hidden > 0:
        typer.echo(f"... and {hidden} more; --json gives all")
    for note in checked.notes:
        typer.echo(f"note: {note}")
    count = len(checked.problems)
    verdict = "nothing wrong" if not count else "1 problem" if count == 1 else f"{count} problems"
    typer.echo(f"{checked.path} ({checked.format}): {checked.documents} documents, {verdict}")


def _show_stats(found: list[tuple[Path, CorpusStats]]) -> None:
    """A row for each corpus, as Table 1 of the paper has it."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("corpus", overflow="fold", min_width=10)
    for name in ("train/val/test", "median\nn/m", "mean\nn/m", "max\nn/m", "images", "density"):
        table.add_column(name, justify="right", no_wrap=True)
    distinct = len({path.name for path, _ in found}) == len(found)
    for path, numbers in found:
        n, m = numbers.sentences, numbers.images
        table.add_row(
            Text(path.name if distinct and path.name else str(path)),
            _splits(numbers),
            f"{n.median:g}/{m.median:g}",
            f"{n.mean:.1f}/{m.mean:.1f}",
            f"{n.max}/{m.max}",
            f"{numbers.unique_images:,}",
            "N/A" if numbers.density is None else f"{numbers.density:.1%}",
        )
    Console().print(table)
    for path, numbers in found:
        if numbers.unknown:
            typer.echo(f"{path}: nobody knows the links of {numbers.unknown:,} of {numbers.documents:,} documents")


def _splits(numbers: CorpusStats) -> str:
    """Documents of each split, or their number where there are no splits."""
    if set(numbers.splits) <= {"none"}:
        return f"{numbers.documents:,}"
    parts = "/".join(f"{numbers.splits.get(name, 0):,}" for name in ("train", "validation", "test"))
    rest = numbers.splits.get("none", 0)
    return f"{parts} + {rest:,}" if rest else parts
