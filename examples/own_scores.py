"""Measure a matcher of your own, here words in common with the caption, on a corpus: own_scores.py [CORPUS].

Prints

    {'auc': ...
"""

import sys
from pathlib import Path

import numpy as np
from shapes import write_shapes

from iconotext import read_corpus
from iconotext.evaluate import Scored, evaluate

corpus = Path(sys.argv[1]) if len(sys.argv) > 1 else write_shapes(Path("shapes"))
scored = []
for document in read_corpus(corpus):
    captions = [set((image.caption or "").lower().split()) for image in document.images]
    texts = [set(sentence.text.lower().split()) for sentence in document.sentences]
    scores = np.array([[len(words & caption) for caption in captions] for words in texts], dtype=np.float32)
    scored.append(Scored(document.id, scores, document.links))
found = evaluate(scored)
if not found.defined:
    sys.exit(f"{corpus}: no document has gold links to measure with")
print({name: round(mean, 2) for name, mean in found.means.items()}, found.intervals["auc"])
