"""The weights of the words in pictures, fitted on figures that a sentence cites; needs the extra ``ocr``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fitting.evidence import DECIDE
from fitting.fit_evidence import dump_coefficients, fitted_features
from fitting.fit_logit import Added, fit_added
from iconotext.corpus.store import read_corpus
from iconotext.decide.combine import load_coefficients, weigh_evidence
from iconotext.encoders.encoder import Encoder
from iconotext.encoders.load import load_encoder
from iconotext.evidence.caption import Reading
from iconotext.features import FeatureCache
from iconotext.features.cached_backbones import cached_lines
from iconotext.features.ocr import load_line_reader, with_lines
from iconotext.system.files import write_text
from iconotext.types import Document, Evidence

if TYPE_CHECKING:
    from iconotext.encoders.encoder import EncodedDocument

OTHERS: tuple[Evidence, ...] = ("picture", "caption", "layout")


def make(data: Path, work: Path) -> dict[str, Any]:
    """Write the entry ``ocr`` of ``coefficients.json``."""
    documents, encoder = read_figures(read_corpus(data / "documents" / "cited" / "cited.jsonl"))
    fitted = fit_added([each for document in documents for each in written(document, encoder)])
    coefficients = dump_coefficients({**load_coefficients(), "ocr": fitted})
    write_text(DECIDE / "coefficients.json", coefficients, force=True)
    return {"documents": len(documents)}


def read_figures(corpus: Iterable[Document]) -> tuple[list[EncodedDocument], Encoder]:
    """Documents with the words in their pictures, and the encoder that encoded them; both are cached."""
    reader, encoder = cached_lines(load_line_reader(), FeatureCache()), load_encoder()
    return [encoder.read(with_lines(document, reader)) for document in corpus], encoder


def written(encoded: EncodedDocument, encoder: Encoder) -> list[Added]:
    """What the fit of the words needs of a document: with all other evidence, and without captions."""
    document, encode, vectors = encoded.document, encoder.text_backbone.encode, encoded.caption_vectors
    features = fitted_features(document, None, Reading(encode, vectors), evidence=["ocr"]).get("ocr", {})
    found = []
    for evidence in (OTHERS, ("picture", "layout")):
        others = weigh_evidence(document, encoded.similarity, Reading(encode, vectors), evidence=evidence)
        positive = np.zeros(others.score.shape, np.bool_)
        for i, j in document.links or ():
            positive[i, j] = True
        found.append(Added(features, positive, others.score))
    return found
