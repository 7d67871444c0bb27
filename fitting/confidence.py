"""How often links at or above a confidence are right, sentence and paragraph, on publishers left out of the fit.

    python -m fitting confidence         prints the tables, and writes src/iconotext/decide/confidence.json

Needs the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout). Features are cached; the first
run encodes some 200,000 texts.

The documents: cited figures of guides and old books (documents/cited), of OpenStax books (documents/textbook,
documents/cited_text), and of one book in three languages (documents/languages). The marks of the citations are removed.
A publisher is all documents of a generator, an OpenStax book, or a language. Each is linked in one run, by the program
itself, with weights, matcher and common habits that were fitted without its whole class: OpenStax, old books, modern
guides. Nothing is fitted on the languages, so they are linked by what ships. OpenStax is linked without pictures, since
the default model learned from its captions.

Figures count, not links: each figure that a sentence cites has one best link. *Kept* is the share of the figures whose
link has at least the confidence, of the sentence or of its paragraph; *sentence* the share of these whose sentence
cites the figure, *paragraph* the share where a sentence of the same block does. The publishers that have ``LEAST``
figures count alike, whatever their size. The range is that of the publishers that keep ``LEAST``; the 95 % intervals
come from 500 resamplings of publishers and of their documents. ECE: calibration error over ten bins; *before*: of the
probabilities as the softmax gives them; *debiased*: less what chance alone gives where the confidences are right, since
a bin of few figures never has quite the expected share. A class together also has the errors with ``combine.OVERRATED``
or ``combine.UNDERRATED`` as it would be fitted without this class, by the likelihood, with the other classes counting
alike. Above 0.25 and 0.15 is not tried.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from fitting import PACKAGE
from fitting.cross_fitting import Learned, Source, cross_fitted, group
from fitting.evidence import looking_with, with_vectors
from iconotext import Linker, LinkSettings
from iconotext.corpus.store import read_corpus
from iconotext.decide import combine
from iconotext.evidence import caption, habit
from iconotext.features.model_folder import shipped_folder
from iconotext.system.files import write_text
from iconotext.types import Document, Evidence, LinkedDocument

TARGET = PACKAGE / "decide" / "confidence.json"
FILES = ("cited/cited.jsonl", "textbook/cited.jsonl", "cited_text/openstax.jsonl")
LANGUAGES = {"Korean": "ko", "Portuguese": "pt", "Vietnamese": "vi"}
THRESHOLDS = tuple(round(0.1 * n, 1) for n in range(1, 10))
LEAST = 20
RESAMPLINGS = 500
ALL: tuple[Evidence, ...] = ("picture", "caption", "layout", "reference")
BLIND: tuple[Evidence, ...] = ("caption", "layout", "reference")


class Claim(NamedTuple):
    """Stated probabilities, (n,), and 1 for each that came true, else 0."""

    stated: NDArray[np.float64]
    right: NDArray[np.float64]


class Figures(NamedTuple):
    """The cited figures of a publisher, with their best links.

    Attributes:
        group: Its class; "" for a language.
        document: (n,) number of the document.
        confidence: (n,) of the best link.
        paragraph_confidence: (n,) of the best link.
        sentence: (n,) 1 where its sentence cites the figure, else 0.
        paragraph: (n,) 1 where a sentence of its block does, else 0.
    """

    group: str
    document: NDArray[np.int64]
    confidence: NDArray[np.float64]
    paragraph_confidence: NDArray[np.float64]
    sentence: NDArray[np.float64]
    paragraph: NDArray[np.float64]

    def claim(self, of: str) -> Claim:
        """What is stated of the ``sentence`` or the ``paragraph`` of each best link, and whether it is right."""
        if of == "sentence":
            return Claim(self.confidence, self.sentence)
        return Claim(self.paragraph_confidence, self.paragraph)


def make(data: Path, work: Path) -> dict[str, Any]:
    """Print the tables, and write the shares of right links above each confidence."""
    folder = data / "documents"
    return report({name: figures_of(linked, left) for name, left, linked in linked_publishers(folder)})


def publisher(document: Document) -> str:
    return str(document.meta.get("generator") or document.meta["collection"])


@contextmanager
def linking_by(learned: Learned) -> Iterator[None]:
    """Let the program link by other weights than those in the package."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(combine, "load_coefficients", lambda: learned.coefficients))
        stack.enter_context(patch.object(caption, "load_matcher", lambda: learned.matcher))
        stack.enter_context(patch.object(habit, "common_shares", lambda: learned.common))
        yield


def linked_publishers(folder: Path) -> Iterator[tuple[str, str, list[LinkedDocument]]]:
    """Each publisher with its class and documents, each image linked to its best sentence."""
    documents = [as_seen(document) for name in FILES for document in read_corpus(folder / name)]
    cited, encode = with_vectors(documents, looking_with(shipped_folder("default")))
    classes: dict[str, dict[str, list[Document]]] = defaultdict(lambda: defaultdict(list))
    for c in cited:
        classes[group(c.document)][publisher(c.document)].append(c.document)
    sources = [Source(group(c.document), c.collection, c) for c in cited]
    for left, learned in cross_fitted(sources, encode).items():
        with linking_by(learned):
            for name, own in sorted(classes[left].items()):
                yield name, left, link(own, BLIND if left == "openstax" else ALL)
    for name, code in LANGUAGES.items():
        yield name, "", link(list(read_corpus(folder / "languages" / f"{code}.jsonl")), ALL)


