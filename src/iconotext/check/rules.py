"""The rules for pictures, in one table, and their settings.

A fact for several rules is a property of ``Page``; a fact for one rule is a function beside the rule, which remembers
the last pages. ``apply_rules`` applies the rules to a document; ``fingerprinted`` numbers the findings for a baseline.
Other packages add rules through the entry-point group ``iconotext.rules``, each an object ``Rule``.
"""

from __future__ import annotations

import hashlib
import os.path
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import field_validator

from iconotext.check import alt_texts, chunks, figures
from iconotext.check.faults import FaultSettings
from iconotext.check.page import Page, Reference
from iconotext.check.picture import Picture
from iconotext.check.places import Place
from iconotext.errors import one_line
from iconotext.plain_text import did_you_mean
from iconotext.system.plugins import Choices, plugins

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a picture or a reference violates.

    Attributes:
        message: What is wrong, and what to do.
        source: The address of the picture, or the reference as it is written.
        alt: The alternative text of the picture; None without one.
        fingerprint: Depends on document, rule, picture and text, but not on the place in the document; "" before
            ``fingerprinted``.
    """

    rule: str
    severity: Severity
    message: str
    place: Place
    source: str
    alt: str | None
    fingerprint: str = ""


def fingerprinted(findings: Iterable[Finding], root: Path) -> Iterator[Finding]:
    """Set the fingerprints of findings; findings that are otherwise equal are numbered in reading order."""
    counts: Counter[str] = Counter()
    for finding in findings:
        path = repository_path(finding.place.path, root) or finding.place.path
        parts = (path, finding.place.part, finding.rule, finding.source, finding.alt)
        like = hashlib.sha256(repr(parts).encode(errors="surrogatepass")).hexdigest()[:24]
        counts[like] += 1
        yield replace(finding, fingerprint=f"{like}/{counts[like]}")


Subject = Picture | Reference


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: a row of the table.

    Attributes:
        name: Its name in settings, findings and SARIF. Its first word, up to the first ``-``, is its group.
        severity: Severity of its findings.
        summary: What it finds, in one sentence.
        function: Takes a picture or a reference, its ``Page`` and the ``CheckSettings``, and returns what is wrong and
            what to do, or None. Of a file, it takes its path, the files that documents show, and the settings; of
            chunks the ``Fate`` of a picture, the file of the chunks, and the settings.
        about: What it is applied to.
        alone: Whether no further rule of its group is applied to a picture that breaks it.
        default: Whether it is applied unless the user names it.
        wcag: Criteria of WCAG 2.2 that a picture fails if it breaks the rule; () where the rule is good advice.
    """

    name: str
    severity: Severity
    summary: str
    function: Callable[[Any, Any, CheckSettings], str | None]
    about: Literal["picture", "reference", "file", "chunks"] = "picture"
    alone: bool = False
    default: bool = True
    wcag: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """The first word of its name."""
        return self.name.partition("-")[0]


_WCAG = {
    **dict.fromkeys(("alt-missing", "alt-empty", "alt-decorative", "alt-file-name", "alt-placeholder"), ("1.1.1",)),
    "alt-link": ("1.1.1", "2.4.4", "4.1.2"),
    "alt-function": ("2.4.4", "4.1.2"),
    "alt-language": ("3.1.2",),
    "file-untagged": ("1.1.1", "1.3.1"),
}

_ROWS = (
    Rule("alt-missing", "error", "A picture has no alternative text.", alt_texts.missing, alone=True),
    Rule("alt-link", "error", "The picture of a link or button has an empty text.", alt_texts.link, alone=True),
    Rule("alt-empty", "error", "A picture that is content has an empty alternative text.", alt_texts.empty, alone=True),
    Rule("alt-decorative", "warning", "A picture marked as decoration has an alternative text.", alt_texts.decorative),
    Rule("alt-file-name", "error", "An alternative text is the name of a file.", alt_texts.file_name, alone=True),
    Rule("alt-placeholder", "error", "An alternative text says nothing.", alt_texts.placeholder, alone=True),
    Rule("alt-duplicate", "warning", "Different pictures have the same alternative text.", alt_texts.duplicate),
    Rule("alt-series", "warning", "Alternative texts differ in a number alone.", alt_texts.series),
    Rule("alt-caption", "warning", "An alternative text repeats the caption.", alt_texts.caption),
    Rule("alt-sentence", "warning", "An alternative text repeats a sentence beside the picture.", alt_texts.sentence),
    Rule("alt-function", "warning", "The text of a link's or button's picture names no purpose.", alt_texts.function),
    Rule("alt-keywords", "warning", "An alternative text is a list of keywords.", alt_texts.keywords),
    Rule("alt-long", "warning", "An alternative text is too long.", alt_texts.long),
    Rule("alt-image-of", "warning", "An alternative text says that the picture is a picture.", alt_texts.image_of),
    Rule("alt-language", "warning", "An alternative text is in another language than the text.", alt_texts.language),
    Rule("figure-unmentioned", "warning", "The text refers to other figures, never to this one.", figures.unmentioned),
    Rule("figure-order", "warning", "A figure stands behind one with a higher number.", figures.out_of_order),
    Rule("figure-number", "error", "Two figures have the same number.", figures.number_used_twice),
    Rule("figure-far", "warning", "A figure stands far from all text that refers to it.", figures.far),
    Rule("reference-missing", "error", "The text refers to a figure that is not there.", figures.missing, "reference"),
    Rule("reference-other", "error", "A reference leads to another figure.", figures.leads_elsewhere, "reference"),
    Rule("caption-duplicate", "warning", "Different pictures have the same caption.", figures.same_caption),
    Rule("file-other", "error", "A picture is a document.", figures.no_picture, alone=True),
    Rule("file-untagged", "warning", "A PDF has no tags.", figures.untagged),
    Rule("file-missing", "error", "The file of a picture is not there.", figures.no_file),
    Rule("file-large", "warning", "A picture has ten times the pixels at which it is shown.", figures.wasteful),
    Rule("file-unused", "warning", "No document shows a picture file.", figures.unused, "file", default=False),
    Rule("chunk-lost", "error", "No chunk has a picture.", chunks.lost, "chunks"),
    Rule("chunk-wrong", "error", "A picture is in one chunk, its sentences are in others.", chunks.wrong, "chunks"),
    Rule("chunk-cut", "warning", "No chunk has a picture and a whole sentence of it.", chunks.cut, "chunks"),
    Rule("chunk-twice", "warning", "A picture is also in a chunk without its sentences.", chunks.twice, "chunks"),
)

