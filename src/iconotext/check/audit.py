"""An audit of pictures: check documents, leave out the findings of a baseline, write lines, JSON or SARIF.

``check`` checks files and folders, ``check_page`` one file; ``audit`` is the run of a command,
with its printed lines, its files (SARIF, baseline) and its exit status.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from iconotext import __version__
from iconotext.check.chunks import Fate, compared, counts, read_chunks
from iconotext.check.files import Files, forget_sites
from iconotext.check.page import Page, read_page
from iconotext.check.picture import PICTURE_SUFFIXES, Picture
from iconotext.check.places import Place
from iconotext.check.rules import (
    CheckSettings,
    Finding,
    Subject,
    all_rules,
    apply_rules,
    fingerprinted,
    repository_path,
    repository_root,
)
from iconotext.errors import DocumentError, IconotextError, RuleError, SettingError
from iconotext.plain_text import counted, encodable, json_text, listed, readable, shortened
from iconotext.read import LEAST_SECONDS, MAX_MEMORY, Failure, ReadSettings, find_documents, read_isolated
from iconotext.read.find import no_documents, unread_lines
from iconotext.read.format import all_formats, file_format, suffix_format
from iconotext.system.files import check_ours, read_plain, write_text
from iconotext.system.strict_json import parse_json
from iconotext.system.worker import run_isolated, start_worker
from iconotext.types import LinkedDocument

_MAY_HOLD_PICTURES = re.compile(rb"!\[|<(?:img|svg|input)\b|(?-i:<[A-Z])|[{\x00]|\[\[", re.IGNORECASE)
"""Bytes of every Markdown or HTML file with a picture; a zero byte if characters take two bytes."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check.

    Attributes:
        failures: Documents that could not be read, and, as ``RuleError``, rules that failed at a document.
        unread: Lines on files in folders that were left out, and on chunks of no document.
        chunks: File of chunks to the numbers of pictures by what became of them there.
    """

    findings: tuple[Finding, ...]
    failures: tuple[Failure, ...]
    documents: int
    pictures: int
    unread: tuple[str, ...] = ()
    chunks: Mapping[Path, Mapping[str, int]] = field(default_factory=dict)


def check(
    paths: Iterable[Path | str],
    settings: CheckSettings | None = None,
    reading: ReadSettings | None = None,
    *,
    root: Path | None = None,
    formats: Collection[str] = (),
    chunks: Sequence[Path] = (),
) -> Checked:
    """Check the pictures of documents, also those in folders; web pages with their menus.

    Args:
        chunks: Files of chunks that programs made of the documents, which are linked to judge them.
        root: The folder to which paths in fingerprints are relative (default: ``repository_root()``).
        formats: Names of the formats to read (default: all).

    Raises:
        DocumentError: There are no documents.
    """
    settings, reading = settings or CheckSettings(), reading or ReadSettings()
    paths, skipped = paths if isinstance(paths, str) else list(paths), Counter[str]()
    rows = [row for row in all_formats().values() if not formats or row.name in formats]
    titles = listed((row.title for row in rows), "or")
    suffixes = frozenset(suffix for row in rows for suffix in row.suffixes)
    pieces = {file: read_chunks(file) for file in chunks}
    documents = list(find_documents(paths, reading, suffixes=suffixes, skipped=skipped))
    if not documents:
        raise no_documents(paths, reading, skipped, formats=titles if formats else None)
    findings: list[Finding] = []
    failures: list[Failure] = []
    shown: set[Path] = set()
    pages: dict[Path, Page] = {}
    pictures = 0
    all_rules()  # says in this process what is wrong with those of other packages
    start_worker()
    run_isolated(forget_sites, MAX_MEMORY, LEAST_SECONDS)  # files may have changed since an earlier check
    for path, folder in documents:
        try:
            row = suffix_format(path)
            if formats and (row.name if row else file_format(path, reading)[0]) not in formats:
                raise DocumentError(f"{path}: not a format that is checked: give {titles}")
            checked = check_page(path, settings, reading, within=folder)
        except IconotextError as error:
            failures.append(Failure(path, error))
            continue
        failures += [Failure(path, error) for error in checked.failed]
        shown |= checked.shown
        if pieces:
            pages[path] = checked.page
        pictures += len(checked.page.pictures)
        findings += [finding for _, finding in checked.findings]
    for rule in [rule for rule in settings.chosen if rule.about == "file"]:
        folders = [folder for _, folder in documents if folder is not None]
        for file, _ in find_documents(dict.fromkeys(folders), reading, suffixes=PICTURE_SUFFIXES):
            if message := rule.function(file, shown, settings):
                findings.append(Finding(rule.name, rule.severity, message, Place(file.as_posix()), file.name, None))
    unread = [*unread_lines(skipped)]
    tables: dict[Path, dict[str, int]] = {}
    linked = _linked(documents, pages, reading, failures) if pieces else {}
    unread += [f"{path}: {note}" for path, own in linked.items() for each in own for note in each.notes]
    for file, own in pieces.items():
        fates, strange = compared(own, linked)
        tables[file] = counts(fates)
        if strange:
            name = f"{strange[0].name} ({', '.join(strange[0].documents) or 'it names none'})"
            unread.append(f"{file}: {counted(len(strange), 'chunk')} of no checked document, such as {name}")
        for rule in [rule for rule in settings.chosen if rule.about == "chunks"]:
            for fate in fates:
                if message := rule.function(fate, file, settings):
                    place = _place(fate, pages[fate.path])
                    source, alt = fate.picture.source, fate.picture.alt
                    findings.append(Finding(rule.name, rule.severity, message, place, source, alt))
    numbered = tuple(fingerprinted(findings, root or repository_root()))
    read = len(documents) - len(_unread(failures))
    return Checked(numbered, tuple(failures), read, pictures, tuple(unread), tables)


def _linked(
    documents: Sequence[tuple[Path, Path | None]],
    pages: Mapping[Path, Page],
    reading: ReadSettings,
    failures: list[Failure],
) -> dict[Path, list[LinkedDocument]]:
    """Link the documents with pictures by the model that ships; return those of each file that was read."""
    from iconotext.linker import Linker  # which the check alone does without
    from iconotext.read import read_files

    linked: dict[Path, list[LinkedDocument]] = {path: [] for path in pages}
    shown = [(path, folder) for path, folder in documents if path in pages and pages[path].pictures]
    for each in Linker.load().link_all(read_files(shown, reading)):
        if isinstance(each, Failure):
            failures.append(each)
        elif each.document.source is not None:
            linked[each.document.source].append(each)
    return linked


def _place(fate: Fate, page: Page) -> Place:
    """Return the place of a picture that was linked, by its address among the pictures that were checked."""
    places = (each.place for each in page.pictures if fate.picture.source in each.sources)
    return next(places, Place(fate.path.as_posix()))


def _unread(failures: Iterable[Failure]) -> list[Failure]:
    """Return those failures that are documents which could not be read."""
    return [failure for failure in failures if not isinstance(failure.error, RuleError)]


@dataclass(frozen=True, slots=True)
class CheckedPage:
    """The result of the check of one document.

    Attributes:
        findings: Each with the picture or reference that it is about.
        failed: An error for each rule that failed.
        shown: The files of its pictures, if a rule asks for them.
    """

    page: Page
    findings: list[tuple[Subject, Finding]]
    failed: list[RuleError]
    shown: frozenset[Path] = frozenset()


def check_page(
    path: Path, settings: CheckSettings, reading: ReadSettings, *, within: Path | None = None
) -> CheckedPage:
    """Check one document: read it and apply the rules, in a process with limits on memory and time.

    Args:
        within: Folder in which images may be, if ``reading.root`` is not set; None for the file's own folder.
    """
    # A look at the bytes is much faster than reading a file in a process of its own.
    if not _may_hold_pictures(path, reading):
        return CheckedPage(Page(path.as_posix(), "", ()), [], [])
    within = reading.root or within or path.parent
    return read_isolated(partial(_checked_page, settings, reading), path, reading, within)


def _checked_page(
    settings: CheckSettings, asked: ReadSettings, format_: str, path: Path, reading: ReadSettings
) -> CheckedPage:
    """Read a document and apply the rules, without limits; ``reading`` is what was ``asked`` with a root."""
    read = read_page(format_, path, reading)
    files = Files(path, reading.root or path.parent, asked)
    page = replace(read, files=files)
    applied = apply_rules(page, settings)
    findings: list[tuple[Subject, Finding]] = []
    for subject, rule, message in applied.broken:
        alt = subject.alt if isinstance(subject, Picture) else None
        findings.append((subject, Finding(rule.name, rule.severity, message, page.place(subject), subject.source, alt)))
    advice = "a bug, to be reported; the option skip leaves it out"
    failed = [RuleError(f"{path}: the rule {name} failed ({why}): {advice}") for name, why in applied.failed.items()]
    asks = any(rule.about == "file" for rule in settings.chosen)
    return CheckedPage(read, findings, failed, frozenset(files.all_of(read.pictures)) if asks else frozenset())


def _may_hold_pictures(path: Path, reading: ReadSettings) -> bool:
    """Whether a file may have pictures; True if it cannot be read or is too large, so that the reader reports that."""
    row = suffix_format(path)
    if row is None or row.name not in ("markdown", "html"):
        return True
    try:
        return bool(_MAY_HOLD_PICTURES.search(read_plain(path, reading.max_bytes)))
    except (OSError, ValueError):
        return True


BASELINE_VERSION = 2
_BASELINE = re.compile(rb'\{"version": \d+, "findings": \[')
"""How a baseline begins, of any version of iconotext."""

MAX_BYTES = 64 * 2**20
"""Limit for the file of a baseline."""


def read_baseline(path: Path) -> frozenset[str]:
    """Return the fingerprints of the findings in a baseline, so that only new ones fail a check."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SettingError(f"{path}: too large for a baseline: write it anew")
        baseline: Any = parse_json(path.read_text(encoding="utf-8"))
        if baseline["version"] != BASELINE_VERSION:
            raise SettingError(f"{path}: a baseline of another version of iconotext: write it anew")
        fingerprints = [finding["fingerprint"] for finding in baseline["findings"]]
        if not all(isinstance(text, str) for text in fingerprints):
            raise TypeError
    except FileNotFoundError as error:
        raise SettingError(
            f"{path}: no such baseline; `iconotext check DOCS --baseline FILE --write-baseline` writes it"
        ) from error
    except OSError as error:
        raise SettingError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise SettingError(f"{path}: no baseline of a check: write it anew") from error
    return frozenset(fingerprints)


