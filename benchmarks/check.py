"""How well ``iconotext check`` finds planted faults, and how long it takes.

    python benchmarks/check.py --data DATA

Alternative texts: in copies of the original Markdown and HTML documents, one picture at a time gets a fault: each
rule's in several variants; those of ``alt-series`` go to all of a document's pictures that are used. Only pictures of
which no rule complains in the original are used. Found: the picture breaks that rule then. A false alarm: any other
rule that it breaks then, or any new finding elsewhere in the document. ``harmless`` plants texts that are good though
they are like faults: all that is found there is a false alarm.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from html import escape
from pathlib import Path

from iconotext.check.audit import check_page
from iconotext.check.language import sentences
from iconotext.check.page import Picture
from iconotext.check.rules import CheckSettings
from iconotext.read import ReadSettings
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
        "photo of seven ladders",
        "Ein Foto von zwei Leitern",
        "Image d'une vieille horloge",
        "Fotografía de una lámpara azul",
    ],
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
    yield "alt-long", " and ".join([FILLER] * 5)
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
    page, broken = check_page(path, CheckSettings(rules=("alt",), large=10_000), ReadSettings())
    return list(page.pictures), {(each.index, found.rule) for each, found in broken if isinstance(each, Picture)}


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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("ICONOTEXT_DATA"), help="the folder with originals/"
    )
    parser.add_argument("--each", type=int, default=3, help="pictures of each document that get faults")
    given = parser.parse_args()
    folder = given.data / "originals"
    originals = [path for path in sorted(folder.rglob("*")) if path.suffix in (".md", ".html", ".qmd")]
    measure(originals, given.each)
    timed(folder)


if __name__ == "__main__":
    main()
