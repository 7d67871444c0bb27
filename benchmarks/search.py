"""How well a library is searched by sentence: picture, what is said of it, words, and all together.

    python benchmarks/search.py [--data FOLDER] [--queries 400]

FOLDER holds the data, by default $ICONOTEXT_DATA, else shared/data beside the checkout. Two kinds of questions:

- captions of photographs (Flickr8k, validation) and of pictures from textbooks, manuals and museums (captions/open),
  with another caption of each picture stored, with none, with one for every other picture, and with three words of it
  as the name of the file only;
- sentences of documents (cited, build, cooking) that are gold-linked to a picture, with its caption, its alternative
  text and the sentences that ``link`` finds, but not the question itself; and with it, where ``link`` finds it.

The sources (repositories; of Flickr8k every other photograph) are divided by a hash of their names. On one half the
weights of ``iconotext.library.candidates`` are fitted, without paragraphs around pictures (which
``search_textbooks.py`` has): printed first, to compare. All tables are of
the other half: share of questions whose picture comes first and among the first ten, and the mean of 1 / rank, with
95 % intervals from 1,000 resamplings of documents; then how often the first result is called strong and good, and is
right: for questions whose picture is there, for the same questions once it is taken away, and for questions from
another source. Right is the picture that the question was written for. Of photographs, which have five captions by
five people, another one may be right as well: if half of the question's words stand in its three captions that are
neither stored nor asked. The right ones themselves pass that in about six of ten cases, so it is divided by their
share.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from iconotext.corpus.store import read_corpus
from iconotext.encoders.encoder import Encoder
from iconotext.encoders.load import load_encoder
from iconotext.evidence.words import stems
from iconotext.library.candidates import (
    IMAGE,
    LEVELS,
    SILENT,
    TEXT,
    WORDS,
    deviations,
    has_every_word,
    level_of,
    limits,
    query_stems,
    with_every_word,
)
from iconotext.library.index import measure_background
from iconotext.library.items import Item, Place, texts_of, words_of
from iconotext.library.settings import Background, LibrarySettings
from iconotext.library.store import create_library
from iconotext.linker import Linker, LinkSettings
from iconotext.types import LinkedDocument, LinkedSentence

Floats = NDArray[np.floating]
DOCUMENTS = {"cited": "cited.jsonl", "build": "documents.jsonl", "cooking": "documents.jsonl"}
ALIKE = {frozenset(("textbooks", "cited"))}
"""Sources whose questions may well have an answer in the other."""


@dataclass(frozen=True)
class Source:
    """Pictures (N) with their places, and questions: text, number of the picture, and name of the document.

    ``held`` are the words of each picture's captions that are neither stored nor asked; None without such captions.
    """

    name: str
    vectors: NDArray[np.float32]
    places: list[Place]
    questions: list[tuple[str, int, str]]
    held: list[set[str]] | None = None


@dataclass(frozen=True)
class Asked:
    """Signals of Q questions in a library of N pictures; of each question, how many words it has.

    ``right`` tells how surely each picture is right for each question.
    """

    cosines: NDArray[np.float32]
    said: NDArray[np.float32]
    relevance: NDArray[np.float32]
    covered: NDArray[np.bool_]
    words: NDArray[np.int64]
    right: Floats
    background: Background
    targets: NDArray[np.int64]
    groups: list[str]

    def parts(self) -> tuple[Floats, Floats, Floats]:
        """(Q, N) deviations of picture and of text (nan without one), and the square root of BM25."""
        _, picture, text = deviations(self.cosines, self.said, self.relevance, self.background)
        return picture, text, np.sqrt(self.relevance)

    def whole(self) -> Floats:
        """(Q, N) the program's scores, before they are raised for pictures that have every word."""
        return np.asarray(deviations(self.cosines, self.said, self.relevance, self.background)[0])

    def shipped(self) -> Floats:
        """(Q, N) the scores by which results are put in order."""
        rows = zip(self.whole(), self.covered, self.words, strict=True)
        good = limits(self.cosines.shape[1]).good
        return np.stack([with_every_word(row, every, every, int(words), good) for row, every, words in rows])

    def levels(self) -> NDArray[np.int64]:
        """(Q, N) number of the word that each match is called by."""
        rows = zip(*deviations(self.cosines, self.said, self.relevance, self.background), strict=True)
        lowest, told = limits(self.cosines.shape[1]), zip(rows, self.covered, self.words, strict=True)
        return np.stack([level_of(*parts, every, int(w), lowest) for parts, every, w in told])

    def firsts(self, scores: Floats, *, gone: bool) -> NDArray[np.int64]:
        """(Q,) the picture with the highest score; if ``gone``, without the one that the question was written for."""
        scores = scores.copy()
        if gone:
            scores[np.arange(len(self.targets)), self.targets] = -9999
        return np.asarray(scores.argmax(1), np.int64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(os.environ.get("ICONOTEXT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument("--queries", type=int, default=400, help="questions of each source, at most")
    arguments = parser.parse_args()
    encoder = load_encoder()
    halves: tuple[list[Source], list[Source]] = ([], [])
    for half, source in sources(arguments.data, encoder, arguments.queries):
        halves[half].append(source)
    fitting = {name: ask(source, encoder) for source in halves[0] for name, source in variants(source)}
    weights = fit([asked for name, asked in fitting.items() if "itself" not in name and "20" not in name])
    print("fitted: PICTURE, TEXT, WORDS, SILENT = {:.2f}, {:.2f}, {:.2f}, {:.2f}".format(*weights))
    print(f"shipped: {IMAGE, TEXT, WORDS, SILENT}\n")
    fits = {
        kind: fit([a for n, a in fitting.items() if "itself" not in n and "20" not in n], kind)
        for kind in ("picture text", "picture words")
    }
    rules: dict[str, Callable[[Asked], Floats]] = {
        "picture alone": lambda a: a.parts()[0],
        "words alone": lambda a: a.relevance.astype(float),
        "text alone": lambda a: np.nan_to_num(a.parts()[1], nan=-99),
        "ranks: picture, words": lambda a: reciprocal(a.parts()[0], a.relevance),
        "ranks: all three": lambda a: reciprocal(a.parts()[0], a.relevance, np.nan_to_num(a.parts()[1], nan=0)),
        "weights: picture, words": lambda a: weighted(a, fits["picture words"]),
        "weights: picture, text": lambda a: weighted(a, fits["picture text"]),
        "weights: all (ships)": Asked.shipped,
    }
    testing = {name: ask(source, encoder) for source in halves[1] for name, source in variants(source)}
    for title, measure in (("first", 1), ("among ten", 10), ("mean of 1 / rank", 0)):
        print(f"{title}, %\n\n| library, questions | pictures, questions | {' | '.join(rules)} |")
        print(f"|{'---|' * (len(rules) + 2)}")
        for name, asked in testing.items():
            cells = [
                interval(value(ranks(rule(asked), asked.targets), measure), asked.groups) for rule in rules.values()
            ]
            print(f"| {name} | {asked.cosines.shape[1]}, {len(asked.targets)} | {' | '.join(cells)} |", flush=True)
        print()
    report_levels(testing, foreign(halves[1], encoder))


def sources(data: Path, encoder: Encoder, most: int) -> Iterator[tuple[int, Source]]:
    """The sources, and which half each is in."""
    for folder, name in (("flickr8k", "photographs"), ("open", "textbooks")):
        lines = (data / "captions" / folder / "captions.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [row for row in map(json.loads, lines) if len(row["captions"]) > 1]
        rows = [row for row in rows if row["split"] == "validation"] if folder == "flickr8k" else rows[::2]
        for half in (0, 1):
            of_half = (
                rows[half::2] if folder == "flickr8k" else [r for r in rows if side(r["source"].split("@")[0]) == half]
            )
            files = [data / "captions" / folder / row["image"] for row in of_half]
            places = [
                Place(str(file), "/d", 0, caption=row["captions"][1]) for file, row in zip(files, of_half, strict=True)
            ]
            questions = [(row["captions"][0], i, row["image"]) for i, row in enumerate(of_half)]
            others = [set().union(*map(stems, row["captions"][2:])) for row in of_half]
            yield (
                half,
                Source(
                    name,
                    encoder.encode_images(files).vectors,
                    places,
                    questions[:: -(-len(questions) // most)],
                    others if folder == "flickr8k" else None,
                ),
            )
    linker = Linker.load("default", LinkSettings(relations="none"))
    for name, corpus in DOCUMENTS.items():
        linked = [
            each
            for each in linker.link_all(read_corpus(data / "documents" / name / corpus))
            if isinstance(each, LinkedDocument)
        ]
        for half in (0, 1) if name != "cooking" else (1,):  # so few that all measure
            yield (
                half,
                of_documents(
                    name,
                    [each for each in linked if name == "cooking" or side(repository(each)) == half],
                    encoder,
                    most,
                ),
            )


def of_documents(name: str, linked: Sequence[LinkedDocument], encoder: Encoder, most: int) -> Source:
    """The pictures of documents, with what ``library add`` would keep of them."""
    files: list[Path] = []
    places: list[Place] = []
    questions: list[tuple[str, int, str]] = []
    for each in linked:
        document = each.document
        for number, image in enumerate(document.images):
            if image.problem is not None or not isinstance(image.file, Path):
                continue
            links = sorted((link for link in each.links if link.image == number), key=lambda link: -link.confidence)
            said = tuple(LinkedSentence(document.sentences[link.sentence].text, link.confidence) for link in links)
            gold = [sentence for sentence, i in document.links or () if i == number]
            questions += [(document.sentences[gold[0]].text, len(files), document.id)] if gold else []
            places.append(Place(str(image.file), "/d", number, caption=image.caption, alt=image.alt, sentences=said))
            files.append(image.file)
    return Source(name, encoder.encode_images(files).vectors, places, questions[:: -(-len(questions) // most)])


def side(name: str) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2


def repository(linked: LinkedDocument) -> str:
    return str(linked.document.meta.get("repository") or linked.document.id.split("/")[0])


def variants(source: Source) -> Iterator[tuple[str, Source]]:
    """The same pictures with more and less said of them."""
    silent = [Place(place.file) for place in source.places]
    yield f"{source.name}, nothing said", replace(source, places=silent)
    if source.name in DOCUMENTS:
        asked: dict[int, str] = {number: text for text, number, _ in source.questions}
        held = [
            replace(place, sentences=tuple(said for said in place.sentences if said.text != asked.get(number)))
            for number, place in enumerate(source.places)
        ]
        yield f"{source.name}, said", replace(source, places=held)
        yield f"{source.name}, said, itself too", source
        return
    yield f"{source.name}, caption", source
    few = [question for question in source.questions if question[1] < 20]
    yield (
        f"{source.name}, caption, 20 pictures",
        replace(
            source,
            vectors=source.vectors[:20],
            places=source.places[:20],
            questions=few,
            held=source.held and source.held[:20],
        ),
    )
    named = [Place("/" + "-".join(sorted(stems(place.caption or ""))[:3]) + ".jpg") for place in source.places]
    yield f"{source.name}, three words in the file name", replace(source, places=named)
    mixed = [place if number // 7 % 2 else silent[number] for number, place in enumerate(source.places)]
    for told, parity in (("with", 1), ("without", 0)):
        questions = [question for question in source.questions if question[1] // 7 % 2 == parity]
        yield (
            f"{source.name}, half have a caption, questions for those {told}",
            replace(source, places=mixed, questions=questions),
        )


def ask(source: Source, encoder: Encoder) -> Asked:
    """Ask a library of the source's pictures."""
    texts = [texts_of([place]) for place in source.places]
    several = sorted({text for some in texts for text in some})
    vectors = dict(zip(several, encoder.encode_sentences(several), strict=True)) if several else {}
    said = [np.stack([vectors[text] for text in some]) if some else None for some in texts]
    with tempfile.TemporaryDirectory() as folder:
        library = create_library(Path(folder) / "lib", LibrarySettings("default", encoder.fingerprint, encoder.dim))
        items = [
            Item(f"{number:08}", (place,), None, vector, text_vectors=about)
            for number, (place, vector, about) in enumerate(zip(source.places, source.vectors, said, strict=True))
        ]
        library.insert(items)
        library.tidy()
        questions = encoder.encode_sentences([text for text, _, _ in source.questions])
        relevance = np.zeros((len(questions), len(items)), np.float32)
        for row, (text, _, _) in zip(relevance, source.questions, strict=True):
            for digest, found in library.relevance(query_stems(text), [item.digest for item in items]).items():
                row[int(digest)] = found
        background = measure_background(library, encoder)
    has = [set(words_of([place])[0].split()) for place in source.places]
    asked = [stems(text) for text, _, _ in source.questions]
    return Asked(
        questions @ source.vectors.T,
        np.stack([np.full(len(questions), np.nan) if a is None else (questions @ a.T).max(1) for a in said], axis=1),
        relevance,
        np.array([[has_every_word(words, wanted) for words in has] for wanted in asked]),
        np.array([len(wanted) for wanted in asked]),
        rightness(source),
        background,
        np.array([number for _, number, _ in source.questions]),
        [group for _, _, group in source.questions],
    )


def rightness(source: Source) -> Floats:
    """(Q, N) 1 for the picture that a question was written for; of others, see above."""
    targets = np.array([number for _, number, _ in source.questions])
    rows, found = np.arange(len(targets)), np.zeros((len(targets), len(source.places)))
    if source.held is not None:
        asked = [stems(text) for text, _, _ in source.questions]
        half = np.array([[2 * len(words & held) >= max(len(words), 1) for held in source.held] for words in asked])
        found = half / max(half[rows, targets].mean(), 0.01)
    found[rows, targets] = 1
    return found


def fit(some: Sequence[Asked], kinds: str = "picture text words") -> tuple[float, ...]:
    """PICTURE, TEXT, WORDS and SILENT with the best mean of 1 / rank, each library counted equally.

    One after the other is tried on a grid, until none gains; but PICTURE is held at a half: a lower one gains little,
    and lets a picture that fits fall far behind because something is said of it, too.
    """

    def worth(weights: tuple[float, ...]) -> float:
        return float(np.mean([(1 / ranks(weighted(asked, weights), asked.targets)).mean() for asked in some]))

    best: tuple[float, ...] = (0.5, 0.5 * ("text" in kinds), 1.0 * ("words" in kinds), -1.0)
    reached = worth(best)
    for _ in range(4):
        before = best
        for place, weight in list(enumerate(best))[1:]:
            for factor in (0.5, 0.7, 0.85, 0.95, 1.05, 1.2, 1.4, 2.0) if weight else ():
                tried = (*best[:place], round(weight * factor, 2), *best[place + 1 :])
                if (found := worth(tried)) > reached:
                    best, reached = tried, found
        if best == before:
            break
    return best


def weighted(asked: Asked, weights: Sequence[float]) -> Floats:
    picture, text, words = asked.parts()
    spoken = ~np.isnan(text)
    said = weights[0] * picture + weights[1] * np.nan_to_num(text) + weights[3]
    return np.asarray(np.where(spoken, said, picture) + weights[2] * words)


def reciprocal(picture: Floats, *others: Floats) -> Floats:
    """Reciprocal rank fusion with the usual 60; what does not match at all has no rank."""
    total = 1 / (60 + (-picture).argsort(1, kind="stable").argsort(1) + 1)
    for other in others:
        place = (-other).argsort(1, kind="stable").argsort(1) + 1
        total = total + np.where(other > 0, 1 / (60 + place), 0)
    return total


def foreign(some: Sequence[Source], encoder: Encoder) -> dict[tuple[str, str, str], Asked]:
    """Questions from one source in the library of another, with nothing said there, and with what is said."""
    found = {}
    for library in some:
        for other in some:
            if (
                other.name == library.name
                or frozenset((other.name, library.name)) in ALIKE
                or len(library.places) < 100
            ):
                continue
            questions = [(text, 0, group) for text, _, group in other.questions[:150]]
            for told, source in list(variants(replace(library, questions=library.questions)))[:2]:
                found[library.name, told.split(", ")[1], other.name] = ask(
                    replace(source, questions=questions, held=None), encoder
                )
    return found


def report_levels(testing: dict[str, Asked], strangers: dict[tuple[str, str, str], Asked]) -> None:
    """How often the first result is called strong and good, and then is right."""
    titles = [f"{level}, {what}" for what in ("there", "taken away") for level in LEVELS]
    print(f"first results, %\n\n| library, questions | {' | '.join(f'{title} | right' for title in titles)} |")
    print(f"|{'---|' * (1 + 2 * len(titles))}")
    for name, asked in testing.items():
        cells = []
        levels, rows = asked.levels(), np.arange(len(asked.targets))
        for gone in (False, True):
            first = asked.firsts(asked.shipped() - 100 * levels, gone=gone)
            for number in range(len(LEVELS)):
                named, right = levels[rows, first] == number, asked.right[rows, first]
                groups = [group for group, mine in zip(asked.groups, named, strict=True) if mine]
                cells += [f"{100 * named.mean():.1f}", interval(right[named], groups) if groups else "–"]
        print(f"| {name} | {' | '.join(cells)} |")
    print("\n| library | questions from | strong, % | good, % |\n|---|---|---|---|")
    for (library, about, other), asked in strangers.items():
        best = asked.levels().min(1)
        cells = [interval((best == number).astype(float), asked.groups) for number in (0, 1)]
        print(f"| {library}, {about} | {other} | {' | '.join(cells)} |")


def ranks(scores: Floats, targets: NDArray[np.int64]) -> Floats:
    """Rank of each target; among equals, the middle."""
    own = scores[np.arange(len(targets)), targets][:, None]
    return np.asarray((scores > own).sum(1) + ((scores == own).sum(1) - 1) / 2 + 1)


def value(found: Floats, measure: int) -> Floats:
    return (found <= measure).astype(float) if measure else 1 / found


def interval(values: Floats, groups: Sequence[str]) -> str:
    """Mean with its 95 % interval, in percent, from resampling the groups."""
    names = {name: number for number, name in enumerate(dict.fromkeys(groups))}
    index = np.array([names[group] for group in groups])
    sums, sizes = np.bincount(index, values), np.bincount(index)
    draw = np.random.default_rng(0).integers(len(names), size=(1000, len(names)))
    low, high = np.quantile(sums[draw].sum(1) / sizes[draw].sum(1), [0.025, 0.975])
    return f"{100 * values.mean():.1f} ({100 * low:.0f}–{100 * high:.0f})"


if __name__ == "__main__":
    main()
