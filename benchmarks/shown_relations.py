"""Which relations readers are shown: how many links show any, and which, by the rule and without it.

    python benchmarks/shown_relations.py

It links the documents of every kind in the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout)
with all evidence. For each kind it prints how many of the links of English documents show a relation, and how many each
one: where it is likelier than not ("before"), and where it is also far above what is usual in its document ("now";
``report/shown_relations.py``). The last table is what is typical: the mean log-odds over all these links, as a
probability.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from data_folder import parser_with_data

from iconotext.corpus.store import read_corpus
from iconotext.linker import Linker
from iconotext.report.relations import LABELS, LIKELY, shown_relations

KINDS = ("build", "cooking", "garden_home", "textbook")


def main() -> None:
    data = parser_with_data(__doc__).parse_args().data
    linker = Linker.load()
    everything: list[list[float]] = []
    print(f"| documents | links | rule | show any | {' | '.join(LABELS)} |")
    print("|---|---:|---|---:|" + "---:|" * len(LABELS))
    documents = 0
    for kind in KINDS:
        links, before, now = 0, Counter[str](), Counter[str]()
        for document in read_corpus(data / "documents" / kind / "documents.jsonl"):
            found = [link for link in linker.link(document).links if link.relations is not None]
            documents += bool(found)
            shown = shown_relations(found)
            for link in found:
                relations = link.relations or {}
                links += 1
                everything.append([relations[name] for name in LABELS])
                _count(before, [name for name in LABELS if relations[name] >= LIKELY])
                _count(now, [relation.name for relation, _ in shown[link.sentence, link.image]])
        for rule, counts in (("before", before), ("now", now)):
            each = " | ".join(str(counts[name]) for name in LABELS)
            print(f"| {kind} | {links} | {rule} | {counts['any'] / links:.0%} | {each} |")
    kept = np.clip(everything, 1e-5, 1 - 1e-5)
    usual = 1 / (1 + np.exp(-np.log(kept / (1 - kept)).mean(axis=0)))
    print(f"\nUsual in {documents} documents: {', '.join(f'{n} {p:.2f}' for n, p in zip(LABELS, usual, strict=True))}")


def _count(counts: Counter[str], names: list[str]) -> None:
    counts.update(names)
    counts["any"] += bool(names)


if __name__ == "__main__":
    main()
