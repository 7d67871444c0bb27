"""``iconotext papers analyze detection``: the object detection baseline on a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from iconotext.cli.common import known_errors, progress
from iconotext.cli.evaluate import Report, as_dict, show, with_feature_table
from iconotext.cli.options import LINKING, Download, Force, Json, WholeSplit, argument, option, settings_options
from iconotext.cli.output import complain, say_json
from iconotext.linker import LinkSettings
from iconotext_papers.analyses.settings import AnalysisSettings

if TYPE_CHECKING:
    from iconotext.evaluate.score_documents import CorpusPart
    from iconotext.types import Document
    from iconotext_papers.analyses.object_detection import ObjectDetection


class DetectionSettings(AnalysisSettings):
    """How the baseline is measured."""

    word_vectors: Path | None = None
    """word2vec or GloVe file (default: the text backbone)."""

    word_dim: int = Field(300, ge=1)
    """Length of the vectors in that file."""

    resamplings: int = Field(2000, ge=100)
    """Samples of the documents for an interval."""

    seed: int = Field(0, ge=0)
    """Seed of the intervals."""


Backbones = Annotated[LinkSettings, replace(LINKING, only=("text", "image", "concepts", "cache"))]
"""How pictures and texts are encoded."""


@settings_options
def detection(
    corpus: Annotated[Path, argument(help="Corpus with gold links and picture files.")],
    split: WholeSplit = None,
    linking: Backbones = LinkSettings(),
    settings: DetectionSettings = DetectionSettings(),
    results: Annotated[Path | None, option(help="Parquet file to write the scores of every document to.")] = None,
    download: Download = False,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Measure object detection: class names of pictures and word vectors of sentences, without any training.

    The table has the K that is best on these documents, as the paper, and the one that is best on the validation
    documents.

    **Example**

    - `iconotext papers analyze detection c.jsonl --word-vectors GoogleNews.bin.gz`
    """
    with known_errors(download=download):
        from iconotext.evaluate import Results, write_results
        from iconotext.evaluate.score_documents import corpus_part
        from iconotext.system.files import check_overwrite

        if results is not None:
            check_overwrite(results, force)
        chosen = corpus_part(corpus, split)
        found = _measured(chosen, with_feature_table(linking, "no-training", corpus), settings)
        best = Report(f"object-detection, K = {found.k} (best on these documents)", found.best)
        validated = None
        if found.chosen is not None:
            validated = Report(f"object-detection, K = {found.validation_k} (chosen on validation)", found.chosen)
        if results is not None:
            about = {"model": "object-detection", "corpus": corpus.name, "split": chosen.split}
            write_results(Results(found.best, about), results, force=force)
        if as_json:
            say_json(_as_dict(found, chosen))
        else:
            show(best, validated, None, chosen)


def _measured(chosen: CorpusPart, linking: LinkSettings, settings: DetectionSettings) -> ObjectDetection:
    from iconotext.encoders.load import load_bridge
    from iconotext_papers.analyses.object_detection import evaluate_object_detection

    # K is chosen on other documents than those of the results, or not at all.
    validation = chosen.splits["validation"] if chosen.split in ("test", "train") else 0
    encoder = load_bridge(
        image=linking.image,
        text=linking.text,
        cache=linking.cache,
        word_vectors=settings.word_vectors,
        word_dim=settings.word_dim,
        texts=(sentence.text for document in chosen.of(None) for sentence in document.sentences),
    )
    return evaluate_object_detection(
        _with_warnings(progress(chosen.documents(), total=chosen.count, label="Evaluating")),
        progress(chosen.of("validation"), total=validation, label="Choosing K") if validation else (),
        encoder,
        resamplings=settings.resamplings,
        seed=settings.seed,
    )


def _with_warnings(documents: Iterable[Document]) -> Iterator[Document]:
    from iconotext.evaluate.score_documents import UnseenImages

    unseen = UnseenImages(complain)
    for document in documents:
        unseen.see(document)
        yield document
    unseen.finish()


def _as_dict(found: ObjectDetection, chosen: CorpusPart) -> dict[str, object]:
    values = as_dict(Report("object-detection", found.best), chosen) | {"k": found.k, "chosen_on_validation": None}
    if found.chosen is not None:
        intervals = {name: list(pair) for name, pair in found.chosen.intervals.items() if pair}
        values["chosen_on_validation"] = {"k": found.validation_k, **found.chosen.means, "intervals": intervals}
    return values
