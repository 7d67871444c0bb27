"""What the commands share that build a corpus of text–image pairs with coherence relations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import progress
from iconotext.cli.output import complain, say
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from iconotext.papers.datasets.labelled.pairs import DataSet
    from iconotext.papers.datasets.labelled.report import LabelledReport
    from iconotext.read.web.polite import Politeness

REASONS = 8
"""Reasons why pictures are missing that are told; the report has all."""

Group = Annotated[
    bool,
    typer.Option("--group", help="Pairs that share a picture or a text go to the same split; published: they do not."),
]
Once = Annotated[
    bool, typer.Option("--once", help="Use a pair that was annotated several times once, as its first row has it.")
]
OnlyFound = Annotated[bool, typer.Option("--only-found", help="Leave out pairs whose picture is not there.")]


def build_labelled(
    data_set: DataSet,
    sources: list[Path],
    output: Path,
    *,
    images: Path | None,
    fetch: Politeness | None = None,
    once: bool,
    group: bool,
    only_found: bool,
    seed: int,
    force: bool,
) -> None:
    """Read the tables, find or fetch pictures, write corpus and report, and say on stderr what came out."""
    import json

    from iconotext.corpus.store import target_format, write_corpus
    from iconotext.errors import OutputError
    from iconotext.papers.datasets.labelled.pairs import labelled_documents, survey_tables
    from iconotext.papers.datasets.labelled.report import report_path
    from iconotext.write import check_overwrite, write_text

    if target_format(output) not in ("jsonl", "parquet"):
        raise OutputError(f"{output}: name a file .jsonl or .parquet; `iconotext corpus convert` writes other formats")
    report_file = report_path(output)
    check_overwrite(output, force)
    check_overwrite(report_file, force)
    survey = survey_tables(data_set, sources, once=once)
    files, missing = images_of(data_set, survey.pictures, images, fetch)
    documents = labelled_documents(
        data_set, survey, files, seed=seed, group=group, only_found=only_found, missing=missing
    )
    write_corpus(progress(documents, total=len(survey.image_of), label="Writing"), output, force=force)
    report = survey.report
    write_text(report_file, json.dumps(report.as_json(), ensure_ascii=False, indent=1) + "\n", force=force)
    tell(report, output, report_file)


def images_of(
    data_set: DataSet, pictures: list[str], images: Path | None, fetch: Politeness | None
) -> tuple[dict[str, Path], dict[str, str]]:
    """Files of the pictures that are in the folder or could be fetched into it, and why there are none of others."""
    from iconotext.corpus.builders.images.fetched import fetch_images
    from iconotext.corpus.builders.images.found import FoundImages
    from iconotext.errors import SettingError
    from iconotext.papers.datasets.labelled.report import UNSOUGHT

    if images is None:
        if fetch is not None:
            raise SettingError("--fetch needs --images, the folder that pictures are fetched into")
        return {}, dict.fromkeys(pictures, UNSOUGHT)
    files: dict[str, Path] = {}
    missing: dict[str, str] = {}
    if images.exists() or fetch is None:
        find = data_set.finder(FoundImages(images), pictures)
        files = {name: file for name in pictures if (file := find(name)) is not None}
    missing = dict.fromkeys((name for name in pictures if name not in files), f"not found in {images.name}")
    if fetch is not None:
        addresses = list(missing)
        new = 0
        results = fetch_images(addresses, images, politeness=fetch)
        for result in progress(results, total=len(addresses), label="Fetching"):
            if result.file is not None:
                files[result.address] = result.file
                del missing[result.address]
                new += result.new
            else:
                missing[result.address] = result.problem or "not fetched"
        again = "; the same command with --force tries the servers again that did not answer" if missing else ""
        say(f"{images}: {counted(new, 'picture')} fetched{again}", err=True)
    return files, missing


def tell(report: LabelledReport, output: Path, report_file: Path) -> None:
    """A few lines on stderr: rows, documents, pictures, what splits share."""
    from iconotext.papers.datasets.labelled.report import UNSOUGHT

    for source in report.sources:
        table = source.table
        odd = f"; {table.odd_lines} lines as {table.fallback}" if table.fallback else ""
        left = len(source.left_out)
        say(
            f"{table.path}: {source.rows} rows ({table.encoding}{odd}): {source.used} used, {left} left out"
            + _listed(source.reasons().items()),
            err=True,
        )
        if source.notes:
            say(f"{table.path}: {len(source.notes)} rows used with a note, see the report", err=True)
    splits = ", ".join(f"{report.splits[name]} {name}" for name in ("train", "validation", "test"))
    say(f"{output}: {counted(report.documents, 'document')} ({splits})", err=True)
    missing, kinds = len(report.missing), _kinds(report.missing)
    there = f"{report.pictures - missing} there, {missing} missing" + _listed(kinds.most_common(REASONS))
    if UNSOUGHT in kinds:
        there = "not looked for: --images names their folder"
    say(f"pictures: {report.pictures} different ones, {there}", err=True)
    shared = report.shared.get("either", 0)
    if shared:
        held_out = report.splits["validation"] + report.splits["test"]
        complain(
            f"{shared} of {held_out} pairs of validation and test share a picture or a text with one of training, as "
            "in the published splits; --group keeps such pairs together"
        )
    say(f"{report_file}: what became of every row and picture", err=True)


def _kinds(missing: dict[str, str]) -> Counter[str]:
    """How often each problem occurs, whatever the host."""
    from urllib.parse import urlsplit

    kinds: Counter[str] = Counter()
    for address, problem in missing.items():
        try:
            host = urlsplit(address).hostname
        except ValueError:
            host = None
        if host:
            problem = problem.replace(f"the name {host}", "the name of its server").replace(host, "its server")
        kinds[problem] += 1
    return kinds


def _listed(counts: Iterable[tuple[str, int]]) -> str:
    listed = "; ".join(f"{number} {what}" for what, number in counts)
    return f" ({listed})" if listed else ""
