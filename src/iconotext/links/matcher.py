"""Which sentence a caption goes with, learned from sentences that cite figures.

A general sentence encoder says how alike two texts are; a sentence that cites a figure need not be like its caption.
The matcher adds to the cosine what authors' citations have taught: two small projections of the encoder's vectors, one
for captions and one for sentences, and a direction in which sentences that cite differ from others. It is trained by
``benchmarks/evidence.py`` on vectors of the encoder that ships, and for others the cosine alone stands in its place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

PROBE = "A photograph shows what the figure is about."
"""The vector of this sentence tells whether vectors come from the encoder that the matcher was trained on."""

_SAME = 0.99  # cosine; rounding and precision of the same encoder stay far above, another encoder far below
_TYPICAL_MEAN, _TYPICAL_SPREAD = 0.2, 0.14  # of that encoder's cosines within a document


@dataclass(frozen=True, slots=True, eq=False)
class Matcher:
    """The weights; d dimensions of the encoder, r of the projections.

    Attributes:
        captions: (r, d) projection of captions.
        sentences: (r, d) projection of sentences.
        citing: (d,) what a sentence that cites has more of.
        scale: Weights of the cosine, of the projections' product and of ``citing``.
        probe: (d,) vector of ``PROBE``.
        cosine: Centre and spread of another encoder's cosines, which then speak alone; None for the encoder that
            the matcher was trained on.
    """

    captions: FloatMatrix
    sentences: FloatMatrix
    citing: FloatMatrix
    scale: FloatMatrix
    probe: FloatMatrix
    cosine: tuple[float, float] | None = None

    def fitting(self, probe: FloatMatrix, centre: float | np.float32, spread: float | np.float32) -> Matcher:
        """The matcher for the encoder that gives ``probe``, (d',), for ``PROBE``.

        Args:
            probe: Its vector of that sentence.
            centre: Mean of its cosines among the sentences of the document, for encoders it does not know.
            spread: Their standard deviation.
        """
        known = probe.shape == self.probe.shape and float(probe @ self.probe) > _SAME
        return self if known else replace(self, cosine=(float(centre), float(spread)))

    def match(self, sentences: FloatMatrix, captions: FloatMatrix) -> FloatMatrix:
        """(S, V) log-odds of S sentences' vectors for V captions'."""
        cosines = sentences @ captions.T
        if self.cosine is not None:
            centre, spread = self.cosine
            cosines = _TYPICAL_MEAN + _TYPICAL_SPREAD * (cosines - np.float32(centre)) / np.float32(spread)
            return np.asarray(self.scale[0] * cosines, np.float32)
        learned = (sentences @ self.sentences.T) @ (captions @ self.captions.T).T
        return np.asarray(self.scale[0] * cosines + self.scale[1] * learned, np.float32)

    def cites(self, sentences: FloatMatrix) -> FloatMatrix:
        """(S,) how much the sentences are like those that cite; 0 for another encoder."""
        if self.cosine is not None:
            return np.zeros(len(sentences), np.float32)
        return np.asarray(self.scale[2] * (sentences @ self.citing), np.float32)


WEIGHTS = ("captions", "sentences", "citing", "scale", "probe")
"""The arrays of a matcher's file."""


@cache
def load_matcher() -> Matcher:
    """The matcher that ships with the package."""
    from safetensors.numpy import load_file

    with as_file(files("iconotext.links").joinpath("matcher.safetensors")) as path:
        weights = load_file(path)
    captions, sentences, citing, scale, probe = (weights[name].astype(np.float32) for name in WEIGHTS)
    return Matcher(captions, sentences, citing, scale, probe)
