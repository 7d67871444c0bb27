"""Do promises hold? The calibration figures that ship, and the realised share of what is false.

    python benchmarks/promise.py fit           writes src/iconotext/decide/calibration.json, after evidence.py fit
    python benchmarks/promise.py report        the right paragraph and the right sentence, in Markdown
    python benchmarks/promise.py entrap        the right document, in Markdown
    python benchmarks/promise.py shards        the same, by `iconotext scale link` and by `iconotext link`
    python benchmarks/promise.py simulate      what holds, and what breaks, where the truth is known; needs no data

All but the last need the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout); features are
cached, then ``fit`` takes a minute. Each publisher is one run of ``iconotext link --max-false``.

``report``: every cited figure is linked by weights that were fitted without its class (OpenStax, old books, modern
generators), and promises come from the calibration figures of all *other* publishers. Power is the share of the right
links that stay. Beside it the simplest rule, a probability of 1 - alpha or more. Intervals are of 500 resamplings of
the publisher's documents. *Own*: calibrated by every second document of the same publisher, tested on the others.

``entrap``: as many pictures of other documents as a document has are put into it, with the weights that ship; mean of
ten draws with its 95 % interval. At most 40 documents of a publisher. ``shards``: one such draw of all documents with
pictures, as shards of 50, linked whole by the commands' own functions; the promise is of all of them together. Beside
it what would be kept if each collection had a promise of its own.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from cited_documents import Cited, variants
from default_model import unseen_by
from false_discoveries import benjamini_hochberg, competition
from fit_evidence import common_habit, dump_calibration, example, fit_coefficients
from fit_matcher import fit_matcher
from numpy.typing import NDArray

from evidence import Looking, captions, few, looking_with
from iconotext.corpus.formats.json_lines import write_lines
from iconotext.corpus.row import row_of
from iconotext.corpus.shards import ShardSettings
from iconotext.corpus.store import read_corpus
from iconotext.decide.calibration import Calibration, Figure, calibration_of
from iconotext.decide.choose import Selection, choose_links
from iconotext.decide.combine import Coefficients, places_by_evidence, weigh_evidence
from iconotext.decide.false_discovery import conformal_p_values
from iconotext.decide.settings import LinkSettings
from iconotext.decide.target_decoy import DecoyPool
from iconotext.evidence.caption import PROBE, Encode, Matcher, Reading
from iconotext.evidence.gather import gather_evidence
from iconotext.evidence.habit import PlaceEvidence, infer_habit
from iconotext.features import load_text_backbone
from iconotext.linker import Linker
from iconotext.scale.promised import INNER
from iconotext.scale.run import link_shards
from iconotext.types import Claim, Document, Evidence, Image, LinkedDocument

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src" / "iconotext" / "decide" / "calibration.json"
ALPHAS = (0.05, 0.1, 0.2)
RESAMPLINGS = 500
SEEDS, MOST = 10, 40
SHARD = 50
NOTHING = np.zeros((0, 1), np.float32)
COLLECTIONS = {
    "19 collections of 8 to 300": (19, 8, 300, 0.5, 0),
    "60 collections of 3 to 20": (60, 3, 20, 0.5, 0),
    "19 collections, 85 % foreign": (19, 8, 300, 0.85, 0),
    "19 collections, 9 of which tell nothing": (19, 8, 300, 0.5, 9),
}
"""Their number, the least and the largest number of pictures, share of the foreign, how many tell nothing."""
CLAIMS: tuple[Claim, ...] = ("paragraph", "sentence")
ALL = LinkSettings().evidence
BLIND: tuple[Evidence, ...] = ("caption", "layout", "reference")


@dataclass(frozen=True, eq=False)
class Source:
    """A document of a publisher; ``cited`` has its vectors."""

    group: str
    publisher: str
    cited: Cited


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["fit", "report", "entrap", "shards", "simulate"])
    parser.add_argument("--data", type=Path, default=os.environ.get("ICONOTEXT_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("--work", type=Path, default=Path("default-model"))
    arguments = parser.parse_args()
    if arguments.command == "simulate":
        simulate()
        return
    folder = arguments.data / "documents"
    if arguments.command == "shards":
        paths = [folder / "cited/cited.jsonl", folder / "textbook/cited.jsonl"]
        report_shards([document for path in paths for document in read_corpus(path)])
        return
    encode, looking = text_encoder(), looking_with(unseen_by("cited figures", arguments.data, arguments.work))
    seen = [
        source
        for name in ("cited/cited.jsonl", "textbook/cited.jsonl")
        for source in sources(folder / name, encode, looking)
    ]
    text_only = folder / "cited_text" / "openstax.jsonl"
    if arguments.command == "entrap":
        genres = [
            source
            for name in ("build", "cooking", "garden_home")
            for source in sources(folder / name / "documents.jsonl", encode, looking, name)
        ]
        report_documents([*seen, *sources(text_only, encode, None), *genres], encode)
        return
    weights = cross_fitted(seen, encode)
    linked = link_sources(seen, encode, weights, ALL)
    if arguments.command == "fit":
        table = whole(calibration_of(((source.group, each) for source, each in linked), ALL))
        TARGET.write_text(dump_calibration(table), encoding="utf-8")
        print(f"wrote {TARGET.relative_to(ROOT)}")
        return
    report_claims(linked, [], ALL)
    unseen = link_sources(sources(text_only, encode, None), encode, weights, BLIND)
    blind = link_sources(seen, encode, weights, BLIND)
    report_claims(unseen, blind, BLIND)


def text_encoder() -> Encode:
    """What encodes texts, each once."""
    backbone = load_text_backbone()
    known: dict[str, FloatMatrix] = {}

    def encode(texts: Sequence[str]) -> FloatMatrix:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(new, backbone.encode(new), strict=True) if new else ())
        return np.stack([known[text] for text in texts]) if texts else np.zeros((0, backbone.dim), np.float32)

    return encode


def sources(path: Path, encode: Encode, looking: Looking | None, genre: str | None = None) -> list[Source]:
    """The documents of a corpus, without images that cannot be read; all of them where no image is looked at."""
    found = []
    for document in read_corpus(path):
        images = [replace(image, problem=None if looking is None else image.problem) for image in document.images]
        good = [j for j, image in enumerate(images) if image.problem is None]
        links = tuple((i, good.index(j)) for i, j in document.links or () if j in good)
        if not good:
            continue
        own = replace(document, images=tuple(images[j] for j in good), links=links)
        collection = genre or document.meta.get("repository") or document.meta.get("book") or document.id.split("/")[0]
        vectors = encode([sentence.text for sentence in own.sentences])
        if looking is None:
            cited = Cited(own, vectors, np.zeros((len(good), 1), np.float32), str(collection))
        else:
            seen = looking.rows([image.file or b"" for image in own.images])
            cited = Cited(own, vectors, seen, str(collection), looking.compare)
        found.append(Source(genre or group(own), genre or publisher(own), cited))
    return found


def pixels(source: Source) -> FloatMatrix:
    """(V, d) vectors of the images; (V, 1) where no image is looked at."""
    vectors = source.cited.image_vectors
    return np.zeros((len(source.cited.document.images), 1), np.float32) if vectors is None else vectors


def publisher(document: Document) -> str:
    meta = document.meta
    return str(meta.get("generator") or meta.get("book") or document.id.split("/")[0])


def group(document: Document) -> str:
    """One of three classes of documents."""
    made = document.meta.get("generator")
    return "openstax" if made is None else "old books" if made == "gutenberg" else "modern guides"


class Learned(NamedTuple):
    """What was fitted without a class of documents."""

    coefficients: dict[str, Coefficients]
    matcher: Matcher
    common: NDArray[np.float64]


def cross_fitted(seen: Sequence[Source], encode: Encode) -> dict[str, Learned]:
    """Class to what was fitted without it."""
    found = {}
    for left in sorted({source.group for source in seen}):
        others = [source.cited for source in seen if source.group != left]
        matcher = fit_matcher(captions(others, encode), encode([PROBE])[0])
        examples = [example(c, encode, weight=w, matcher=matcher) for c, w in variants(few(others), seed=0)]
        common = common_habit(examples)
        found[left] = Learned(fit_coefficients(examples, common), matcher, common)
    return found


def link_sources(
    found: Sequence[Source],
    encode: Encode,
    learned: dict[str, Learned],
    evidence: tuple[Evidence, ...],
    *,
    select: Selection = "best",
    min_confidence: float = 0.0,
) -> list[tuple[Source, LinkedDocument]]:
    """Every image with its best sentence, if nothing else is said, by the habits of each collection."""
    places: dict[str, list[tuple[str, PlaceEvidence]]] = {}
    for source in found:
        own, cited = learned[source.group], source.cited
        gathered = gather_evidence(
            [cited.document],
            [cited.similarity if "picture" in evidence else None],
            [Reading(encode, cited.sentence_vectors)],
            evidence=evidence,
            matcher=own.matcher,
        )
        (place,) = places_by_evidence(gathered, evidence=evidence, coefficients=own.coefficients)
        if place is not None:
            places.setdefault(cited.collection, []).append((cited.document.id, place))
    common = {source.cited.collection: learned[source.group].common for source in found}
    habits = {name: infer_habit(some, common[name]) for name, some in places.items()}
    return [
        (
            source,
            choose_links(
                source.cited.document,
                weigh_evidence(
                    source.cited.document,
                    source.cited.similarity if "picture" in evidence else None,
                    encode,
                    evidence=evidence,
                    sentence_vectors=source.cited.sentence_vectors,
                    coefficients=learned[source.group].coefficients,
                    matcher=learned[source.group].matcher,
                    habit=habits.get(source.cited.collection),
                ),
                select=select,
                min_confidence=min_confidence,
            ),
        )
        for source in found
    ]


def whole(table: Calibration) -> Calibration:
    """The kinds that all three classes have: a single one is too few to say what another will be like."""
    return {kind: classes for kind, classes in table.items() if len(classes) == 3}


def report_claims(
    linked: Sequence[tuple[Source, LinkedDocument]],
    others: Sequence[tuple[Source, LinkedDocument]],
    evidence: tuple[Evidence, ...],
) -> None:
    """One table for each claim: a line for each publisher of ``linked``, calibrated by all other publishers."""
    heads = [f"{a:.0%} | simple {a:.0%}" for a in ALPHAS] + ["own 10%"]
    for claim in CLAIMS:
        print(f"\nright {claim}, by {'+'.join(evidence)}\n\n| publisher | figures | right | {' | '.join(heads)} |")
        print("|---" * (3 + 2 * len(ALPHAS) + 1) + "|")
        lines = []
        for name in sorted({source.publisher for source, _ in linked}):
            test = [each for source, each in linked if source.publisher == name]
            own = next(source.group for source, _ in linked if source.publisher == name)
            calibrating = [
                (source.group, each)
                for source, each in (*linked, *others)
                # OpenStax is one publisher; of the generators each is.
                if source.publisher != name and not (own == source.group == "openstax")
            ]
            table = calibration_of(calibrating, evidence)
            kind = max(table, key=lambda kind: sum(map(len, table[kind].values())))
            documents = calibration_of((("", each) for each in test), evidence).get(kind, {}).get("", [])
            lines.append(publisher_line(documents, table[kind], claim))
            size, share = sum(map(len, documents)), np.mean([value(f, claim)[1] for rows in documents for f in rows])
            print(f"| {name} | {size} | {share:.0%} | " + " | ".join(map(cell, lines[-1])) + " |", flush=True)
        means = [
            f"{np.mean([m.share for m in column]):.1%} [{np.mean([m.power for m in column]):.0%}]"
            for column in zip(*lines, strict=True)
        ]
        print(f"| mean of the {len(lines)} | | | " + " | ".join(means) + " |", flush=True)


class Measured(NamedTuple):
    """Share of the kept that is false, its interval, and the share of the right that is kept."""

    share: float
    low: float
    high: float
    power: float


def cell(measured: Measured) -> str:
    if not measured.power and not measured.share:
        return "none kept"
    return f"{measured.share:.1%} ({measured.low:.0%}-{measured.high:.0%}) [{measured.power:.0%}]"


def publisher_line(
    documents: list[list[Figure]], classes: Mapping[str, list[list[Figure]]], claim: Claim
) -> list[Measured]:
    """For each share the promise and the simple rule; at last 10 % calibrated by half of the documents themselves."""
    found = []
    for alpha in ALPHAS:
        found.append(measure(documents, claim, partial(promised, alpha), classes))
        found.append(measure(documents, claim, partial(simple, alpha), classes))
    own = {"own": documents[::2]}
    return [*found, measure(documents[1::2] or documents, claim, partial(promised, 0.1), own)]


def promised(alpha: float, scores: NDArray[np.float64], p_values: NDArray[np.float64]) -> NDArray[np.bool_]:
    return benjamini_hochberg(p_values, alpha)


def simple(alpha: float, scores: NDArray[np.float64], p_values: NDArray[np.float64]) -> NDArray[np.bool_]:
    return scores >= 1 - alpha


def measure(
    documents: list[list[Figure]],
    claim: Claim,
    rule: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.bool_]],
    classes: Mapping[str, list[list[Figure]]],
) -> Measured:
    """What a rule keeps that sees the scores and p values of a run."""
    owner = np.repeat(np.arange(len(documents)), list(map(len, documents)))
    scores, right = np.array([value(figure, claim) for rows in documents for figure in rows], np.float64).T
    p = conformal_p_values(scores, classes, claim)
    rng = np.random.default_rng(0)
    rows = [np.flatnonzero(owner == n) for n in range(len(documents))]
    drawn = [np.concatenate([rows[n] for n in rng.integers(len(rows), size=len(rows))]) for _ in range(RESAMPLINGS)]
    low, high = np.quantile([false_share(rule(scores[some], p[some]), right[some]) for some in drawn], [0.025, 0.975])
    kept = rule(scores, p)
    return Measured(false_share(kept, right), low, high, right[kept].sum() / max(1.0, right.sum()))


def value(figure: Figure, claim: Claim) -> tuple[float, bool]:
    whole_figure = (figure.paragraph, figure.paragraph_right), (figure.sentence, figure.sentence_right)
    return whole_figure[claim == "sentence"]


def false_share(kept: NDArray[np.bool_], right: NDArray[np.float64]) -> float:
    return float(1 - right[kept].mean()) if kept.any() else 0.0


def report_documents(found: Sequence[Source], encode: Encode) -> None:
    """Own and foreign pictures against decoys: of the same collection, and of another kind, which are easier."""
    print("| collection | pictures | " + " | ".join(f"{a:.0%}" for a in ALPHAS) + " | decoys of another kind, 10% |")
    print("|---" * (3 + len(ALPHAS)) + "|")
    names = sorted({source.publisher for source in found})
    for name in names:
        own = [source for source in found if source.publisher == name][:MOST]
        if len(own) < 2:
            continue
        other = [s for s in found if s.group != own[0].group and pixels(s).shape[1] > 1]
        other = other if pixels(own[0]).shape[1] > 1 else [s for s in found if s.group != own[0].group]
        fair = [rivals(own, own, encode, seed) for seed in range(SEEDS)]
        unfair = [rivals(own, other, encode, seed) for seed in range(3)]
        cells = [entrapped(fair, alpha) for alpha in ALPHAS] + [entrapped(unfair, 0.1)]
        print(f"| {name} | {sum(len(s.cited.document.images) for s in own)} | " + " | ".join(cells) + " |", flush=True)


def rivals(own: Sequence[Source], decoys: Sequence[Source], encode: Encode, seed: int) -> FloatMatrix:
    """(n, 3) scores of pictures and of their decoys, and whether the picture is the document's own."""
    pool = DecoyPool()
    for source in decoys:
        pool.add(source.cited.document)
    vectors = {
        id_of(image): vector
        for source in (*own, *decoys)
        for image, vector in zip(source.cited.document.images, pixels(source), strict=True)
    }
    found = []
    for source in own:
        mixed, foreign = entrap(source, own, seed)
        both, pairs = pool.with_decoys(mixed)
        looked_at = pixels(source).shape[1] > 1
        seen = np.stack([vectors[id_of(image)] for image in both.images]) if looked_at else np.zeros((1, 1), np.float32)
        content: tuple[Evidence, ...] = ("picture", "caption") if looked_at else ("caption",)
        joined = replace(source.cited, document=both, image_vectors=seen)
        weighed = weigh_evidence(
            both,
            joined.similarity if looked_at else None,
            encode,
            evidence=content,
            sentence_vectors=source.cited.sentence_vectors,
        )
        linked = choose_links(both, weighed, select="best", min_confidence=0.0)
        best = {link.image: link.score for link in linked.links}
        found += [(best[j], best[k], j not in foreign) for j, (k, _) in pairs.items()]
    return np.array(found, np.float32).reshape(-1, 3)


