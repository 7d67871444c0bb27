"""Pictures directly below a heading: how many are linked within their own section, and what becomes of the others.

    python benchmarks/below_headings.py

Needs the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout). The documents: maker guides,
recipes and logs that mark their headings, nearly all of whose pictures stand below their text. Every fifth picture of a
section with text is moved to directly below the heading of its section, and then every second; the others stay. *Own
section*: the best sentence of a moved picture is in the section that it opens. *Right*: that of another picture is one
that the author's layout gives it. In brackets 95 % intervals from 2,000 resamplings of the documents.
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np
from silent_captions import ROOT, Figures, interval

from iconotext import Document, Linker, LinkSettings
from iconotext.corpus.store import read_corpus
from iconotext.types import Evidence, LinkedDocument

GENRES = ("build", "cooking", "garden_home")
KINDS: tuple[tuple[Evidence, ...], ...] = (("layout",), ("picture", "caption", "layout", "reference"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("ICONOTEXT_DATA", ROOT.parent / "shared" / "data"))
    folder = parser.parse_args().data / "documents"
    documents = [d for genre in GENRES for d in read_corpus(folder / genre / "documents.jsonl")]
    documents = [d for d in documents if any(s.heading for s in d.sentences)]
    print("| moved | evidence | moved pictures in their own section | other pictures right |\n|---|---|---|---|")
    for every in (5, 2):
        report(documents, every)


def report(documents: Sequence[Document], every: int) -> None:
    within = [(d, j, title) for d in documents for j, title in opening(d).items()]
    moved: dict[str, dict[int, int]] = {d.id: {} for d in documents}
    for document, image, title in within[every - 1 :: every]:
        moved[document.id][image] = title
    changed = [with_moved(d, moved[d.id]) for d in documents]
    for kinds in KINDS:
        linker = Linker.load("default", LinkSettings(evidence=kinds, relations="none", k=1, min_confidence=0.0))
        linked = [each for each in linker.link_all(changed) if isinstance(each, LinkedDocument)]
        own = [in_section(each, moved[each.document.id]) for each in linked]
        rest = [right(each, moved[each.document.id]) for each in linked]
        numbers = [sum(len(hits) for hits, _ in some) for some in (own, rest)]
        cells = [f"{interval(some)} of {number}" for some, number in zip((own, rest), numbers, strict=True)]
        print(f"| 1 in {every} | {', '.join(kinds)} | {' | '.join(cells)} |", flush=True)


def sections(document: Document) -> list[int]:
    """The number of headings up to each sentence."""
    return list(accumulate(int(sentence.heading) for sentence in document.sentences))


def opening(document: Document) -> dict[int, int]:
    """Image to the sentence that is the heading of its section, for every image of a section with text."""
    section, headings = sections(document), [i for i, s in enumerate(document.sentences) if s.heading]
    found = {}
    for j, image in enumerate(document.images):
        at = section[(image.position or 0) - 1] if image.position else 0
        text = [i for i, number in enumerate(section) if number == at and not document.sentences[i].heading]
        if at and text and image.problem is None:
            found[j] = headings[at - 1]
    return found


def with_moved(document: Document, moved: dict[int, int]) -> Document:
    images = [
        replace(image, position=moved[j] + 1, block=None) if j in moved else image
        for j, image in enumerate(document.images)
    ]
    return replace(document, images=tuple(images))


def best(linked: LinkedDocument) -> dict[int, int]:
    return {link.image: link.sentence for link in sorted(linked.links, key=lambda link: link.confidence)}


def in_section(linked: LinkedDocument, moved: dict[int, int]) -> Figures:
    section, found = sections(linked.document), best(linked)
    hits = [float(j in found and section[found[j]] == section[title]) for j, title in moved.items()]
    return np.array(hits), np.zeros(len(hits))


def right(linked: LinkedDocument, moved: dict[int, int]) -> Figures:
    gold: dict[int, set[int]] = defaultdict(set)
    for sentence, image in linked.document.links or ():
        if image not in moved:
            gold[image].add(sentence)
    found = best(linked)
    hits = [float(found.get(j) in sentences) for j, sentences in gold.items()]
    return np.array(hits), np.zeros(len(hits))


if __name__ == "__main__":
    main()
