"""How well pictures are placed in a translation of their page: ``python benchmarks/place.py translations``.

The pages: one textbook in Portuguese, Korean and Vietnamese (documents/languages), by name; nothing was fitted on it.
A page is linked alone, as ``iconotext place`` does it, by the weights that ship, and its pictures are placed in the
same page in another language, which has no pictures: those that both pages show and the other page cites. Headings and
marks of citations are gone in the data. Each text is also given the pictures of another page, drawn at random, which
belong nowhere (*foreign*). Right is the sentence that cites the picture in the other language; a section is five
paragraphs. Intervals: 95 %, from 2,000 resamplings of the pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from fitting.evidence import note
from fitting.rewritten import Rewritten, origins
from numpy.typing import NDArray
from result_tables import Figure, Table

from iconotext import Document, Linker, LinkSettings
from iconotext.corpus.store import read_corpus
from iconotext.decide.combine import combine, paragraph_confidence
from iconotext.place.parallel import PARALLEL, aligned, in_parallel
from iconotext.place.pictures import from_elsewhere
from iconotext.place.settings import EVIDENCE, MIN_CONFIDENCE
from iconotext.place.text import joined
from iconotext.types import Evidence, LinkedDocument
from place import MEASURES, Placed, cells

FloatMatrix = NDArray[np.float32]
LANGUAGES = {"ko": "Korean", "pt": "Portuguese", "vi": "Vietnamese"}
BY_DIRECTION = ("same relative position", "`place --parallel`")


class Translation(NamedTuple):
    """A page, with the pictures that its translation cites, and its translation without pictures.

    Attributes:
        page: Linked.
        columns: The numbers of its pictures that count.
        other: Another page of the same book, linked.
        gold: Where the pictures belong in ``text``.
    """

    page: LinkedDocument
    columns: tuple[int, ...]
    other: LinkedDocument
    text: Document
    gold: Rewritten


Method = Callable[[Translation, LinkedDocument], "tuple[FloatMatrix, NDArray[np.float64]]"]
"""A translation and the page that pictures come from, its own or another one, to (S, V) scores and (V,) confidences."""


def translation_tables(folder: Path, most: int | None = None) -> Iterator[Table]:
    """Yield a table for all directions together, and one by direction; at most some pages of each language."""
    methods = methods_of(Linker.load("default", LinkSettings(relations="none")))
    pages = {code: pages_of(folder / f"{code}.jsonl", code, most) for code in LANGUAGES}
    everything: dict[str, list[Placed]] = {name: [] for name in methods}
    by_direction: dict[str, dict[str, Figure]] = {}
    for source, target in permutations(LANGUAGES, 2):
        note(f"from {LANGUAGES[source]} to {LANGUAGES[target]}")
        translations = list(translations_of(pages[source], pages[target]))
        figures = by_direction.setdefault(f"{LANGUAGES[source]} to {LANGUAGES[target]}", {})
        for name, (method, least) in methods.items():
            results = [test(each, method, least) for each in translations]
            everything[name] += results
            if name in BY_DIRECTION:
                found = cells(results)
                figures[f"{name}: right sentence"] = found["right sentence"]
                figures[f"{name}: right paragraph"] = found["right paragraph"]
                if name == BY_DIRECTION[-1]:
                    figures["in a wrong section"] = found["of these in a wrong section"]
    first = next(iter(everything.values()))
    size = f"{len(first)} texts, {sum(len(each.placed) for each in first)} pictures"
    rows = {name: cells(found) for name, found in everything.items()}
    yield Table("place-translations", f"Translations ({size})", rows)
    yield Table("place-translations-by-direction", "By direction", by_direction)


def pages_of(path: Path, language: str, most: int | None) -> dict[str, LinkedDocument]:
    """The linked pages of a language, by the name that a page has in all languages."""
    settings = LinkSettings(relations="none", k=1, min_confidence=0.0)
    linker = Linker.load("default", settings)
    documents = [replace(document, language=language) for document in read_corpus(path)][:most]
    note(f"linking {len(documents)} pages in {language}")
    return {document.id.partition("/")[2].removesuffix("_vn"): linker.link(document) for document in documents}


def translations_of(pages: Mapping[str, LinkedDocument], texts: Mapping[str, LinkedDocument]) -> Iterator[Translation]:
    names = sorted(pages)
    for number, name in enumerate(names):
        if name not in texts or len(names) < 2:
            continue
        page, text = pages[name], texts[name].document
        where = origins(0, text)
        cited: dict[str, set[int]] = {}
        for sentence, image in text.links or ():
            cited.setdefault(file_name(text, image), set()).add(sentence)
        columns = tuple(j for j in range(len(page.document.images)) if file_name(page.document, j) in cited)
        if columns:
            gold = tuple(frozenset(where[i] for i in cited[file_name(page.document, j)]) for j in columns)
            bare = replace(text, images=(), links=None)
            drawn = int(np.random.default_rng(number).integers(len(names) - 1))
            other = pages[names[drawn + (drawn >= number)]]
            yield Translation(page, columns, other, bare, Rewritten(bare, tuple(where), gold, ()))


def file_name(document: Document, image: int) -> str:
    return document.images[image].source.rpartition("/")[2]


def test(translation: Translation, method: Method, least: float) -> Placed:
    """What becomes of each picture at its best sentence, if it is placed where its confidence is at least ``least``."""
    scores, confidence = method(translation, translation.page)
    columns = list(translation.columns)
    placed = confidence[columns] >= least
    best, rows = scores[:, columns].argmax(axis=0), np.arange(len(columns))
    belongs = {name: translation.gold.right(part) for name, part in MEASURES.items()}
    foreign = method(translation, translation.other)[1]
    return Placed(
        placed,
        {name: np.asarray(matrix.any(axis=0)) for name, matrix in belongs.items()},
        {name: np.logical_and(matrix[best, rows], placed) for name, matrix in belongs.items()},
        (len(foreign), int((foreign >= least).sum())),
    )


def methods_of(linker: Linker) -> dict[str, tuple[Method, float]]:
    """The methods by name, each with the smallest confidence of a placed picture."""

    def weighed(*kinds: Evidence) -> Method:
        own = Linker(linker.encoder, linker.settings.model_copy(update={"evidence": kinds}))

        def method(translation: Translation, page: LinkedDocument) -> tuple[FloatMatrix, NDArray[np.float64]]:
            images = [replace(image, problem=None) for image in from_elsewhere(page, probable=True)]
            evidence = own.gather(replace(joined(translation.text, ()), images=tuple(images)))
            (found,) = combine([evidence])
            confidence, paragraph = np.zeros((2, len(translation.text.sentences), len(images)), np.float32)
            confidence[:, evidence.numbers], paragraph[:, evidence.numbers] = found.confidence, found.paragraph
            best = confidence.argmax(axis=0)
            return confidence, paragraph[best, np.arange(len(best))].astype(np.float64)

        return method

    shared = Linker(linker.encoder, linker.settings.model_copy(update={"evidence": ("caption",)}))

    def rare_words(translation: Translation, page: LinkedDocument) -> tuple[FloatMatrix, NDArray[np.float64]]:
        images = tuple(replace(image, context=(), problem=None) for image in from_elsewhere(page))
        features = shared.gather(replace(translation.text, images=images)).features.get("caption", {})
        shape = (len(translation.text.sentences), len(images))
        values = features.get("caption.both", np.zeros(shape, np.float32))
        return values, (values.max(axis=0) > 0).astype(np.float64)

    return {
        "at the end": (at_the_end, 0.0),
        "shared rare words of the caption": (rare_words, 0.5),
        "same relative position": (same_position, 0.0),
        "`place`, captions alone": (weighed("caption"), MIN_CONFIDENCE),
        "`place`": (weighed(*EVIDENCE), MIN_CONFIDENCE),
        "`place`, all pictures": (weighed(*EVIDENCE), 0.0),
        "`place --parallel`": (parallel, MIN_CONFIDENCE),
        "`place --parallel`, all pictures": (parallel, 0.0),
        "`place --parallel`, at least 0.6": (parallel, 0.6),
    }


def at_the_end(translation: Translation, page: LinkedDocument) -> tuple[FloatMatrix, NDArray[np.float64]]:
    rows, images = len(translation.text.sentences), len(page.document.images)
    return np.tile(np.arange(rows, dtype=np.float32)[:, None], (1, images)), np.ones(images)


def same_position(translation: Translation, page: LinkedDocument) -> tuple[FloatMatrix, NDArray[np.float64]]:
    """The sentence that ends after as large a share of the text as stands before the picture on its page."""
    before, ends = (
        np.cumsum([0, *(len(sentence.text) + 1 for sentence in document.sentences)], dtype=np.float64)
        for document in (page.document, translation.text)
    )
    shares = [before[image.position or 0] / before[-1] for image in page.document.images]
    rows = np.minimum(np.searchsorted(ends[1:] / ends[-1], np.array(shares) - 1e-9), len(ends) - 2)
    scores = np.zeros((len(ends) - 1, len(rows)), np.float32)
    scores[rows, np.arange(len(rows))] = 1
    return scores, np.ones(len(rows))


def parallel(translation: Translation, page: LinkedDocument) -> tuple[FloatMatrix, NDArray[np.float64]]:
    scores = in_parallel(translation.text, [page]).similarity
    cost = aligned(*([s.text for s in document.sentences] for document in (page.document, translation.text))).cost
    confidence = of_paragraph(translation.text, scores)
    return scores, confidence if cost <= PARALLEL else np.full(len(confidence), -1.0)


def of_paragraph(text: Document, confidence: FloatMatrix) -> NDArray[np.float64]:
    """(V,) the confidence of the paragraph of each picture's best sentence."""
    blocks = np.array([sentence.block for sentence in text.sentences])
    same = blocks[:, None] == blocks[confidence.argmax(axis=0)]
    return np.asarray(paragraph_confidence((confidence * same).sum(axis=0).clip(max=1)), np.float64)
