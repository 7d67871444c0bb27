"""Documents in other languages than English: the right sentence first, by words and places.

    python benchmarks/other_languages.py

Needs the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout). The documents: cited figures in
Korean, Portuguese and Vietnamese, of which nothing is fitted. Their language is declared, as readers of files find it,
so that the English encoder compares nothing. Linked together, they share a habit and the share of captions that say
nothing; alone, each is linked as a single file is. In brackets 95 % intervals from 2,000 resamplings of the documents;
ECE is the expected calibration error of the best sentence.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from silent_captions import KINDS, ROOT, calibration_error, interval, tested

from iconotext import Document, Linker, LinkSettings
from iconotext.corpus.store import read_corpus

LANGUAGES = {"ko": "Korean", "pt": "Portuguese", "vi": "Vietnamese"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("ICONOTEXT_DATA", ROOT.parent / "shared" / "data"))
    folder = parser.parse_args().data / "documents" / "languages"
    print("| documents | caption | layout | all, together | ECE | all, alone | ECE |\n|---|---|---|---|---|---|---|")
    for code, name in LANGUAGES.items():
        report(name, [replace(each, language=code) for each in read_corpus(folder / f"{code}.jsonl")])


def report(name: str, documents: Sequence[Document]) -> None:
    cells = []
    for kinds in KINDS:
        linker = Linker.load("default", LinkSettings(evidence=kinds, relations="none", k=1, min_confidence=0.0))
        figures = list(tested(linker.link_all(documents)))
        cells.append(interval(figures))
    cells.append(f"{calibration_error(figures):.1f}")
    alone = list(tested(map(linker.link, documents)))
    cells += [interval(alone), f"{calibration_error(alone):.1f}"]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