def id_of(image: Image) -> tuple[object, ...]:
    return image.file, image.source, image.caption, image.alt


def entrap(source: Source, others: Sequence[Source], seed: int) -> tuple[Document, Collection[int]]:
    """The document with as many images of others as it has, and their numbers."""
    document = source.cited.document
    rng = np.random.default_rng([seed, len(document.sentences), len(document.images)])
    there = {(image.caption, image.alt, image.source) for image in document.images}
    pool = [i for o in others if o.cited.document.id != document.id for i in o.cited.document.images]
    pool = [image for image in pool if (image.caption, image.alt, image.source) not in there]
    number = min(len(document.images), len(pool))
    drawn = [pool[n] for n in rng.choice(len(pool), number, replace=False)] if number else []
    first = len(document.images)
    return replace(document, images=(*document.images, *drawn), links=None), range(first, first + number)


def report_shards(documents: Sequence[Document]) -> None:
    """Own and foreign pictures, kept over shards and in one collection."""
    found = [Source(group(each), publisher(each), Cited(each, NOTHING, NOTHING, "")) for each in documents]
    foreign, mixed = {}, []
    for source in found:
        document, put_in = entrap(source, [other for other in found if other.publisher == source.publisher], 0)
        foreign[document.id] = set(put_in)
        last = len(document.sentences)  # of its new document
        images = (replace(image, position=min(image.position or 0, last)) for image in document.images)
        mixed.append(replace(document, images=tuple(images)))
    own = sum(len(document.images) for document in documents)
    print(f"{len(documents)} documents, {own} pictures of their own, {sum(map(len, foreign.values()))} put in\n")
    print("| promised | kept over shards | false | power | documents kept otherwise without shards | each by itself |")
    print("|---" * 6 + "|")
    with TemporaryDirectory() as name:
        folder = Path(name)
        for first in range(0, len(mixed), SHARD):
            lines = (row_of(document, folder / "in").model_dump_json() for document in mixed[first : first + SHARD])
            write_lines(lines, folder / "in" / f"{first:05}.jsonl", force=False)
        for alpha in ALPHAS:
            linking = LinkSettings(max_false=alpha, promise="document", relations="none")
            outside = ShardSettings(to="jsonl", allow_outside=True)
            output = folder / f"{alpha:.0%}"
            link_shards([str(folder / "in")], str(output), linking=linking, settings=outside)
            rows = [json.loads(line) for path in sorted(output.glob("*.jsonl")) for line in path.open()]
            kept = {row["id"]: {link["image"] for link in row["links"]} for row in rows}
            alone = {
                linked.document.id: {link.image for link in linked.links}
                for linked in Linker.load(settings=linking).link_all(mixed)
                if isinstance(linked, LinkedDocument)
            }
            number = sum(map(len, kept.values()))
            wrong = sum(len(images & foreign[document]) for document, images in kept.items())
            other = sum(alone[document] != images for document, images in kept.items())
            share = f"{wrong / max(1, number):.1%} | {(number - wrong) / own:.0%}"
            each = each_by_itself(output / INNER / "linked" / "_candidates", foreign, own, alpha)
            print(f"| {alpha:.0%} | {number} | {share} | {other} of {len(kept)} | {each} |", flush=True)


