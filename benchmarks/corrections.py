"""What corrections in `iconotext serve` are worth: for other documents of the same collection.

    python benchmarks/corrections.py            prints the table of docs/results/records/corrections.json

Needs the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout). Texts are encoded once, into the
cache: some 75,000 sentences; then it takes minutes.

The documents are those whose authors cite their figures (documents/cited, textbook, cited_text), at most 40 of each
book or repository; no picture is looked at, since most have none at hand. Everything that is fitted has not seen the
class (OpenStax, old books, modern guides) that it is tested on. The documents of each collection are divided in two
halves, several times (--splits): in one a scripted reviewer answers as the author cites, 10, 30 and 100 pictures or as
many as there are, in the order of doubt as the server shows them, or at random; measured is the other half, where
nobody answers. Intervals are of 2,000 resamplings of the collections.

Answers teach where pictures stand, as they do in the server.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from data_folder import parser_with_data

from iconotext.corpus.store import read_corpus
from iconotext.decide.choose import choose_links
from iconotext.decide.combine import places_by_evidence, weigh
from iconotext.decide.settings import LinkSettings
from iconotext.evidence.caption import Encode, Reading
from iconotext.evidence.gather import DocumentEvidence, gather_evidence
from iconotext.evidence.habit import Habit, PlaceEvidence, infer_habit, judged_evidence
from iconotext.serve.store import Picture
from iconotext.serve.verdicts import CANDIDATES, doubts, worths
from iconotext.types import Document, Evidence, LinkedDocument

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fitting.cited_documents import Cited
from fitting.confidence import Claim, calibration_error, together
from fitting.cross_fitting import Learned, Source, cross_fitted, group, text_encoder

FILES = ("cited/cited.jsonl", "textbook/cited.jsonl", "cited_text/openstax.jsonl")
MOST, LEAST = 40, 6
"""Documents of a collection."""

ANSWERS = (0, 10, 30, 100)
STEP = 10
"""Answers after which the server has learned what was said."""

BLIND: tuple[Evidence, ...] = ("caption", "layout", "reference")
RESAMPLINGS = 2000

Said = dict[str, dict[int, tuple[int, ...]]]


@dataclass(frozen=True, eq=False)
class Tried:
    """A document of a collection, its evidence, and what its author cites."""

    document: Document
    gathered: DocumentEvidence
    places: PlaceEvidence | None
    gold: Mapping[int, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Collected:
    """A collection with what was fitted without its class."""

    name: str
    group: str
    documents: list[Tried]
    learned: Learned


def main() -> None:
    parser = parser_with_data(__doc__)
    parser.add_argument("--splits", type=int, default=3)
    arguments = parser.parse_args()
    collections = collected(arguments.data / "documents")
    found: dict[tuple[str, int], dict[str, list[Claim]]] = defaultdict(lambda: defaultdict(list))
    for each in collections:
        for split in range(arguments.splits):
            for key, measured in tried(each, split):
                found[key][each.name].append(measured)
        print(f"{each.group}: {each.name}, {len(each.documents)} documents", flush=True)
    report(found)


def collected(folder: Path) -> list[Collected]:
    """The collections with enough documents, their evidence gathered by what has not seen their class."""
    documents = [document for name in FILES for document in read_corpus(folder / name)]
    seen: Counter[str] = Counter()
    chosen = []
    for number in np.random.default_rng(0).permutation(len(documents)):
        document = documents[number]
        name = str(document.meta.get("repository") or document.meta.get("book") or document.id.split("/")[0])
        seen[name] += 1
        if seen[name] <= MOST:
            chosen.append((name, readable(document)))
    encode = text_encoder()
    sources = []
    for name, document in chosen:
        vectors = encode([sentence.text for sentence in document.sentences])
        sources.append(Source(group(document), name, Cited(document, vectors, None, name)))
    learned = cross_fitted(sources, encode, pictures=False)
    by_name: dict[str, list[Source]] = defaultdict(list)
    for source in sources:
        by_name[source.collection].append(source)
    found = []
    for name, own in sorted(by_name.items()):
        by = learned[own[0].group]
        if len(own) >= LEAST:
            found.append(Collected(name, own[0].group, [gathered(each, encode, by) for each in own], by))
    return found


def readable(document: Document) -> Document:
    """The document with every picture, whether its file is there or not."""
    return replace(document, images=tuple(replace(image, problem=None) for image in document.images))


def gathered(source: Source, encode: Encode, learned: Learned) -> Tried:
    cited = source.cited
    document = cited.document
    reading = Reading(encode, cited.sentence_vectors, learned.matcher)
    (found,) = gather_evidence([document], [None], [reading], evidence=BLIND)
    gold: dict[int, tuple[int, ...]] = {}
    for sentence, image in sorted(document.links or ()):
        gold[image] = (*gold.get(image, ()), sentence)
    (places,) = places_by_evidence([found], evidence=("caption", "reference"), coefficients=learned.coefficients)
    return Tried(document, found, places, gold)


def habit_of(of: Collected, said: Said) -> Habit:
    """What the documents of a collection and the answers of a reviewer teach."""
    places = [
        (each.document.id, judged_evidence(each.document, each.places, said.get(each.document.id, {})))
        for each in of.documents
        if each.places is not None
    ]
    return replace(infer_habit(places, of.learned.common), judged=said)


def best(of: Collected, habit: Habit, one: Tried, *, k: int = 1) -> LinkedDocument:
    weights = of.learned.coefficients
    (found,) = weigh([one.gathered], evidence=BLIND, coefficients=weights, habits=[habit])
    return choose_links(one.document, found, LinkSettings(k=k, min_confidence=0.0))


def tried(of: Collected, split: int) -> Iterator[tuple[tuple[str, int], Claim]]:
    """Order and number of answers to what they are worth."""
    order = np.random.default_rng([split, len(of.documents)]).permutation(len(of.documents))
    half = len(order) // 2
    reviewed, others = [of.documents[n] for n in order[:half]], [of.documents[n] for n in order[half:]]
    for way in ("doubt", "random"):
        said: Said = {}
        for answers in ANSWERS:
            while (missing := answers - sum(map(len, said.values()))) > 0:
                some = next_pictures(of, reviewed, said, way, min(missing, STEP), split)
                if not some:
                    break
                for one, image in some:
                    said.setdefault(one.document.id, {})[image] = one.gold[image]
            if not answers and way == "random":
                continue
            habit = habit_of(of, said)
            yield (way if answers else "none", answers), measure(of, habit, others)


def next_pictures(
    of: Collected, reviewed: Sequence[Tried], said: Said, way: str, number: int, split: int
) -> list[tuple[Tried, int]]:
    """The next pictures that the reviewer is shown."""
    keys = {(n, image) for n, one in enumerate(reviewed) for image in said.get(one.document.id, {})}
    if way == "random":
        every = [(n, image) for n, one in enumerate(reviewed) for image in sorted(one.gold)]
        shuffled = np.random.default_rng(split).permutation(len(every))
        left = [every[n] for n in shuffled if every[n] not in keys]
        return [(reviewed[n], image) for n, image in left[:number]]
    habit = habit_of(of, said)
    pictures = []
    for n, one in enumerate(reviewed):
        likeliest: dict[int, list[object]] = defaultdict(list)
        for link in sorted(best(of, habit, one, k=CANDIDATES).links, key=lambda x: (-x.confidence, x.sentence)):
            likeliest[link.image].append(link)
        for image in sorted(one.gold):
            pictures.append(Picture(n, image, None, 0.0, *doubts(one.document, image, likeliest[image])))  # type: ignore[arg-type]
    worth = worths(pictures, keys)  # of equal ones the first
    left = sorted((p for p in pictures if (p.document, p.number) in worth), key=lambda p: -worth[p.document, p.number])
    return [(reviewed[p.document], p.number) for p in left[:number]]


def measure(of: Collected, habit: Habit, others: Sequence[Tried]) -> Claim:
    links = [(link, one.gold.get(link.image)) for one in others for link in best(of, habit, one).links]
    sure = np.array([link.confidence for link, gold in links if gold], np.float64)
    return Claim(sure, np.array([link.sentence in gold for link, gold in links if gold], np.float64))


def error(measured: Sequence[Claim]) -> float:
    return calibration_error(together(measured))


def image_at_1(measured: Sequence[Claim]) -> float:
    return float(np.concatenate([each.right for each in measured]).mean())


def report(found: Mapping[tuple[str, int], Mapping[str, list[Claim]]]) -> None:
    """The tables."""
    start = found["none", 0]
    names = sorted(start)
    drawn = np.random.default_rng(0).integers(len(names), size=(RESAMPLINGS, len(names)))

    def change(some: Mapping[str, list[Claim]], measure: Callable[[Sequence[Claim]], float]) -> str:
        """Mean over collections of what changes against no answers, in points, with its interval."""
        gained = 100 * np.array([measure(some[name]) - measure(start[name]) for name in names])
        low, high = np.quantile(gained[drawn].mean(axis=1), [0.025, 0.975])
        return f"{gained.mean():+.2f} ({low:+.2f} to {high:+.2f})"

    print(f"\n{len(names)} collections; image@1 {np.mean([image_at_1(start[name]) for name in names]):.1%}, ", end="")
    print(f"mean of the collections; {sum(len(m.right) for own in start.values() for m in own)} figures measured\n")
    print("| order | answers | image@1, points | calibration error, points | of all together |\n|---|---|---|---|---|")
    for (order, answers), some in found.items():
        every = [measured for own in some.values() for measured in own]
        cells = [change(some, measure) for measure in (image_at_1, error)]
        print(f"| {order} | {answers} | {' | '.join(cells)} | {error(every):.1%} |")


if __name__ == "__main__":
    main()