def write_baseline(findings: Iterable[Finding], path: Path, root: Path) -> None:
    """Write findings as a baseline, one per line so that changes are easy to read; replaces an old one."""
    rows = [
        {
            "path": encodable(repository_path(finding.place.path, root) or finding.place.path),
            "rule": finding.rule,
            "about": encodable(finding.source),
            "fingerprint": finding.fingerprint,
        }
        for finding in findings
    ]
    rows.sort(key=lambda row: (row["path"], row["rule"], row["about"], row["fingerprint"]))
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    write_text(path, f'{{"version": {BASELINE_VERSION}, "findings": [\n{lines}\n]}}\n', force=True)


def finding_lines(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield a line with place, severity, rule and message of each finding, and empty lines between documents."""
    for number, (path, group) in enumerate(groupby(findings, key=lambda finding: finding.place.path)):
        if number:
            yield ""
        yield readable(path)
        yield from _aligned([(_where(f), f.severity, f.rule, readable(f.message)) for f in group])


def _where(finding: Finding) -> str:
    """``12:3``; for a document without lines, its part and the picture."""
    place = finding.place
    if place.line is not None:
        return f"{place.line}:{place.column}"
    if place.page is not None:  # the name of a picture in a PDF begins with its page
        return readable(f"{finding.source}{place.spot}")
    return readable(" ".join(filter(None, [place.inside, shortened(finding.source, 40)])))


def _aligned(rows: Sequence[tuple[str, str, str, str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for where, severity, rule, message in rows:
        yield f"  {where:>{widths[0]}}  {severity:<{widths[1]}}  {rule:<{widths[2]}}  {message}"


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
"""The schema for programs that read the file; nothing is fetched from this address."""

_SARIF = re.compile(rb'(?s)\{\s*+"\$schema": .{1,900}?"driver": \{\s*+"name": "iconotext check"')
"""How a SARIF log of the check begins."""

ROOT = "SRCROOT"
FINGERPRINT = "iconotextCheck/v1"


def sarif_log(
    findings: Sequence[Finding], failures: Iterable[Failure], root: Path, *, accepted: Collection[str] = ()
) -> dict[str, Any]:
    """Return one run of the check as a SARIF log.

    Args:
        root: The folder of the repository; addresses of files in it are relative.
        accepted: Fingerprints of the baseline; these findings are not new.
    """
    rules = all_rules()
    names = list(rules)
    failed = [_notification(failure, root) for failure in failures]
    driver = {
        "name": "iconotext check",
        "semanticVersion": __version__,
        "rules": [
            {
                "id": rule.name,
                "shortDescription": {"text": rule.summary},
                "defaultConfiguration": {"level": rule.severity},
                "properties": {"tags": [f"WCAG 2.2 {number}" for number in rule.wcag]},
            }
            for rule in rules.values()
        ],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The folder of the repository."}}},
        "invocations": [{"executionSuccessful": not failed, "toolExecutionNotifications": failed}],
        "results": [_result(finding, root, names.index(finding.rule), accepted) for finding in findings],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(finding: Finding, root: Path, number: int, accepted: Collection[str]) -> dict[str, Any]:
    place = finding.place
    physical: dict[str, Any] = {"artifactLocation": _artifact(place.path, root)}
    if place.line is not None:
        physical["region"] = {"startLine": place.line, "startColumn": place.column, "charOffset": place.at}
    location: dict[str, Any] = {"physicalLocation": physical}
    if place.inside is not None:
        location["logicalLocations"] = [{"fullyQualifiedName": encodable(place.inside)}]
    return {
        "ruleId": finding.rule,
        "ruleIndex": number,
        "level": finding.severity,
        "message": {"text": encodable(f"{finding.source}: {finding.message}")},
        "locations": [location],
        "partialFingerprints": {FINGERPRINT: finding.fingerprint},
        "baselineState": "unchanged" if finding.fingerprint in accepted else "new",
    }


def _notification(failure: Failure, root: Path) -> dict[str, Any]:
    return {
        "level": "error",
        "message": {"text": encodable(str(failure.error))},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(failure.path.as_posix(), root)}}],
    }


def _artifact(path: str, root: Path) -> dict[str, str]:
    within = repository_path(path, root)
    if within is None:
        return {"uri": Path(path).absolute().as_uri()}
    return {"uri": quote(within.encode(errors="surrogateescape")), "uriBaseId": ROOT}


PASSED, FOUND, FAILED = 0, 1, 2
"""Exit status: nothing new, something new, or a document that could not be read."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of a run.

    Attributes:
        output: Text for standard output.
        messages: Lines for the user, on stderr.
        status: Exit status, see ``PASSED``.
    """

    output: str
    messages: tuple[str, ...]
    status: int


def audit(
    paths: Sequence[str],
    settings: CheckSettings,
    reading: ReadSettings,
    *,
    as_json: bool = False,
    sarif: Path | None = None,
    baseline: Path | None = None,
    make_baseline: bool = False,
    formats: Collection[str] = (),
    force: bool = False,
    chunks: Sequence[Path] = (),
) -> Audit:
    """Check documents, and write the requested files.

    Args:
        force: Whether to replace files that no check wrote.
        formats: Names of the formats to read (default: all).
        as_json: Whether to print findings as JSON.
        sarif: File for the findings as SARIF; replaces the one of an earlier check.
        baseline: The baseline file.
        make_baseline: Whether to write the findings as the baseline, so that none is new.
        chunks: See ``check``.
    """
    if make_baseline and baseline is None:
        raise SettingError("a baseline is to be written, and no file is named for it: which one?")
    if make_baseline and baseline is not None:
        check_ours(baseline, _BASELINE, force)
    if sarif is not None:
        check_ours(sarif, _SARIF, force)
    accepted: frozenset[str] = frozenset()
    if baseline is not None and not make_baseline:
        accepted = read_baseline(baseline)
    checked, root = check(paths, settings, reading, formats=formats, chunks=chunks), repository_root()
    if make_baseline and baseline is not None:
        write_baseline(checked.findings, baseline, root)
        accepted = frozenset(finding.fingerprint for finding in checked.findings)
    if sarif is not None:
        log = sarif_log(checked.findings, checked.failures, root, accepted=accepted)
        write_text(sarif, json.dumps(log, indent=1) + "\n", force=True)
    new = tuple(finding for finding in checked.findings if finding.fingerprint not in accepted)
    table = _table(checked.chunks)
    if as_json:
        rows = [asdict(finding) | {"new": finding.fingerprint not in accepted} for finding in checked.findings]
        output = json_text(rows)
    else:
        output = "\n".join([*finding_lines(new), *([""] if new and table else []), *table])
    failed = map(str, (failure.error for failure in checked.failures))
    messages = (*failed, *checked.unread, *(table if as_json else ()), _summary(checked, len(new), len(accepted) > 0))
    return Audit(output, messages, FAILED if checked.failures else FOUND if new else PASSED)


def _table(chunks: Mapping[Path, Mapping[str, int]]) -> list[str]:
    """Return a line with the names of the columns, and one for each file of chunks; none without chunks."""
    head = [["chunks", *row] for row in chunks.values()][:1]
    rows = head + [[str(file), *map(str, row.values())] for file, row in chunks.items()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.rjust, row, widths)) for row in rows]


def _summary(checked: Checked, new: int, has_baseline: bool) -> str:
    findings = counted(new, "new finding" if has_baseline else "finding")
    if has_baseline:
        findings += f" and {len(checked.findings) - new:,} known"
    if not checked.pictures and not checked.failures:
        return f"no pictures in {counted(checked.documents, 'document')}: there is nothing to check"
    where = f"{counted(checked.pictures, 'picture')} of {counted(checked.documents, 'document')}"
    unread = len(_unread(checked.failures))
    rules = len(checked.failures) - unread
    failed = f"; {counted(unread, 'document')} could not be read" if unread else ""
    failed += f"; {counted(rules, 'rule')} failed at a document" if rules else ""
    return f"{findings} in {where}{failed}"
