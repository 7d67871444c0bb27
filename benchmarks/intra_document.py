"""Is there anything left for the intra-document objective (Li 2021, Eq. 2) where a model was trained without it?

    python benchmarks/intra_document.py MODEL CORPUS [--documents 300]

MODEL is a folder, such as ``reproduced/li2021/3/models/cross``, CORPUS what it was trained on. Prints by how much the
likely links of its training documents exceed the unlikely ones (TK - NegTK, means over 2k edges, k = min(n, m)), and
the share of documents in which that is less than the objective asks for, half of a margin of 0.2.
"""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from iconotext import Linker
from iconotext.corpus.store import read_corpus
from iconotext.linker import LinkSettings
from iconotext.similarity.sets import negative_similarities, set_similarity
from iconotext.types import Document

MARGIN = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--documents", type=int, default=300)
    arguments = parser.parse_args()
    linker = Linker.load(arguments.model, LinkSettings(evidence=("picture",)))
    documents = islice(read_corpus(arguments.corpus, split="train"), arguments.documents)
    gaps = np.array([gap(linker, document) for document in documents])
    print(
        f"{len(gaps)} documents: mean gap {gaps.mean():.3f}, below {MARGIN:g} in {100 * (gaps < MARGIN).mean():.1f} %"
    )


def gap(linker: Linker, document: Document) -> float:
    """How much a document's likely links exceed its unlikely ones."""
    cosines = torch.from_numpy(linker.link(document).similarity)
    sentences, images = cosines.shape
    likely = set_similarity(cosines, kind="top-k") / 2
    unlikely = negative_similarities(cosines, [sentences], [images], kind="top-k", directions="mean")[0]
    return float(likely - unlikely)


if __name__ == "__main__":
    main()