def as_seen(document: Document) -> Document:
    """Without its pictures if it is of OpenStax."""
    images = (replace(image, file=None) for image in document.images)
    return replace(document, images=tuple(images)) if group(document) == "openstax" else document


def link(documents: Sequence[Document], evidence: tuple[Evidence, ...]) -> list[LinkedDocument]:
    settings = LinkSettings(evidence=evidence, relations="none", k=1, min_confidence=0.0)
    linked = Linker.load("default", settings).link_all(documents)
    return [each for each in linked if isinstance(each, LinkedDocument)]


def figures_of(linked: Sequence[LinkedDocument], name: str) -> Figures:
    """The figures of a publisher of a class."""
    rows = []
    for number, each in enumerate(linked):
        gold: dict[int, set[int]] = defaultdict(set)
        for sentence, image in each.document.links or ():
            gold[image].add(sentence)
        blocks = [sentence.block for sentence in each.document.sentences]
        for best in each.links:
            if right := gold.get(best.image):
                block = blocks[best.sentence]
                beside = best.sentence in right or (block is not None and block in {blocks[i] for i in right})
                rows.append((number, best.confidence, best.paragraph_confidence, best.sentence in right, beside))
    document, *others = np.array(rows, np.float64).T
    return Figures(name, document.astype(np.int64), *others)


def shares(publishers: Sequence[Figures], threshold: float, of: str) -> NDArray[np.float64]:
    """Share of the figures kept, and of these with the right sentence and paragraph; publishers count alike."""
    sums = np.zeros(3)
    for f in publishers:
        kept = f.claim(of).stated >= threshold
        sums += [kept.mean(), (kept * f.sentence).mean(), (kept * f.paragraph).mean()]
    return np.array([sums[0] / len(publishers), *(sums[1:] / max(sums[0], 1e-12))])


def resampled(publishers: Sequence[Figures], rng: np.random.Generator) -> list[Figures]:
    """As many publishers, drawn with replacement, each with as many documents, drawn likewise."""
    drawn = []
    for f in (publishers[n] for n in rng.integers(len(publishers), size=len(publishers))):
        documents = np.unique(f.document)
        rows = [np.flatnonzero(f.document == n) for n in rng.choice(documents, len(documents))]
        drawn.append(Figures(f.group, *(column[np.concatenate(rows)] for column in f[1:])))
    return drawn


def calibration_error(claim: Claim, *, debiased: bool = False) -> float:
    """0 to 1, over ten bins of the stated probability."""
    stated, right = claim
    bins = np.minimum((stated * 10).astype(np.int64), 9)
    error = 0.0
    for own in (bins == number for number in np.unique(bins)):
        gap = abs(right[own].mean() - stated[own].mean())
        spread = np.sqrt((stated[own] * (1 - stated[own])).sum()) / own.sum()
        error += own.mean() * (max(gap - spread * np.sqrt(2 / np.pi), 0.0) if debiased else gap)
    return float(error)


def row(
    publishers: Sequence[Figures], drawn: Sequence[Sequence[Figures]], threshold: float, of: str = "sentence"
) -> dict[str, Any] | None:
    """The line of ``confidence.json`` for one confidence; None where fewer than two publishers keep ``LEAST``."""
    kept, sentence, paragraph = shares(publishers, threshold, of)
    large = [f for f in publishers if (f.claim(of).stated >= threshold).sum() >= LEAST]
    if len(large) < 2:
        return None
    single = np.array([shares([f], threshold, of) for f in large]).reshape(-1, 3)
    interval = np.quantile([shares(some, threshold, of) for some in drawn], [0.025, 0.975], axis=0)

    def ends(values: NDArray[np.float64]) -> list[float]:
        return [round(float(values.min()), 3), round(float(values.max()), 3)]

    return {
        "at_least": threshold,
        "kept": round(float(kept), 3),
        "sentence": round(float(sentence), 3),
        "sentence_range": ends(single[:, 1]),
        "sentence_interval": ends(interval[:, 1]),
        "paragraph": round(float(paragraph), 3),
        "paragraph_range": ends(single[:, 2]),
        "paragraph_interval": ends(interval[:, 2]),
        "publishers": len(large),
    }


