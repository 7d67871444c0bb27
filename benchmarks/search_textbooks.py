"""Search of the pictures of textbooks, beside BM25 over the paragraphs around each picture.

    pip install bm25s
    python benchmarks/search_textbooks.py [--data FOLDER] [--questions 200] [--seeds 3]

FOLDER holds the data, by default $ICONOTEXT_DATA, else shared/data beside the checkout. Asked are four OpenStax books
(documents/textbook) and the books and guides of other publishers (documents/cited). Alternative texts are left out, so
that both know the same. Three kinds of questions, as many of each for every seed, which draws the pictures and words:

- the caption of a picture, where no caption is indexed or seen by the linker;
- five words of the first sentence that cites a picture; its paragraph is indexed like any other;
- four words of the caption, where captions are indexed.

Ours is a library made by ``add_paths`` and asked with ``Searcher``, as the commands do. The peer is bm25s with its own
list of stop words over caption and paragraphs (one or two before the picture and after it). Printed are the mean of
1 / rank and the share among the first ten, in percent, the difference of ours to each peer with its 95 % interval
from 2,000 resamplings of documents, and how often the first result is called good or better and is the wanted picture,
with the wanted picture in the library and without.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from data_folder import parser_with_data
from numpy.typing import NDArray

import iconotext
from iconotext.corpus.store import read_corpus
from iconotext.decide.settings import LinkSettings
from iconotext.evidence.words import stems
from iconotext.library import Query, Result, Searcher, add_paths
from iconotext.library.changes import text_around
from iconotext.library.files import digest_of
from iconotext.types import Document

Floats = NDArray[np.floating[Any]]
BOOKS = {"OpenStax": "textbook", "other publishers": "cited"}
FOUND = 100
"""A picture that is not among so many results is not found."""


@dataclass
class Picture:
    """A picture with its text; ``paragraphs`` by how many are taken before and after."""

    document: str
    captions: list[str] = field(default_factory=list)
    citing: list[str] = field(default_factory=list)
    paragraphs: dict[int, list[str]] = field(default_factory=lambda: {1: [], 2: []})


@dataclass(frozen=True)
class Question:
    """A question, the digest of the picture that it asks for, and the document of that."""

    text: str
    digest: str
    document: str


def main() -> None:
    parser = parser_with_data(__doc__)
    parser.add_argument("--questions", type=int, default=200, help="of each kind and seed, at most")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    try:
        import bm25s
    except ModuleNotFoundError:
        raise SystemExit("the peer is not installed: pip install bm25s") from None
    print(f"iconotext {iconotext.__version__}, bm25s {bm25s.__version__}\n")
    print("| books, question | pictures, questions | ours | BM25, one paragraph | ours better by | BM25, two | by |")
    print(f"|{'---|' * 7}")
    told = []
    for books, folder in BOOKS.items():
        documents = list(read_corpus(arguments.data / "documents" / folder / "cited.jsonl"))
        pictures = pictures_of(documents)
        asked = {kind: questions_of(kind, pictures, arguments.questions, arguments.seeds) for kind in KINDS}
        for captions, kinds in ((False, KINDS[:1]), (True, KINDS[1:])):
            with tempfile.TemporaryDirectory() as scratch:
                searcher = Searcher(library_of(documents, Path(scratch), captions=captions))
                for kind in kinds:
                    results = [answer(searcher, question) for question in asked[kind]]
                    ours = np.array([rank(q.digest, r) for q, r in zip(asked[kind], results, strict=True)])
                    cells = [f"{books}, {kind}", f"{len(pictures)}, {len(ours)}", figures(ours)]
                    for paragraphs in (1, 2):
                        theirs = ranks_of_peer(pictures, asked[kind], paragraphs, captions=captions)
                        cells += [figures(theirs), gain(ours, theirs, asked[kind])]
                    print(f"| {' | '.join(cells)} |", flush=True)
                    told.append([f"{books}, {kind}", *levels(asked[kind], results)])
    print("\n| books, question | good, % | right | weak, % | right | taken away: good, % |\n|---|---|---|---|---|---|")
    for row in told:
        print(f"| {' | '.join(row)} |")


KINDS = ("the caption, not indexed", "five words of the citing sentence", "four words of the caption")


def pictures_of(documents: Sequence[Document]) -> dict[str, Picture]:
    """The pictures by their digests, with the texts of all their places."""
    pictures: dict[str, Picture] = {}
    for document in documents:
        for number, image in enumerate(document.images):
            if image.problem is not None or not isinstance(image.file, Path):
                continue
            picture = pictures.setdefault(digest_of(image.file), Picture(document.id))
            picture.captions += [image.caption] if image.caption else []
            gold = [sentence for sentence, cited in document.links or () if cited == number]
            picture.citing += [document.sentences[gold[0]].text] if gold else []
            for paragraphs, texts in picture.paragraphs.items():
                texts += text_around(document, image, paragraphs)
    return pictures


def questions_of(kind: str, pictures: dict[str, Picture], most: int, seeds: int) -> list[Question]:
    """Questions of one kind for all seeds."""
    questions = []
    for seed in range(seeds):
        draw, found = random.Random(seed), list[Question]()
        for digest, picture in draw.sample(sorted(pictures.items()), len(pictures)):
            texts = picture.citing if "citing" in kind else picture.captions
            text = asked_of(kind, texts[0], draw) if texts else None
            found += [Question(text, digest, picture.document)] if text else []
        questions += found[:most]
    return questions


def asked_of(kind: str, text: str, draw: random.Random) -> str | None:
    """The question made of a text: all of it, or some of its words in order; None if it has too few."""
    if kind == KINDS[0]:
        return text
    number = 5 if "five" in kind else 4
    words = list(dict.fromkeys(word for word in re.findall(r"\w[\w'’-]*", text) if stems(word)))
    return " ".join(words[i] for i in sorted(draw.sample(range(len(words)), number))) if len(words) >= number else None


def library_of(documents: Sequence[Document], folder: Path, *, captions: bool) -> Path:
    """A library of the documents without alternative texts, and without captions if these are not to be known."""
    rows = []
    (folder / "images").mkdir()
    for document in documents:
        files = [image.file for image in document.images if isinstance(image.file, Path)]
        for file in files:
            shutil.copyfile(file, folder / "images" / file.name)
        rows.append(
            {
                "id": document.id,
                "sentences": [sentence.text for sentence in document.sentences],
                "images": [f"images/{file.name}" for file in files],
                "blocks": [sentence.block for sentence in document.sentences],
                "positions": [image.position for image in document.images],
                "meta": {"repository": document.meta.get("repository") or document.id.partition("/")[0]},
                "captions": [image.caption if captions else None for image in document.images],
            }
        )
    corpus = folder / "books.jsonl"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    report = add_paths(folder / "lib", [corpus], linking=LinkSettings(relations="none"))
    if report.failures or not report.added:
        raise SystemExit(f"the library is not whole: {report}")
    return folder / "lib"


def answer(searcher: Searcher, question: Question) -> list[Result]:
    return searcher.find(Query(question.text, top=FOUND, anyway=True)).results


def rank(digest: str, results: Sequence[Result]) -> float:
    """Rank of a picture from 1 on; infinite if it was not found."""
    return next((float(n) for n, result in enumerate(results, 1) if result.digest == digest), float("inf"))


def ranks_of_peer(
    pictures: dict[str, Picture], questions: Sequence[Question], paragraphs: int, *, captions: bool
) -> Floats:
    """Rank of each wanted picture by BM25; among equals, the middle."""
    import bm25s

    texts = [" ".join([*(p.captions if captions else ()), *p.paragraphs[paragraphs]]) for p in pictures.values()]
    model = bm25s.BM25()
    model.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
    numbers, ranks = {digest: n for n, digest in enumerate(pictures)}, []
    words = bm25s.tokenize([q.text for q in questions], stopwords="en", return_ids=False, show_progress=False)
    for question, tokens in zip(questions, words, strict=True):
        scores = model.get_scores(tokens) if tokens else np.zeros(len(texts))
        own = scores[numbers[question.digest]]
        place = (scores > own).sum() + ((scores == own).sum() + 1) / 2
        ranks.append(place if place <= FOUND and own > 0 else np.inf)
    return np.array(ranks)


def figures(ranks: Floats) -> str:
    return f"{100 * (1 / ranks).mean():.1f} / {100 * (ranks <= 10).mean():.1f}"


def gain(ours: Floats, theirs: Floats, questions: Sequence[Question]) -> str:
    """How much better ours is, in points, with 95 % intervals from resampling documents."""
    names = {name: n for n, name in enumerate(dict.fromkeys(q.document for q in questions))}
    index = np.array([names[q.document] for q in questions])
    draw = np.random.default_rng(0).integers(len(names), size=(2000, len(names)))
    cells = []
    for values in (1 / ours - 1 / theirs, (ours <= 10) * 1.0 - (theirs <= 10)):
        sums, sizes = np.bincount(index, values), np.bincount(index)
        low, high = np.quantile(sums[draw].sum(1) / sizes[draw].sum(1), [0.025, 0.975])
        cells.append(f"{100 * values.mean():+.1f} ({100 * low:.1f} to {100 * high:.1f})")
    return " / ".join(cells)


def levels(questions: Sequence[Question], results: Sequence[Sequence[Result]]) -> list[str]:
    """How often the first result is good (or strong) and right, or weak and right; and good without the wanted one."""
    right = np.array([found[0].digest == q.digest for q, found in zip(questions, results, strict=True)])
    good = np.array([is_good(found[0]) for found in results])
    others = ([r for r in found if r.digest != q.digest] for q, found in zip(questions, results, strict=True))
    away = np.array([is_good(found[0]) for found in others])
    shares = [good.mean(), right[good].mean() if good.any() else np.nan]
    shares += [(~good).mean(), right[~good].mean() if (~good).any() else np.nan, away.mean()]
    return ["–" if np.isnan(share) else f"{100 * share:.1f}" for share in shares]


def is_good(result: Result) -> bool:
    return result.match is not None and result.match.level != "weak"


if __name__ == "__main__":
    main()
