"""``iconotext evaluate``: how well a model finds the links of a corpus, and whether it does better than another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import BaseModel, ConfigDict, Field

from iconotext.cli import complete
from iconotext.cli.common import check_unused, known_errors, progress
from iconotext.cli.evaluate_table import show
from iconotext.cli.options import (
    LINKING,
    Download,
    Runtime,
    SettingsPanel,
    Split,
    Threads,
    argument,
    option,
    settings_options,
)
from iconotext.cli.output import complain, say_json
from iconotext.errors import CorpusError, SettingError
from iconotext.extras import require
from iconotext.pipeline import LinkSettings

if TYPE_CHECKING:
    from iconotext.evaluate import Evaluation
    from iconotext.evaluate.corpus_part import CorpusPart
    from iconotext.papers.analyses.object_detection import ObjectDetection
    from iconotext.types import Document


class Protocol(StrEnum):
    """What is measured."""

    LINKS = "links"
    REORDER = "reorder"


class EvaluateSettings(BaseModel):
    """How a model is measured."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    seed: int = Field(0, ge=0)
    """Seed of the intervals, the permutations, the pools, the shuffles and the random baseline."""

    resamplings: int = Field(2000, ge=100)
    """How often the documents, or pairs, are drawn anew for an interval."""

    draws: int = Field(10, ge=1)
    """How many pools are drawn, with --pool, or how often pictures are shuffled, with --protocol reorder."""

    word_vectors: Path | None = None
    """word2vec or GloVe file for object-detection (default: the text backbone)."""

    word_dim: int = Field(300, ge=1)
    """Length of the vectors in that file."""


@dataclass(frozen=True)
class Report:
    """What came of one model, for object detection with both choices of K."""

    name: str
    evaluation: Evaluation
    detection: ObjectDetection | None = None


@settings_options
def evaluate(
    model: Annotated[
        str,
        argument(
            help="default, no-training (the concept bridge), a model folder, the name of a dual encoder such as CLIP, "
            "or a baseline: random, object-detection.",
            autocompletion=complete.models,
        ),
    ],
    corpus: Annotated[Path, argument(help="Corpus with gold links, or a folder of shards.")],
    split: Annotated[Split | None, option(help="Part of the corpus (default: all).")] = None,
    linking: Annotated[
        LinkSettings,
        replace(
            LINKING,
            only=("evidence", "text", "image", "concepts", "cache", "max_false", "promise"),
            defaults={"evidence": ("picture",)},
        ),
    ] = LinkSettings(),
    settings: Annotated[EvaluateSettings, SettingsPanel("Measuring")] = EvaluateSettings(),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
    results: Annotated[Path | None, option(help="Parquet file to write the scores of every document to.")] = None,
    compare: Annotated[
        str | None, option(metavar="MODEL", help="Another model, or its results file, to compare with.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a results file that is there.")] = False,
    protocol: Annotated[
        Protocol,
        typer.Option(
            help="links: find the gold links. reorder: shuffle each document's pictures, and put them back by content "
            "(COHERENCE); needs no gold links."
        ),
    ] = Protocol.LINKS,
    pool: Annotated[
        int | None,
        option(
            min=1, metavar="N", help="Measure retrieval instead: how far down a text finds its own picture among N."
        ),
    ] = None,
    refine: Annotated[
        str | None,
        option(
            metavar="λ,T",
            help="With --pool: refine hard queries by the relations (none: do not; default: as `analyze refinement` "
            "left it in the model's folder).",
        ),
    ] = None,
    threads: Threads = None,
    runtime: Runtime = None,
    download: Download = False,
) -> None:
    """Measure how well a model finds the gold links of a corpus.

    AUC and p@1, p@5 are means over documents; image@1 is the share of the pictures with links whose best sentence is
    one of them. Each has its 95 % interval. Documents without a defined AUC are left out, counted and named.

    **Examples**

    - `iconotext evaluate default corpus.jsonl --split test`
    - `iconotext evaluate models/mine corpus.jsonl --split test --compare default`
    - `iconotext evaluate default corpus.jsonl --results default.parquet --json | jq .auc`
    - `iconotext evaluate object-detection corpus.jsonl --split test --word-vectors GoogleNews.bin.gz`
    - `iconotext evaluate default articles.jsonl --evidence picture,caption,layout`
    - `iconotext evaluate models/cmcm clue.jsonl --split test --pool 500 --refine 0.12,0.1`
    - `iconotext evaluate default articles.jsonl --protocol reorder`
    """
    with known_errors(download=download):
        if protocol is Protocol.REORDER:
            from iconotext.cli.evaluate_reorder import evaluate_reorder

            others = {"--results": results, "--compare": compare, "--force": force, "--pool": pool, "--refine": refine}
            check_unused(others, "does not go with --protocol reorder: leave it out")
            evaluate_reorder(model, corpus, split, as_json=as_json, settings=settings, linking=linking)
            return
        if pool is not None or refine is not None:
            from iconotext.cli.evaluate_retrieval import evaluate_retrieval

            others = {"--results": results, "--compare": compare, "--force": force}
            others |= {f"--{name}": True for name in sorted(linking.model_fields_set - {"cache", "image"})}
            check_unused(others, "is for links: leave it out, or leave out --pool")
            evaluate_retrieval(
                model, corpus, split, pool=pool, refine=refine, as_json=as_json, settings=settings, linking=linking
            )
            return
        check_unused(
            {"--draws": "draws" in settings.model_fields_set},
            "is for retrieval and reordering: add --pool 500, or --protocol reorder",
        )
        from iconotext.evaluate import Results, read_results, write_results
        from iconotext.evaluate import compare as compared
        from iconotext.evaluate.corpus_part import corpus_part
        from iconotext.write import check_overwrite

        if results is not None:
            require("parquet", purpose="--results, a table of Parquet,")
            check_overwrite(results, force)
        other = None
        if compare is not None and compare.lower().endswith(".parquet"):
            read = read_results(Path(compare), resamplings=settings.resamplings, seed=settings.seed)
            other = Report(read.model or Path(compare).stem, read.evaluation)
        check_names(linking, model, *([compare] if compare is not None and other is None else []))
        chosen = corpus_part(corpus, split and split.value)
        report = evaluate_model(model, chosen, linking, settings)
        if not report.evaluation.defined:
            raise CorpusError(f"{corpus}: {nothing_measured(report.evaluation)}")
        if results is not None:
            about = {"model": model, "corpus": corpus.name, "split": chosen.split, "evidence": linking.evidence}
            write_results(Results(report.evaluation, about), results, force=force)
        if compare is not None and other is None:
            other = evaluate_model(compare, chosen, linking, settings)
        comparison = None
        if other is not None:
            comparison = compared(
                report.evaluation, other.evaluation, resamplings=settings.resamplings, seed=settings.seed
            )
        if as_json:
            found = as_dict(report, chosen)
            if other is not None and comparison is not None:
                found["comparison"] = {
                    "model": other.name,
                    **{metric: asdict(each) for metric, each in comparison.items()},
                }
            say_json(found)
        else:
            show(report, other, comparison, chosen)


