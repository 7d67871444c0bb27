"""The difficulty of the documents of a corpus, by vectors of their images and sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.errors import CorpusError
from iconotext.papers.analyses.difficulty import Difficulty, explain
from iconotext.papers.analyses.settings import DifficultySettings

if TYPE_CHECKING:
    from iconotext.encoder import Encoder
    from iconotext.evaluate.results import Evaluation
    from iconotext.types import Document, FloatMatrix


@dataclass(slots=True)
class DocumentVectors:
    """What ``iconotext.papers.analyses.difficulty`` explains, one entry for each document.

    Attributes:
        aucs: 0 to 1.
        images: (images that can be read, dim) each.
        sentences: (sentences, dim) each.
        left_out: Ids of the documents of which no picture can be read.
    """

    aucs: list[float] = field(default_factory=list)
    images: list[FloatMatrix] = field(default_factory=list)
    sentences: list[FloatMatrix] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def corpus_difficulty(
    evaluation: Evaluation,
    corpus: Path,
    settings: DifficultySettings,
    *,
    progress: Callable[[Iterable[Document]], Iterable[Document]] = iter,
) -> tuple[Difficulty, list[str]]:
    """Explain the AUC of the documents of a corpus.

    Returns:
        What explains the AUC, and the ids of documents that are left out because none of their images can be read.

    Raises:
        CorpusError, FeatureError, SettingError: See ``document_vectors``, ``load_bridge``, ``explain``.
    """
    from iconotext.corpus.store import read_corpus
    from iconotext.encoder import load_bridge

    encoder = load_bridge(
        **settings.model_dump(exclude={"dimensions"}),
        texts=(sentence.text for document in read_corpus(corpus) for sentence in document.sentences),
    )
    scored = {each.id for each in evaluation.defined}
    documents = (each for each in read_corpus(corpus) if each.id in scored)
    vectors = document_vectors(evaluation, progress(documents), encoder)
    found = explain(vectors.aucs, vectors.images, vectors.sentences, dimensions=settings.dimensions)
    return found, vectors.left_out


def document_vectors(evaluation: Evaluation, documents: Iterable[Document], encoder: Encoder) -> DocumentVectors:
    """Encode the documents that have an AUC.

    Args:
        documents: In any order; those without an AUC are passed over.
        encoder: Its text backbone gives the vectors of the sentences, its image backbone's pooled features those of the
            images.

    Raises:
        CorpusError: A document is missing, or is not the one that was evaluated.
    """
    scored = {document.id: document for document in evaluation.defined}
    found = DocumentVectors()
    for document in documents:
        record = scored.pop(document.id, None)
        if record is None or record.auc is None:
            continue
        if (record.sentences, record.images) != (len(document.sentences), len(document.images)):
            raise CorpusError(
                f"document {document.id!r} had {record.sentences} sentences and {record.images} images when it was "
                f"evaluated, now it has {len(document.sentences)} and {len(document.images)}: evaluate it again"
            )
        features = encoder.image_source.look(document.images).features
        good = [number for number, problem in enumerate(features.problems) if problem is None]
        if not good:
            found.left_out.append(document.id)
            continue
        found.aucs.append(record.auc)
        found.images.append(features.pooled[good])
        found.sentences.append(encoder.text_backbone.encode([sentence.text for sentence in document.sentences]))
    if scored:
        raise CorpusError(
            f"the corpus lacks {len(scored)} of the documents in the results, such as {next(iter(scored))!r}: name the "
            "corpus they were made from"
        )
    return found