def each_by_itself(folder: Path, foreign: Mapping[str, Collection[int]], own: int, alpha: float) -> str:
    """Share of the false and power, if each collection had a promise of its own and those were put together."""
    import pyarrow.parquet as pq

    rows = [row for path in sorted(folder.glob("*.parquet")) for row in pq.read_table(path).to_pylist()]
    rows = [row for row in rows if row["decoy"] is not None]
    names = np.array([str(row["collection"]) for row in rows])
    score, decoy = np.array([(row["own"], row["decoy"]) for row in rows]).T
    right = np.array([row["image"] not in foreign[row["document"]] for row in rows], np.float64)
    kept = np.zeros(len(rows), np.bool_)
    for some in (names == name for name in np.unique(names)):
        kept[some] = competition(score[some], decoy[some], alpha)
    return f"{false_share(kept, right):.1%} [{right[kept].sum() / own:.0%}]"


def entrapped(runs: Iterable[FloatMatrix], alpha: float) -> str:
    shares, powers = [], []
    for run in runs:
        kept = competition(run[:, 0].astype(np.float64), run[:, 1].astype(np.float64), alpha)
        shares.append(false_share(kept, run[:, 2].astype(np.float64)))
        powers.append(run[kept, 2].sum() / max(1.0, run[:, 2].sum()))
    error = 1.96 * np.std(shares, ddof=1) / np.sqrt(len(shares))
    return f"{np.mean(shares):.1%} (±{error:.1%}) [{np.mean(powers):.0%}]"