def check_names(linking: LinkSettings, *models: str) -> None:
    """Raise ``FeatureError`` where a model or backbone is mistyped, before a long corpus is read."""
    from iconotext.features import check_backbones, find_model
    from iconotext.features.model_folder import MODELS

    for model in models:
        find_model(model, (*MODELS, "random", "object-detection"))
    check_backbones(linking.text, linking.image)


def nothing_measured(evaluation: Evaluation) -> str:
    """Why there is no figure at all, and what may help."""
    reasons = Counter(document.undefined for document in evaluation.undefined)
    undefined = "; ".join(f"{number:,} because {why}" for why, number in reasons.most_common(3))
    return (
        f"none of {len(evaluation.undefined):,} documents can be measured ({undefined}); give a corpus with gold "
        "links, as `iconotext corpus build folder --links adjacent` makes, and for pairs of a text and a picture --pool"
    )


def evaluate_model(model: str, chosen: CorpusPart, linking: LinkSettings, settings: EvaluateSettings) -> Report:
    """Score the documents with a model or a baseline, showing progress; ``IconotextError`` where it cannot."""
    from iconotext.evaluate import evaluate as evaluated
    from iconotext.evaluate.scores import score_documents

    linking = looking_beside(linking, model, chosen.path)
    if model == "object-detection":
        return _object_detection(chosen, linking, settings)
    scores = score_documents(model, chosen.documents(), linking, seed=settings.seed, say=complain)
    scored = progress(scores, total=chosen.count, label="Evaluating")
    return Report(model, evaluated(scored, resamplings=settings.resamplings, seed=settings.seed))


def looking_beside(linking: LinkSettings, model: str, corpus: Path) -> LinkSettings:
    """The settings, with the features beside the corpus for a model that looks them up, unless others are named."""
    from iconotext.corpus.feature_files import own_features

    return linking.model_copy(update={"image": linking.image or own_features(model, corpus)})


def _object_detection(chosen: CorpusPart, linking: LinkSettings, settings: EvaluateSettings) -> Report:
    from iconotext.encoder import load_bridge
    from iconotext.papers.analyses.object_detection import evaluate_object_detection

    if set(linking.evidence) != {"picture"}:
        raise SettingError("object-detection uses the picture only: leave --evidence out")
    # K is chosen on other documents than those it is reported on, or not at all.
    validation = chosen.splits["validation"] if chosen.split in ("test", "train") else 0
    encoder = load_bridge(
        image=linking.image,
        text=linking.text,
        cache=linking.cache,
        word_vectors=settings.word_vectors,
        word_dim=settings.word_dim,
        texts=(sentence.text for document in chosen.of(None) for sentence in document.sentences),
    )
    detection = evaluate_object_detection(
        _with_warnings(progress(chosen.documents(), total=chosen.count, label="Evaluating")),
        progress(chosen.of("validation"), total=validation, label="Choosing K") if validation else (),
        encoder,
        resamplings=settings.resamplings,
        seed=settings.seed,
    )
    return Report("object-detection", detection.best, detection)


def _with_warnings(documents: Iterable[Document]) -> Iterator[Document]:
    from iconotext.evaluate.scores import UnseenImages

    unseen = UnseenImages(complain)
    for document in documents:
        unseen.see(document)
        yield document
    unseen.finish()


def as_dict(report: Report, chosen: CorpusPart) -> dict[str, Any]:
    """What ``--json`` prints of one model."""
    found = report.evaluation.as_dict(model=report.name, corpus=str(chosen.path), split=chosen.split)
    if report.detection is not None:
        detection = report.detection
        found["k"] = detection.k
        found["chosen_on_validation"] = None
        if detection.chosen is not None:
            found["chosen_on_validation"] = {
                "k": detection.validation_k,
                **detection.chosen.means,
                "intervals": {name: list(pair) for name, pair in detection.chosen.intervals.items() if pair},
            }
    return found
