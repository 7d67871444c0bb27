"""Is the sentence that cites a figure in its context, and in its chunk? Beside the simple rules of equal length.

    python benchmarks/context.py report     the tables of docs/results/records, context-*.json and chunks-*.json
    python benchmarks/context.py lost       links documents/*/*.jsonl, cuts them and counts images that are in no chunk

They need the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout); features are cached, then
``report`` takes three minutes, ``lost`` ten.

``report``: cited figures, the mark of the citation removed. Weights, matcher and the common shares of habits are fitted
without the class of the tested document (OpenStax, old books, modern guides), so without its publisher; habits are
learned from the tested documents themselves, without labels. *Inside*: a sentence that cites the figure is there as a
whole. In brackets 95 % intervals from 2,000 resamplings of the documents; differences are paired.

The rules beside it, of equal length:

- characters: as many characters as the context has, half of them before and half behind the place of the figure; what
  one side lacks, the other has;
- nearest sentences: whole sentences, the nearest first, until they fill the words;
- shared words: whole sentences, those that share most words with the caption first, the nearer one of equals.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from data_folder import parser_with_data
from numpy.typing import NDArray
from result_tables import share

from iconotext.corpus.store import read_corpus
from iconotext.evidence.kinds import DEFAULT_EVIDENCE
from iconotext.evidence.words import stems
from iconotext.excerpts import Chunk
from iconotext.linker import Linker
from iconotext.report.chunks import chunks
from iconotext.report.context import Excerpts, contexts, fitting
from iconotext.types import LinkedDocument

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fitting.cross_fitting import cross_fitted, link_sources, sources, text_encoder
from fitting.default_model import unseen_by
from fitting.evidence import looking_with

LENGTHS = (20, 40, 60, 80, 120, 160, 200, 250, 300)
CHUNKS = (100, 200, 300, 500)

Inside = list[NDArray[np.float64]]
"""For each document, of each of its cited figures: 1 where a sentence that cites it is inside."""


def main() -> None:
    parser = parser_with_data(__doc__)
    parser.add_argument("command", choices=["report", "lost"])
    parser.add_argument("--work", type=Path, default=Path("default-model"))
    arguments = parser.parse_args()
    folder = arguments.data / "documents"
    if arguments.command == "lost":
        return report_lost(folder)
    encode, looking = text_encoder(), looking_with(unseen_by("cited figures", arguments.data, arguments.work))
    seen = [
        s for name in ("cited/cited.jsonl", "textbook/cited.jsonl") for s in sources(folder / name, encode, looking)
    ]
    linked = link_sources(seen, encode, cross_fitted(seen, encode), DEFAULT_EVIDENCE)
    for title, is_openstax in (("other publishers", False), ("OpenStax", True)):
        own = [each for source, each in linked if (source.group == "openstax") == is_openstax]
        report_contexts(title, own)
        report_chunks(title, own)
    return None


def report_contexts(title: str, own: Sequence[LinkedDocument]) -> None:
    print(f"\n{title}: {figures(own)} figures in {len(own)} documents\n")
    names = ("context", "characters", "nearest sentences", "shared words")
    print(f"| words | {' | '.join(names)} | more than characters | than nearest | than shared |\n{'|---' * 8}|")
    for words in LENGTHS:
        columns: list[Inside] = [[] for _ in names]
        for linked in own:
            for column, values in zip(columns, inside(linked, words), strict=True):
                column.append(np.array(values, dtype=np.float64))
        cells = [interval(column) for column in columns]
        differences = [
            interval([a - b for a, b in zip(columns[0], other, strict=True)], sign="+") for other in columns[1:]
        ]
        print(f"| {words} | {' | '.join(cells + differences)} |", flush=True)


def inside(linked: LinkedDocument, words: int) -> list[list[bool]]:
    """Whether a citing sentence of each figure is in its context, and in what each rule gives."""
    document, excerpts = linked.document, Excerpts(linked)
    ends = np.cumsum([0, *(len(sentence.text) + 1 for sentence in document.sentences)])
    said = [set(stems(sentence.text)) for sentence in document.sentences]
    found: list[list[bool]] = [[], [], [], []]
    for context in contexts(linked, words):
        gold = {i for i, j in document.links or () if j == context.image}
        if not gold:
            continue
        image = document.images[context.image]
        position = image.position or 0
        nearest = sorted(excerpts.running.tolist(), key=lambda i: abs(i + 0.5 - position))
        caption = set(stems(image.caption or image.alt or ""))
        shared = sorted(nearest, key=lambda i: -len(caption & said[i]))
        length = sum(len(each.text) + 1 for each in context.sentences)
        low = float(np.clip(ends[position] - length / 2, 0, max(ends[-1] - length, 0)))
        found[0].append(bool(gold & {each.sentence for each in context.sentences}))
        found[1].append(any(low <= ends[i] and ends[i + 1] - 1 <= low + length for i in gold))
        found[2].append(bool(gold & set(fitting(nearest, excerpts.words, words))))
        found[3].append(bool(gold & set(fitting(shared, excerpts.words, words))))
    return found


def report_chunks(title: str, own: Sequence[LinkedDocument]) -> None:
    print(f"\n{title}: the chunk of a figure has a sentence that cites it\n")
    print("| words | chunks a document | one chunk | as shipped | in two | where it stands | shipped more than there |")
    print(f"{'|---' * 7}|")
    for words in CHUNKS:
        columns: list[Inside] = [[], [], [], []]
        count = 0
        for linked in own:
            cut = chunks(linked, words)
            count += len(cut)
            values = list(zip(*in_chunks(linked, cut), strict=True))
            for column, each in zip(columns, values or [()] * 4, strict=True):
                column.append(np.array(each, dtype=np.float64))
        difference = interval([a - b for a, b in zip(columns[1], columns[3], strict=True)], sign="+")
        print(f"| {words} | {count / len(own):.1f} | {' | '.join(map(interval, columns))} | {difference} |", flush=True)


def in_chunks(linked: LinkedDocument, cut: Sequence[Chunk]) -> Iterator[tuple[bool, bool, bool, bool]]:
    """Of each figure: in its surest chunk, in any of its chunks; whether it has two; in the chunk where it stands."""
    document = linked.document
    for j, image in enumerate(document.images):
        gold = {i for i, other in document.links or () if other == j}
        if gold:
            homes = [
                (each.paragraph_confidence or 0.0, chunk) for chunk in cut for each in chunk.images if each.image == j
            ]
            first = max(homes, key=lambda home: home[0])[1]
            stands = max((image.position or 0) - 1, 0)
            there = next(chunk for chunk in cut if chunk.first <= stands <= chunk.last)
            hits = [any(chunk.first <= i <= chunk.last for i in gold) for chunk in (first, there)]
            either = any(chunk.first <= i <= chunk.last for i in gold for _, chunk in homes)
            yield hits[0], either, len(homes) == 2, hits[1]


def figures(own: Sequence[LinkedDocument]) -> int:
    return sum(len({j for _, j in each.document.links or ()}) for each in own)


def interval(column: Inside, sign: str = "") -> str:
    figure = share(column, lambda each: (each.sum(), len(each)))
    return "{:{s}.1f} ({:{s}.1f} to {:{s}.1f})".format(figure["value"], *figure["interval"], s=sign)


def report_lost(folder: Path) -> None:
    linker = Linker.load()
    documents = images = cut = twice = lost = 0
    for file in sorted(folder.glob("*/*.jsonl")):
        for linked in linker.link_all(read_corpus(file)):
            if not isinstance(linked, LinkedDocument):
                raise SystemExit(f"{linked.path}: {linked.error}")
            found = chunks(linked)
            homes = [each.image for chunk in found for each in chunk.images]
            documents, images, cut = documents + 1, images + len(linked.document.images), cut + len(found)
            lost += len(linked.document.images) - len(set(homes))
            twice += len(homes) - len(set(homes))
        counts = f"{documents} documents, {images} images, {cut} chunks, {twice} images twice, {lost} lost"
        print(f"{file.relative_to(folder)}: so far {counts}", flush=True)


if __name__ == "__main__":
    main()
