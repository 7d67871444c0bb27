"""Whether explanations name what carries a link: what happens when just that is taken away.

    python benchmarks/explanation.py             the tables below

It needs the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout): 200 official validation
photographs of Flickr8k with their first caption, as documents of ten. For each caption and its photograph it prints how
far the similarity falls

1. without the third of the words that have the largest weights, and without as many words drawn at random;
2. with the quarter of the cells covered that have the largest weights, and with as many drawn at random, for windows of
   one, two and three cells a side; and how much more the cells found by one window carry than those by another.

Random parts are drawn five times. The differences are paired, with 95 % intervals from 2,000 resamplings of the
photographs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from data_folder import parser_with_data
from numpy.typing import NDArray

from iconotext.corpus.builders.photos import Photo, read_photos
from iconotext.encoders.encoder import EncodedDocument
from iconotext.evaluate.statistics import bootstrap_intervals
from iconotext.evidence.occlusion import Coverable, explain_links, trials
from iconotext.evidence.words import without
from iconotext.linker import Linker, LinkSettings
from iconotext.types import Document, Image, Link, Sentence

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

PHOTOGRAPHS = 200
TOGETHER = 10
DRAWS = 5
WINDOWS = (1, 2, 3)
WORDS, CELLS = 1 / 3, 1 / 4


@dataclass(frozen=True, slots=True)
class Fall:
    """How far one similarity falls without the parts of most weight, and without as many others."""

    best: float
    random: float


def main() -> None:
    parser = parser_with_data(__doc__)
    parser.add_argument("--photographs", type=int, default=PHOTOGRAPHS)
    arguments = parser.parse_args()
    photos = read_photos(arguments.data / "captions" / "flickr8k" / "captions.jsonl")
    documents = in_documents([photo for photo in photos if photo.split == "validation"][: arguments.photographs])
    print("| model | without | similarity | fall, best parts | fall, random parts | difference | larger in |")
    print("|---|---|---|---|---|---|---|")
    for model in ("default", "no-training"):
        report(model, documents)


def in_documents(photos: Sequence[Photo]) -> list[Document]:
    groups = [photos[start : start + TOGETHER] for start in range(0, len(photos), TOGETHER)]
    return [
        Document(
            f"{number}",
            tuple(Sentence(photo.captions[0]) for photo in group),
            tuple(Image(photo.file.name, photo.file) for photo in group),
        )
        for number, group in enumerate(groups)
    ]


def report(model: str, documents: Sequence[Document]) -> None:
    linker = Linker.load(model, LinkSettings(evidence=("picture",)))
    falls: dict[str, list[Fall]] = {}
    similarities: list[float] = []
    for number, document in enumerate(documents):
        measure(linker, document, np.random.default_rng(number), falls, similarities)
    for name, found in falls.items():
        best, random = (np.array([getattr(fall, side) for fall in found]) for side in ("best", "random"))
        low, high = bootstrap_intervals((best - random)[:, None], np.ones((len(best), 1)))[0]
        print(
            f"| {model} | {name} | {np.mean(similarities):.3f} | {best.mean():+.3f} | {random.mean():+.3f} "
            f"| {(best - random).mean():+.3f} ({low:+.3f} to {high:+.3f}) | {(best > random).mean():.0%} |",
            flush=True,
        )
    report_windows(model, falls)


def report_windows(model: str, falls: dict[str, list[Fall]]) -> None:
    """How much more the best cells by one window carry than those by another, of the same photographs."""
    by_window = {window: np.array([fall.best for fall in falls[cells_name(window)]]) for window in WINDOWS}
    for one, two in ((2, 1), (2, 3)):
        more = by_window[one] - by_window[two]
        low, high = bootstrap_intervals(more[:, None], np.ones((len(more), 1)))[0]
        print(f"| {model} | window {one} against {two} | | | | {more.mean():+.3f} ({low:+.3f} to {high:+.3f}) | |")


def cells_name(window: int) -> str:
    return f"a quarter of the cells, window {window} × {window}"


def measure(
    linker: Linker,
    document: Document,
    rng: np.random.Generator,
    falls: dict[str, list[Fall]],
    similarities: list[float],
) -> None:
    """The falls of each caption with its own photograph, added to ``falls`` by what was taken away."""
    encoded = linker.encoder.read(document)
    texts = [sentence.text for sentence in document.sentences]
    vectors, sentences = encoded.images(), encoded.sentences(texts, range(len(texts)))
    similarities += (sentences * vectors).sum(axis=1).tolist()
    links = [Link(n, n, 0.0, 0.0, 0.0, {}) for n in encoded.image_features.numbers]
    for window in WINDOWS:
        covered = [coverable(encoded, n, window) for n in range(len(document.images))]
        explained = explain_links(links, texts, dict(enumerate(vectors)), encoded.sentences, covered.__getitem__)
        for n, explanation in enumerate(explained):
            if window == WINDOWS[0]:
                spans = [(begin, end) for begin, end, _ in explanation.words]
                chosen = parts([weight for *_, weight in explanation.words], WORDS, rng)
                changed = [without(texts[n], [spans[i] for i in np.flatnonzero(row)]) for row in chosen]
                scores = encoded.sentences([texts[n], *changed], [n] * (1 + len(changed))) @ vectors[n]
                falls.setdefault("a third of the words", []).append(fall(scores))
            chosen = parts([weight for *_, weight in explanation.regions], CELLS, np.random.default_rng(n))
            scores = covered[n].vectors(np.vstack([np.zeros_like(chosen[:1]), chosen])) @ sentences[n]
            falls.setdefault(cells_name(window), []).append(fall(scores))


def coverable(encoded: EncodedDocument, image: int, window: int) -> Coverable:
    parts = encoded.parts(image)
    assert parts is not None
    return Coverable(
        parts.boxes, trials(parts.boxes, window=window), lambda left_out: encoded.images(parts.without(left_out))
    )


def parts(weights: Sequence[float], share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(1 + draws, parts): the parts of most weight, then as many at random."""
    count = max(1, round(share * len(weights)))
    chosen = np.zeros((1 + DRAWS, len(weights)), np.bool_)
    chosen[0, np.argsort(-np.asarray(weights), kind="stable")[:count]] = True
    for row in chosen[1:]:
        row[rng.choice(len(weights), count, replace=False)] = True
    return chosen


def fall(scores: FloatMatrix) -> Fall:
    """From the similarities of the whole, without the best, and without random parts."""
    return Fall(float(scores[0] - scores[1]), float((scores[0] - scores[2:]).mean()))


if __name__ == "__main__":
    main()