def simulate(runs: int = 2000) -> None:
    """Mean share of the false with its Monte Carlo interval, where the assumptions hold and where they are broken."""
    rng = np.random.default_rng(0)
    print("| what | " + " | ".join(f"{a:.0%}" for a in ALPHAS) + " |\n|---" + "|---" * len(ALPHAS) + "|")
    decoys = {"decoys like foreign pictures": 0.0, "decoys easier than foreign pictures": -0.7}
    for name, shift in decoys.items():
        shares = np.array([simulated_competition(rng, shift) for _ in range(runs)])
        print(f"| document, {name} | " + " | ".join(map(mean, shares.T)) + " |")
    kinds = {
        "calibration of the same kind": (0.0, 1),
        "two classes, pictures of either": (0.0, 2),
        "calibration of another kind": (1.5, 1),
        "pictures of one of two classes, the other easier": (1.5, 2),
    }
    for name, (shift, classes) in kinds.items():
        shares = np.array([simulated_selection(rng, shift, classes) for _ in range(runs)])
        print(f"| sentence, {name} | " + " | ".join(map(mean, shares.T)) + " |")
    simulate_collections(runs // 20)


def simulate_collections(runs: int) -> None:
    """The same of pictures of several collections, with the power, by rules for all and for each."""
    rng = np.random.default_rng(0)
    for scene in COLLECTIONS:
        drawn = [simulated_collections(rng, scene) for _ in range(runs)]
        for rule in drawn[0]:
            shares, powers = np.moveaxis(np.array([run[rule] for run in drawn]), 2, 0)
            cells = [f"{mean(a)} [{b.mean():.0%}]" for a, b in zip(shares.T, powers.T, strict=True)]
            print(f"| {scene}, {rule} | {' | '.join(cells)} |", flush=True)


def mean(shares: NDArray[np.float64]) -> str:
    return f"{shares.mean():.1%} (±{1.96 * shares.std() / np.sqrt(len(shares)):.1%})"


def simulated_competition(rng: np.random.Generator, shift: float) -> list[float]:
    """200 pictures, half of them foreign; decoys score less by ``shift``."""
    own = rng.random(200) < 0.5
    score, decoy = rng.normal(2.0 * own), rng.normal(shift, size=200)
    return [false_share(competition(score, decoy, alpha), own.astype(np.float64)) for alpha in ALPHAS]


def simulated_collections(rng: np.random.Generator, scene: str) -> dict[str, list[tuple[float, float]]]:
    """Rule to share of the false and power, for each promise, of one draw of collections."""
    number, low, high, foreign, nothing = COLLECTIONS[scene]
    sizes = rng.integers(low, high, number)
    names = np.repeat([str(n) for n in range(number)], sizes)
    level = np.repeat(rng.normal(0, 2, number), sizes)
    apart = np.where(np.arange(number) < nothing, 0.0, rng.uniform(1, 4, number))
    own = rng.random(len(names)) >= foreign
    score, decoy = rng.normal(level + np.repeat(apart, sizes) * own), rng.normal(level)
    found: dict[str, list[tuple[float, float]]] = {"one threshold": [], "each alone": [], "all together": []}
    for alpha in ALPHAS:
        alone = np.zeros(len(names), np.bool_)
        for some in (names == name for name in np.unique(names)):
            alone[some] = competition(score[some], decoy[some], alpha)
        together = competition(score, decoy, alpha, names.tolist())
        for rule, kept in zip(found, (competition(score, decoy, alpha), alone, together), strict=True):
            found[rule].append((false_share(kept, own.astype(np.float64)), (kept & own).sum() / own.sum()))
    return found


def simulated_selection(rng: np.random.Generator, shift: float, classes: int) -> list[float]:
    """30 documents of 1 to 8 figures, calibrated by 100 of each class; wrong ones of one score less by ``shift``."""

    def documents(number: int, less: float) -> list[list[Figure]]:
        made = []
        for _ in range(number):
            easy, size = rng.normal(scale=0.7), rng.integers(1, 9)
            right = rng.random(size) < 1 / (1 + np.exp(-0.5 - easy))
            scores = rng.normal(np.where(right, 2.0, -less)) + easy
            made.append([Figure(s, bool(r), s, bool(r)) for s, r in zip(scores, right, strict=True)])
        return made

    table = {"easier": documents(100, shift)}
    if classes == 2:
        table["the same"] = documents(100, 0.0)
    rows = [figure for document in documents(30, 0.0) for figure in document]
    scores, right = np.array([(figure.sentence, figure.sentence_right) for figure in rows]).T
    p = conformal_p_values(scores, table, "sentence")
    return [false_share(benjamini_hochberg(p, alpha), right) for alpha in ALPHAS]


if __name__ == "__main__":
    main()