def report(publishers: Mapping[str, Figures]) -> dict[str, Any]:
    large = {name: f for name, f in publishers.items() if len(f.document) >= LEAST}
    rng = np.random.default_rng(0)
    drawn = [resampled(list(large.values()), rng) for _ in range(RESAMPLINGS)]
    lines, rows = {}, {}
    for of in CORRECTIONS:
        found = (row(list(large.values()), drawn, threshold, of) for threshold in THRESHOLDS)
        rows[of] = [line for line in found if line is not None]
        print(f"\n| {of} confidence at least | figures kept | right sentence | lowest–highest | right paragraph | |")
        print("|---|---|---|---|---|---|")
        for r in rows[of]:
            cells = [
                f"{100 * r[claim]:.0f} ({span(r[f'{claim}_interval'])}) | {span(r[f'{claim}_range'])}"
                for claim in ("sentence", "paragraph")
            ]
            print(f"| {r['at_least']} | {100 * r['kept']:.0f} | {' | '.join(cells)} |")
        print(
            f"\n| {of}: publisher | figures | stated, mean | right | ECE, before | ECE | debiased, before | debiased |"
        )
        print("|---|---|---|---|---|---|---|---|")
        lines[of] = {name: summary(f.claim(of), of) for name, f in publishers.items()}
        for name, f in publishers.items():
            print(f"| {name} | {len(f.document)} | {percent(lines[of][name])} |")
        for title, some in (
            ("mean of the publishers left out", set(large) - set(LANGUAGES)),
            ("mean of the languages", set(large) & set(LANGUAGES)),
        ):
            print(f"| {title} | {len(some)} | {percent(np.mean([lines[of][name] for name in some], axis=0))} |")
        unseen: dict[str, float] = {}
        for left in sorted({f.group for f in publishers.values()}):
            own = together([f.claim(of) for f in publishers.values() if f.group == left])
            print(f"| {left or 'languages'} together | {len(own.right)} | {percent(summary(own, of))} |")
            number = fitted([f for f in publishers.values() if f.group not in ("", left)], of)
            unseen[left] = number
            again = percent(summary(own, of, number))
            print(f"| the same, by {number:.3f}, fitted without it | {len(own.right)} | {again} |")
        claims = [summary(f.claim(of), of, unseen[f.group]) for f in large.values() if f.group]
        print(f"| mean of the publishers left out, by these | {len(claims)} | {percent(np.mean(claims, axis=0))} |")
    source = f"{sum(len(f.document) for f in large.values()):,} cited figures of {len(large)} publishers"
    text = json.dumps({"source": source, "rows": rows["sentence"]}, indent=1)
    write_text(TARGET, text + "\n", force=True)
    return {
        "source": source,
        **{of: {name: percent(line) for name, line in own.items()} for of, own in lines.items()},
    }


class Correction(NamedTuple):
    """How a probability of the softmax becomes a stated one.

    Attributes:
        apply: Function of probabilities and of the one number that is fitted.
        number: What ships.
        tried: What the fit chooses from.
    """

    apply: Callable[[NDArray[np.float64], float], NDArray[np.float64]]
    number: float
    tried: NDArray[np.float64]


CORRECTIONS = {
    "sentence": Correction(lambda p, number: p - number * p**4, combine.OVERRATED, np.arange(0, 0.26, 0.01)),
    "paragraph": Correction(combine.paragraph_confidence, combine.UNDERRATED, np.arange(0, 0.151, 0.005)),
}
GRID = np.linspace(0, 1, 10001)


def before(claim: Claim, of: str) -> Claim:
    """The probabilities of the softmax instead of the stated ones."""
    correction = CORRECTIONS[of]
    return Claim(np.interp(claim.stated, correction.apply(GRID, correction.number), GRID), claim.right)


def corrected(claim: Claim, of: str, number: float) -> Claim:
    """The stated probabilities instead of those of the softmax."""
    return Claim(CORRECTIONS[of].apply(claim.stated, number), claim.right)


def together(claims: Sequence[Claim]) -> Claim:
    return Claim(*(np.concatenate(column) for column in zip(*claims, strict=True)))


def fitted(publishers: Sequence[Figures], of: str) -> float:
    """The most likely number of a correction; classes count alike."""
    names = sorted({f.group for f in publishers})
    classes = [before(together([f.claim(of) for f in publishers if f.group == name]), of) for name in names]

    def likelihood(number: float) -> float:
        stated = [(np.clip(corrected(each, of, number).stated, 1e-6, 1 - 1e-6), each.right) for each in classes]
        return sum(float(np.log(np.where(right > 0, p, 1 - p)).mean()) for p, right in stated)

    return float(max(CORRECTIONS[of].tried, key=likelihood))


def span(ends: Sequence[float]) -> str:
    return f"{100 * ends[0]:.0f}–{100 * ends[1]:.0f}"


def summary(claim: Claim, of: str, number: float | None = None) -> NDArray[np.float64]:
    """Mean of what is stated, share that is right, ECE before and after the correction, both debiased.

    With ``number``, as this would correct it.
    """
    raw = before(claim, of)
    claim = claim if number is None else corrected(raw, of, number)
    errors = [calibration_error(each, debiased=less) for less in (False, True) for each in (raw, claim)]
    return np.array([claim.stated.mean(), claim.right.mean(), *errors])


def percent(values: NDArray[np.float64]) -> str:
    return " | ".join(f"{100 * value:.1f}" for value in values)
