"""Measure a matcher of your own, here words in common with the caption, on a corpus: own_scores.py CORPUS."""

import sys

import numpy as np

from iconotext import read_corpus
from iconotext.evaluate import Scored, evaluate

if len(sys.argv) != 2:
    sys.exit(__doc__)
scored = []
for document in read_corpus(sys.argv[1]):
    captions = [set((image.caption or "").lower().split()) for image in document.images]
    texts = [set(sentence.text.lower().split()) for sentence in document.sentences]
    scores = np.array([[len(words & caption) for caption in captions] for words in texts], dtype=np.float32)
    scored.append(Scored(document.id, scores, document.links))
found = evaluate(scored)
if not found.defined:
    sys.exit(f"{sys.argv[1]}: no document has gold links to measure with")
print({name: round(mean, 1) for name, mean in found.means.items()}, found.intervals["auc"])
