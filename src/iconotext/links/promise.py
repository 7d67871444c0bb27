"""Promises: at most a given share of what is said is wrong, over all documents that are linked together.

Three claims of an image's best link, each weaker than the next, each tested once for every image:

- *document*, the image belongs to this document: target-decoy competition. Each image competes with its decoy for the
  sentences of the document (``decoys``). Above a threshold, the decoys that won tell how many images won by chance.
- *paragraph* and *sentence*, the link leads to the right one: conformal selection (Jin and Candès 2023, arXiv
  2210.01408) with calibration figures whose right sentences are known (``calibration``), and Benjamini-Hochberg.

The share is that of the false among those that pass, in the mean over runs: the false discovery rate. It holds where
foreign images are like decoys, and where images are like the calibration figures of their kind of at least one class.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.types import CLAIMS, Claim, LinkedDocument, Promise, Required

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.links.calibration import Calibration, Figure


class Candidate(NamedTuple):
    """An image that a claim is tested for.

    Attributes:
        document: Id of its document.
        image: Its number.
        kind: As ``calibration.kind_of`` says.
        sentence: Confidence of its best link.
        paragraph: ``paragraph`` of that link.
        own: Score of its best link where decoys compete.
        decoy: That of its decoy; None where it has none.
    """

    document: str
    image: int
    kind: str
    sentence: float
    paragraph: float | None
    own: float = 0.0
    decoy: float | None = None


@dataclass(frozen=True)
class Promises:
    """What is promised of a run.

    Attributes:
        made: One for each claim, without the images of a document.
        passed: Claim to the id of each document to the numbers of its images that passed.
        required: The claim without which a link is dropped, or ``none``.
    """

    made: tuple[Promise, ...]
    passed: Mapping[Claim, Mapping[str, frozenset[int]]]
    required: Required

    def keep(self, linked: LinkedDocument) -> LinkedDocument:
        """The document with the links that passed, and with what is promised."""
        here = {claim: self.passed[claim].get(linked.document.id, frozenset()) for claim in CLAIMS}
        links = linked.links
        if self.required != "none":
            links = tuple(link for link in links if link.image in here[self.required])
        return replace(linked, links=links, promises=tuple(replace(p, images=here[p.claim]) for p in self.made))

    @property
    def digest(self) -> str:
        """Equal for equal promises: it is they, not only the document, that a page is made from."""
        passed = [sorted((name, sorted(images)) for name, images in self.passed[claim].items()) for claim in CLAIMS]
        said = repr((self.made, passed, self.required))
        return hashlib.sha256(said.encode(errors="surrogatepass")).hexdigest()


def make_promises(
    tested: Sequence[Candidate], calibration: Calibration, max_false: float, required: Required = "sentence"
) -> Promises:
    """Test every claim for every image.

    Args:
        tested: The images of all documents, in any order.
        calibration: By kind and class.
        max_false: Share, above 0 and below 1.
        required: See ``Promises``.
    """
    found = {
        claim: _document_promise(tested, max_false)
        if claim == "document"
        else _conformal_promise(tested, calibration, max_false, claim)
        for claim in CLAIMS
    }
    made = tuple(replace(promise, decides=claim == required) for claim, (promise, _) in found.items())
    return Promises(made, {claim: _by_document(passed) for claim, (_, passed) in found.items()}, required)


def competition(own: NDArray[np.float64], decoy: NDArray[np.float64], max_false: float) -> NDArray[np.bool_]:
    """Which images win against their decoys clearly enough.

    The threshold is the smallest score of a winner at or above which (1 + decoys that won) / images that won is at
    most ``max_false``. Where both score the same, the decoy has won.

    Args:
        own: (n,) scores of the images.
        decoy: (n,) those of their decoys.
        max_false: Share of them that may be foreign.
    """
    won, score = own > decoy, np.maximum(own, decoy)
    order = np.argsort(-score, kind="stable")
    last = np.flatnonzero(np.diff(score[order], append=-np.inf))  # of each score, where its last winner stands
    lost, taken = np.cumsum(~won[order])[last], np.cumsum(won[order])[last]
    good = last[1 + lost <= max_false * np.maximum(1, taken) + 1e-12]
    passed = np.zeros(len(own), np.bool_)
    passed[order[: good.max(initial=-1) + 1]] = True
    return passed & won


def conformal_p_values(
    scores: NDArray[np.float64], classes: Mapping[str, Sequence[Sequence[Figure]]], claim: Claim
) -> NDArray[np.float64]:
    """How often calibration figures are wrong and score as high: (n,) p values of "this one is wrong".

    A document counts as one, however many figures it has: each counts 1 / their number (Lee, Barber and Willett 2023,
    arXiv 2306.06342). Of several classes the largest p value counts, so that the promise holds for images that are like
    any of them, or like a mixture.

    Args:
        scores: (n,) of the images.
        classes: The calibration figures, by class of document; at least one.
        claim: ``paragraph`` or ``sentence``.
    """
    found = np.zeros(len(scores))
    for documents in classes.values():
        pairs = [
            (figure.paragraph if claim == "paragraph" else figure.sentence, 1 / len(figures))
            for figures in documents
            for figure in figures
            if not (figure.paragraph_right if claim == "paragraph" else figure.sentence_right)
        ]
        wrong = np.array(sorted(pairs), np.float64).reshape(-1, 2)
        tail = np.append(np.cumsum(wrong[::-1, 1])[::-1], 0.0)  # what the wrong ones from each on count together
        found = np.maximum(found, (1 + tail[np.searchsorted(wrong[:, 0], scores)]) / (len(documents) + 1))
    return found


def benjamini_hochberg(p_values: NDArray[np.float64], max_false: float) -> NDArray[np.bool_]:
    """Which hypotheses are rejected: the k smallest p values, k the largest with p_(k) <= max_false k / n."""
    ordered = np.sort(p_values)
    low = np.flatnonzero(ordered <= max_false * np.arange(1, len(ordered) + 1) / max(1, len(ordered)) + 1e-12)
    rejected: NDArray[np.bool_] = p_values <= (ordered[low[-1]] if len(low) else -1.0)
    return rejected


def _by_document(passed: Iterable[Candidate]) -> dict[str, frozenset[int]]:
    images: dict[str, set[int]] = {}
    for each in passed:
        images.setdefault(each.document, set()).add(each.image)
    return {name: frozenset(numbers) for name, numbers in images.items()}


def _document_promise(tested: Sequence[Candidate], max_false: float) -> tuple[Promise, list[Candidate]]:
    rivals = [(each, each.decoy) for each in tested if each.decoy is not None]
    needed = math.ceil(1 / max_false - 1e-9)
    refused = None
    if not rivals:
        refused = "no decoys: link several documents with pictures together, by picture or caption"
    elif len(rivals) < needed:
        refused = f"too few pictures: at least {needed} are needed, each with a decoy"
    if refused:
        return Promise("document", max_false, 0, 0, 0, len(tested), refused), []
    own = np.array([each.own for each, _ in rivals])
    won = competition(own, np.array([decoy for _, decoy in rivals]), max_false)
    passed = [each for (each, _), good in zip(rivals, won, strict=True) if good]
    untested = len(tested) - len(rivals)
    why = "no decoy with words of the same kind" if untested else None
    return Promise("document", max_false, len(rivals), len(passed), len(rivals), untested, why), passed


def _conformal_promise(
    tested: Sequence[Candidate], calibration: Calibration, max_false: float, claim: Claim
) -> tuple[Promise, list[Candidate]]:
    needed = math.ceil(1 / max_false - 1e-9) - 1  # with fewer documents no p value is small enough
    usable = {
        kind: classes for kind, classes in calibration.items() if classes and min(map(len, classes.values())) >= needed
    }
    scored = [(each, each.paragraph if claim == "paragraph" else each.sentence) for each in tested]
    known = [(each, score) for each, score in scored if score is not None and each.kind in usable]
    unknown = Counter(each.kind for each, score in scored if score is None or each.kind not in usable)
    refused = None
    if unknown:
        refused = f"not enough calibration data of this kind ({min(unknown, key=lambda kind: (-unknown[kind], kind))})"
    kinds = sorted({each.kind for each, _ in known})
    p_values = np.ones(len(known))
    for kind in kinds:
        rows = [n for n, (each, _) in enumerate(known) if each.kind == kind]
        p_values[rows] = conformal_p_values(np.array([known[n][1] for n in rows]), usable[kind], claim)
    good = benjamini_hochberg(p_values, max_false)
    passed = [each for (each, _), right in zip(known, good, strict=True) if right]
    figures = sum(len(document) for kind in kinds for documents in usable[kind].values() for document in documents)
    return Promise(claim, max_false, len(known), len(passed), figures, unknown.total(), refused), passed