RULES = tuple(replace(rule, wcag=_WCAG.get(rule.name, ())) for rule in _ROWS)
"""The rules that ship, in the order in which they are applied."""


def all_rules() -> dict[str, Rule]:
    """Return the rules by name: those that ship, then those of other packages."""
    others = plugins("iconotext.rules", Rule, tuple(rule.name for rule in RULES))
    return {rule.name: rule for rule in (*RULES, *others)}


def rule_names() -> tuple[str, ...]:
    """Return the groups and names of all rules, as settings may name them."""
    rules = all_rules()
    return (*dict.fromkeys(rule.group for rule in rules.values()), *rules)


class CheckSettings(FaultSettings):
    """How pictures are checked; the command has an option for each."""

    rules: tuple[Annotated[str, Choices(rule_names)], ...] = ()
    """Only these rules or groups (default: all that are on). Commas between; ``alt`` is the group of all whose names
    begin so."""

    skip: tuple[Annotated[str, Choices(rule_names)], ...] = ()
    """Leave out these rules or groups, commas between."""

    @field_validator("rules", "skip")
    @classmethod
    def _check_names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if names and (unknown := [name for name in names if name not in rule_names()]):
            near = did_you_mean(unknown[0], rule_names()) or f"; there are {', '.join(rule_names())}"
            raise ValueError(f"no rule {unknown[0]!r}{near}")
        return names

    @property
    def chosen(self) -> list[Rule]:
        """The rules to apply, in the order of the table."""

        def is_named(rule: Rule, names: tuple[str, ...]) -> bool:
            return rule.name in names or rule.group in names

        return [
            rule
            for rule in all_rules().values()
            if not is_named(rule, self.skip)
            and (is_named(rule, self.rules) if self.rules else rule.default)
            and (rule.default or rule.name in self.rules)
        ]


@dataclass(frozen=True, slots=True)
class Applied:
    """The rules, applied to a document.

    Attributes:
        broken: The pictures and references that violate rules, in reading order, with the rules and messages.
        failed: Rules that failed, to the reason; what they found before is among ``broken``.
    """

    broken: list[tuple[Subject, Rule, str]]
    failed: dict[str, str]


def apply_rules(page: Page, settings: CheckSettings) -> Applied:
    """Apply the chosen rules to a document's pictures and references. A rule that fails is not applied further."""
    applied = Applied([], {})
    chosen = settings.chosen
    subjects: list[Subject] = sorted([*page.pictures, *page.references], key=lambda subject: subject.block)
    for subject in subjects:
        about = "picture" if isinstance(subject, Picture) else "reference"
        is_none = isinstance(subject, Picture) and not page.shows(subject)
        groups: set[str] = set()
        for rule in chosen:
            left_out = rule.about != about or rule.group in groups or (rule.group != "file" and is_none)
            if left_out or rule.name in applied.failed:
                continue
            try:
                message = rule.function(subject, page, settings)
                if not isinstance(message, str | None):
                    raise TypeError(f"it returns {type(message).__name__}, neither a text nor None")
            except MemoryError:  # the process is at its limit
                raise
            except (Exception, SystemExit) as error:  # a rule, also one of another package, may fail in any way
                applied.failed[rule.name] = one_line(error, kind=True)
                continue
            if message is not None:
                applied.broken.append((subject, rule, message))
                if rule.alone:
                    groups.add(rule.group)
    return applied


def repository_root() -> Path:
    """Return the working folder, or its nearest parent that is a Git repository."""
    current = Path.cwd()
    return next((folder for folder in (current, *current.parents) if (folder / ".git").exists()), current)


def repository_path(path: str, root: Path) -> str | None:
    """Return the path of a file relative to ``root``, with ``/``; None if it is elsewhere."""
    for clean in (os.path.abspath, os.path.realpath):  # the second one follows links
        whole, base = Path(clean(path)), Path(clean(root))
        if whole.is_relative_to(base):
            return whole.relative_to(base).as_posix()
    return None
