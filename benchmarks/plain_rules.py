"""What a person would do otherwise, on documents of which nothing was fitted: the table in README.

    python benchmarks/plain_rules.py

Needs the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout). The documents: cited figures
of a textbook in Portuguese, Korean and Vietnamese, the marks of the citations removed. For each figure one sentence:
the last one before it; the one that shares most words with its caption, rare words counting more (by the sentences of
the document; the nearest one where several share as much); and the surest one of iconotext as it ships, all documents
of a language together. In percent, in brackets 95 % intervals from 2,000 resamplings of the documents, and figures.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from data_folder import parser_with_data

from iconotext import Document, Image, LinkedDocument, Linker, LinkSettings
from iconotext.corpus.store import read_corpus
from iconotext.evaluate.statistics import bootstrap_intervals

LANGUAGES = {"Portuguese": "pt", "Korean": "ko", "Vietnamese": "vi"}
WORD = re.compile(r"\w+")


def main() -> None:
    folder = parser_with_data(__doc__).parse_args().data / "documents" / "languages"
    linker = Linker.load(settings=LinkSettings(k=1, min_confidence=0.0, relations="none"))
    hits: dict[str, list[list[bool]]] = defaultdict(list)
    for name, code in LANGUAGES.items():
        documents = list(read_corpus(folder / f"{code}.jsonl"))
        for document in documents:
            hits["nearest sentence"].append(right(document, partial(nearest, document)))
            hits["shared rare words"].append(right(document, by_words(document)))
        for linked in linker.link_all(documents):
            if not isinstance(linked, LinkedDocument):
                raise SystemExit(f"{linked.path}: {linked.error}")
            best = {link.image: link.sentence for link in reversed(linked.links)}
            hits["iconotext"].append(right(linked.document, best.get))
        print(name, {rule: shares(found[-len(documents) :]) for rule, found in hits.items()}, flush=True)
    print("together", {rule: shares(found) for rule, found in hits.items()})


def right(document: Document, rule: Callable[[int], int | None]) -> list[bool]:
    """For each cited figure, whether a sentence that cites it is chosen."""
    gold: dict[int, set[int]] = defaultdict(set)
    for sentence, image in document.links or ():
        gold[image].add(sentence)
    return [rule(image) in sentences for image, sentences in gold.items()]


def nearest(document: Document, image: int) -> int:
    return max((document.images[image].position or 0) - 1, 0)


def by_words(document: Document) -> Callable[[int], int]:
    texts = [words(sentence.text) for sentence in document.sentences]
    holders = Counter(word for text in texts for word in text)
    rare = {word: math.log(1 + len(texts) / count) for word, count in holders.items()}

    def rule(number: int) -> int:
        image = document.images[number]
        caption, near = words(spoken(image)), nearest(document, number)
        return max(range(len(texts)), key=lambda s: (sum(rare[w] for w in texts[s] & caption), -abs(s - near)))

    return rule


def spoken(image: Image) -> str:
    return image.caption or image.alt or ""


def words(text: str) -> set[str]:
    return set(WORD.findall(text.lower()))


def shares(found: Sequence[Sequence[bool]]) -> str:
    counts = np.array([[sum(each), len(each)] for each in found], float)
    low, high = bootstrap_intervals(counts[:, :1], counts[:, 1:])[0]
    hits, cited = counts.sum(axis=0)
    return f"{100 * hits / cited:.1f} ({100 * low:.1f}–{100 * high:.1f}), {cited:.0f}"


if __name__ == "__main__":
    main()
