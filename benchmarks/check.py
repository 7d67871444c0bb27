"""How well ``iconotext check`` finds planted faults, and how long it takes.

    python benchmarks/check.py --data DATA

Alternative texts: in copies of the original Markdown and HTML documents, one picture at a time gets a fault: each
rule's in several variants; those of ``alt-series`` go to all of a document's pictures that are used. Only pictures of
which no rule complains in the original are used. Found: the picture breaks that rule then. A false alarm: any other
rule that it breaks then, or any new finding elsewhere in the document. ``harmless`` plants texts that are good though
they are like faults: all that is found there is a false alarm.

Figures: textbook sections of ``documents/textbook/cited.jsonl`` are written as documents, their figures numbered in
reading order, and cited at the end of the sentences in which their authors cite them; with ``--format`` as another
format, by pandoc. One fault at a time is planted in each. Found: the rule names the figure or the reference with the
fault. A false alarm: a finding that was not there before and is not about it.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from itertools import starmap
from pathlib import Path
from typing import Any

import pypandoc  # type: ignore[import-untyped]  # it has no types
from data_folder import parser_with_data
from statsmodels.stats.proportion import proportion_confint

from iconotext.check.audit import check_page
from iconotext.check.language import sentences
from iconotext.check.picture import Picture
from iconotext.check.rules import CheckSettings
from iconotext.read import ReadSettings
from iconotext.read.format import FORMATS
from iconotext.read.text_file import decode_text

FAULTS = {
    "alt-file-name": [
        "P1010042.JPG",
        "sunset_final_v2.png",
        "DSC_0042",
        "hero-image.webp",
        "Screenshot 2023-04-05 at 10.11.12",
    ],
    "alt-placeholder": [
        "image",
        "Photo",
        "img 3",
        "Alt text",
        "Figure 2.1",
        "TODO add text",
        "picture1",
        "...",
        "Abbildung 4",
        "Step 7",
        "day9",
        "Schritt 3",
        "étape 2",
        "Keyboard Photo 1",
        "sample image",
        "company logo",
        "datasheet",
        "Datenblatt",
        "esquema 2",
    ],
    "alt-image-of": [
        "Image of a blue bowl beside an old clock",
        "A picture showing two keys and one lamp",
        "Seven ladders picture",
        "Ein Bild von zwei Leitern",
        "Image d'une vieille horloge",
        "Imagen de una lámpara azul",
    ],
    "alt-keywords": [
        "ladders, red barn, clock, buy ladders, cheap ladders, farm tools, best ladders 2024",
        "Leiter, Leitern, Scheune, Uhr, Leitern kaufen, Werkzeug, Bauernhof",
    ],
    "alt-decorative": ["Decorative line", "Separator", "Trennlinie"],
    "alt-language": [
        "Eine alte Uhr steht neben der blauen Lampe auf dem Tisch",
        "Une vieille horloge est à côté de la lampe bleue sur une table dans le salon",
        "El reloj viejo está sobre una mesa con las lámparas azules de los vecinos",
        "Un vecchio orologio è sulla tavola con le lampade della nonna e gli specchi",
        "Старые часы стоят рядом с синей лампой",
        "青いランプの隣に古い時計がある",
    ],
}
SERIES = ["Prototype {}", "{}. Side view", "mixer{}", "Zusammenbau {}"]
HARMLESS_SERIES = [
    "Step {}: fold sheet {} of the dough in half",
    "Apollo 1{}",
    "Population in 190{}",
    "Day {} of the expedition: the camp at dusk",
    "Ground plan of the abbey, storey {}",
]
HARMLESS = [
    "Step 1: fold the dough in half",
    "Day 9 of the expedition: the camp at dusk",
    "The datasheet's pin table",
    "Apollo 11",
    "Soil sample 3",
    "Map of Lisbon in 1755",
    "Example of a dovetail joint",
    "Stepladder",
    "Seven ladders lean against a red barn door",
    "T-shirt",
    "Das Boot, a film by Wolfgang Petersen, on a cinema poster",
    "Imaging plates drying beside 3 photographers",
    "Bar chart: 2019, 12 %; 2020, 31 %; 2021, 8 %",
    "USB-C",
    "Logo of the Red Cross",
    "Pão de queijo and café com leite on a tray",
    "Photograph of two keys",
    "Flour, water, salt, yeast, sugar, oil, and a bowl",
    "Satellite image",
    "Decorative tiles",
]
FILLER = "Seven ladders lean against a red barn door while two keys hang beside an old blue clock"


Alts = dict[int, str | None]
"""Number of a picture to its text; None for none at all."""


def all_planted(pictures: list[Picture], good: list[Picture]) -> Iterator[tuple[str, Alts]]:
    """The faults that a document can get, each for itself: the rule, and the texts."""
    for picture in pictures:
        yield from ((rule, {picture.index: alt}) for rule, alt in planted(picture, good))
    for rule, texts in (("alt-series", SERIES), ("harmless", HARMLESS_SERIES)) if len(pictures) > 1 else ():
        for text in texts:
            yield rule, {picture.index: text.replace("{}", str(n)) for n, picture in enumerate(pictures, 1)}


def planted(picture: Picture, others: list[Picture]) -> Iterator[tuple[str, str | None]]:
    """The faults that a picture can get: the rule, and the text (None: none at all)."""
    yield "alt-missing", None
    if picture.caption:
        yield "alt-empty", ""
        for said in (picture.caption, picture.caption.upper(), f"{picture.caption.rstrip('.')}!"):
            if len(said.split()) > 1 and len(said) < 300:
                yield "alt-caption", said
        several = picture.caption.split()
        if len(several) >= 12 and len(picture.caption) < 300:
            yield "alt-caption", " ".join(several[:5] + several[6:])
    for sentence in dict.fromkeys(sentences(picture.beside)):
        if len(sentence.split()) >= 5 and len(sentence) < 300:
            yield "alt-sentence", sentence
            yield "alt-sentence", sentence.lower().rstrip(".!?")
    for other in others:
        if other.alt and other.sources != picture.sources:
            yield "alt-duplicate", other.alt
            break
    yield "alt-long", " and ".join([FILLER] * 12)
    for rule, texts in FAULTS.items():
        yield from ((rule, text) for text in texts)
    yield from (("harmless", text) for text in HARMLESS)


def with_alt(text: str, at: int, alt: str | None) -> str | None:
    """A document whose picture with its markup at ``at`` has another text; None where it cannot be put in."""
    rest = text[at:]
    if tag := re.match(r"<img\b[^<>]*>", rest, re.IGNORECASE):
        bare = re.sub(r"\salt=(?:\"[^\"]*\"|'[^']*'|[^\s>]*)", "", tag[0], flags=re.IGNORECASE)
        made = bare if alt is None else f'{bare[:4]} alt="{escape(alt)}"{bare[4:]}'
        return text[:at] + made + rest[tag.end() :]
    markup = re.match(r"!\[[^\[\]]*\]\(<?([^()\s<>]+)[^()]*\)", rest)
    if markup is None:
        return None
    said = re.sub(r"([\\`*_\[\]<>!$])", r"\\\1", alt or "").replace("\n", " ")
    made = f'<img src="{markup[1]}">' if alt is None else f"![{said}]({markup[1]})"
    return text[:at] + made + rest[markup.end() :]


def findings(path: Path) -> tuple[list[Picture], set[tuple[int, str]]]:
    """The pictures of a document, and what their alternative texts break."""
    checked = check_page(path, CheckSettings(rules=("alt",), large=10_000), ReadSettings())
    broken = {(each.index, found.rule) for each, found in checked.findings if isinstance(each, Picture)}
    return list(checked.page.pictures), broken


def measure(originals: list[Path], each: int) -> None:
    """Plant the faults and print the table."""
    planted_count, found_count, wrong = Counter[str](), Counter[str](), defaultdict[str, list[str]](list)
    alarms = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for path in originals:
            copy = Path(folder) / path.name
            text = decode_text(path, html=path.suffix == ".html")
            copy.write_text(text, encoding="utf-8", newline="")
            pictures, before = findings(copy)
            good = [p for p in pictures if p.alt and p.place.at is not None and p.index not in {i for i, _ in before}]
            for rule, alts in all_planted(good[:each], good):
                changed: str | None = text
                for index, alt in sorted(alts.items(), reverse=True):  # from the end, so that places stay right
                    changed = changed and with_alt(changed, pictures[index].place.at or 0, alt)
                if changed is None:
                    continue
                copy.write_text(changed, encoding="utf-8", newline="")
                after, broken = findings(copy)
                if len(after) != len(pictures):
                    continue
                planted_count[rule] += len(alts)
                right = {(index, rule) for index in alts}
                found_count[rule] += len(right & broken)
                if rule == "alt-duplicate":  # it is reported for the second one, whichever that is
                    others = {(index, other) for index, other in broken - before if other == rule}
                    found_count[rule] += bool(others - right and not right & broken)
                    right |= others
                for index, other in broken - before - right:
                    alarms[other] += 1
                    wrong[other].append(f"{path.name}: {rule} planted as {alts!r}: {index}, {other}")
    print(f"{'rule':12} {'planted':>8} {'found':>6} {'recall':>7} {'false':>6} {'precision':>10}")
    for rule in sorted({*planted_count, *alarms} - {"harmless"}):
        found, false = found_count[rule], alarms[rule]
        recall = f"{100 * found / planted_count[rule]:.1f}" if planted_count[rule] else "-"
        precision = f"{100 * found / (found + false):.1f}" if found + false else "-"
        print(f"{rule:12} {planted_count[rule]:8} {found:6} {recall:>7} {false:6} {precision:>10}")
    print(f"{'(harmless)':12} {planted_count['harmless']:8}")
    for lines in wrong.values():
        print(*lines[:8], sep="\n")


SUFFIXES = {row.name: row.suffixes[0] for row in FORMATS}
PANDOC = {"notebook": "ipynb", "markdown": "gfm"}
"""Names of formats to pandoc, where they differ."""


@dataclass(frozen=True)
class Figure:
    """A figure of a section: its place among the figures, the number in its caption, the paragraph before it, ..."""

    place: int
    number: int
    source: str
    caption: str
    alt: str
    after: int
    width: int | None = None


@dataclass(frozen=True)
class Section:
    """A section: paragraphs of sentences, each with the figures that it cites, by their places, and links to others."""

    paragraphs: tuple[tuple[tuple[str, tuple[int, ...]], ...], ...]
    figures: tuple[Figure, ...]
    target: Mapping[int, int] = field(default_factory=dict)

    def html(self) -> str:
        """The section as a web page."""
        parts = []
        for number in range(-1, len(self.paragraphs)):
            if number >= 0:
                parts.append(f"<p>{' '.join(starmap(self._sentence, self.paragraphs[number]))}</p>")
            for figure in self.figures:
                if figure.after == number:
                    width = f' width="{figure.width}"' if figure.width else ""
                    picture = f'<img src="{escape(figure.source)}" alt="{escape(figure.alt)}"{width}>'
                    caption = f"<figcaption>Figure {figure.number}: {escape(figure.caption)}</figcaption>"
                    parts.append(f'<figure id="fig-{figure.place}">{picture}{caption}</figure>')
        return "<html><body><h1>A section</h1>\n" + "\n".join(parts) + "</body></html>"

    def _sentence(self, text: str, cited: tuple[int, ...]) -> str:
        if not cited:
            return escape(text)
        links = (f'<a href="#fig-{self.target.get(place, place)}">Figure {place + 1}</a>' for place in cited)
        return f"{escape(text.rstrip('.'))} ({', '.join(links)})."


def section(row: dict[str, Any]) -> Section:
    """A row of the corpus, with the citations that were taken out of it."""
    cited: dict[int, list[int]] = defaultdict(list)
    for sentence, image in row["links"]:
        cited[sentence].append(image)
    blocks = sorted(set(row["blocks"]))
    paragraphs = tuple(
        tuple((text, tuple(cited[n])) for n, text in enumerate(row["sentences"]) if row["blocks"][n] == block)
        for block in blocks
    )
    figures = tuple(
        Figure(n, n + 1, Path(source).name, row["captions"][n] or "A figure", row["alts"][n] or "", after)
        for n, source in enumerate(row["images"])
        for after in [sum(row["blocks"].index(block) < row["positions"][n] for block in blocks) - 1]
    )
    return Section(paragraphs, figures)


def faults(whole: Section, big: str) -> Iterator[tuple[str, int, Section]]:
    """The faults that a section can get: the rule, the place of the figure, and the section with the fault."""
    cited = Counter(place for paragraph in whole.paragraphs for _, places in paragraph for place in places)
    for place, figure in enumerate(whole.figures):

        def changed(place: int = place, figure: Figure = figure, **values: Any) -> Section:
            figures = (*whole.figures[:place], replace(figure, **values), *whole.figures[place + 1 :])
            return replace(whole, figures=figures)

        other = (place + 1) % len(whole.figures)
        if cited[place] and len(cited) > 1:
            yield "figure-unmentioned", place, replace(whole, paragraphs=without(whole.paragraphs, place))
        if cited[place] and len(whole.figures) > 2:
            gone = changed(after=len(whole.paragraphs) + 9)  # which is not written
            yield "reference-missing", place, gone
        if other == place:
            continue
        if other > place:
            pair = whole.figures[other], figure
            swapped = [replace(new, after=old.after) for new, old in zip(pair, pair[::-1], strict=True)]
            figures = (*whole.figures[:place], *swapped, *whole.figures[other + 1 :])
            if figure.after != whole.figures[other].after:
                yield "figure-order", place, replace(whole, figures=figures)
        yield "figure-number", place, changed(number=whole.figures[other].number)
        away = [after for after in (-1, len(whole.paragraphs) - 1) if is_far(whole, place, after)]
        if cited[place] and away:
            yield "figure-far", place, changed(after=away[0])
        if cited[place]:
            yield "reference-other", place, replace(whole, target={place: other})
        if len(whole.figures[other].caption.split()) > 1:
            yield "caption-duplicate", place, changed(caption=whole.figures[other].caption)
        yield "file-missing", place, changed(source=f"new-{figure.source}")
        yield "file-large", place, changed(source=big, width=90)


def without(paragraphs: Any, place: int) -> Any:
    """Paragraphs without the citations of a figure."""
    return tuple(
        tuple((text, tuple(each for each in cited if each != place)) for text, cited in paragraph)
        for paragraph in paragraphs
    )


def is_far(whole: Section, place: int, after: int) -> bool:
    """Whether more than 600 words would lie between a figure and all its citations."""
    words = [sum(len(text.split()) for text, _ in paragraph) for paragraph in whole.paragraphs]
    citing = [n for n, paragraph in enumerate(whole.paragraphs) if any(place in cited for _, cited in paragraph)]
    return all(sum(words[n + 1 : after + 1] if n <= after else words[after + 1 : n]) > 600 for n in citing)


def found_in(path: Path, whole: Section) -> set[tuple[str, str]]:
    """Rule, and figure or reference, of each finding that is not about an alternative text."""
    checked = check_page(path, CheckSettings(skip=("alt",)), ReadSettings())
    shown = [str(f.place) for f in sorted(whole.figures, key=lambda f: f.after) if f.after < len(whole.paragraphs)]
    return {
        (finding.rule, shown[subject.index] if isinstance(subject, Picture) else subject.source)
        for subject, finding in checked.findings
    }


def measure_figures(folder: Path, big: Path, format_: str, documents: int) -> None:
    """Plant the faults and print the table."""
    rows = [json.loads(line) for line in (folder / "cited.jsonl").read_text(encoding="utf-8").splitlines()]
    planted_count, found_count, alarms = Counter[str](), Counter[str](), Counter[str]()
    random.Random(0).shuffle(rows)
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / f"a{SUFFIXES[format_]}"

        def check(whole: Section) -> set[tuple[str, str]]:
            page = Path(work) / "page.html"
            page.write_text(whole.html(), encoding="utf-8")
            if format_ != "html":
                options = [f"--resource-path={work}", "--standalone"]
                pypandoc.convert_file(str(page), PANDOC.get(format_, format_), "html", options, outputfile=str(path))
            return found_in(page if format_ == "html" else path, whole)

        shutil.copy(big, Path(work) / "big.jpg")
        for row in rows[:documents]:
            for source in row["images"]:
                shutil.copy(folder / source, work)
            whole = section(row)
            before = check(whole)
            several = list(faults(whole, "big.jpg"))
            random.Random(row["id"]).shuffle(several)
            for rule, place, faulty in {fault[0]: fault for fault in several}.values():  # one of each rule
                if rule.startswith("file-") and format_ not in ("html", "markdown"):
                    continue  # pandoc fails on such pictures, or writes no sizes
                new = check(faulty) - before
                own, pair = {str(place), f"Figure {place + 1}"}, {str((place + 1) % len(whole.figures))}
                hits = {each for each in new if each[0] == rule and each[1] in own | pair}
                planted_count[rule] += 1
                found_count[rule] += bool(hits)
                for name, source in new:
                    if source not in own | pair:
                        alarms[name] += 1
                        print(f"false alarm: {row['id']}, {rule} at Figure {place + 1}: {name} {source}")
                if not hits:
                    print(f"missed: {row['id']}, {rule} at Figure {place + 1}")
    for rule in sorted({*planted_count, *alarms}):
        low, high = proportion_confint(found_count[rule], planted_count[rule], method="wilson")
        share = f"{100 * found_count[rule] / max(planted_count[rule], 1):.1f} ({100 * low:.1f}–{100 * high:.1f})"
        print(f"| `{rule}` | {planted_count[rule]:,} | {found_count[rule]:,} | {share} | {alarms[rule]} |")


def timed(folder: Path) -> None:
    """The command as a whole, the best of five runs."""
    seconds, busy = [], []
    for _ in range(5):
        start, used = time.perf_counter(), os.times()
        subprocess.run(
            [sys.executable, "-m", "iconotext.check.standalone", str(folder)], capture_output=True, check=False
        )
        seconds.append(time.perf_counter() - start)
        now = os.times()
        busy.append(now.children_user + now.children_system - used.children_user - used.children_system)
    shown = f"{min(seconds):.2f} s, {min(busy):.2f} s of them at work on a processor"
    print(f"\nthe check of {folder.name}/ as a command: {shown} (best of 5 each)")


def main() -> None:
    """Measure and print."""
    parser = parser_with_data(__doc__)
    parser.add_argument("--each", type=int, default=3, help="pictures of each original that get faults")
    parser.add_argument("--format", choices=SUFFIXES, help="plant only the faults of figures, in this format")
    parser.add_argument("--documents", type=int, default=229, help="textbook sections that get faults")
    given = parser.parse_args()
    folder = given.data / "originals"
    big = max(folder.rglob("*.jpg"), key=lambda path: path.stat().st_size)
    measure_figures(given.data / "documents/textbook", big, given.format or "html", given.documents)
    if not given.format:
        measure([path for path in sorted(folder.rglob("*")) if path.suffix in (".md", ".html", ".qmd")], given.each)
        timed(folder)


if __name__ == "__main__":
    main()
