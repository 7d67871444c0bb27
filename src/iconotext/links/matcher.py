"""Matches captions with sentences, learned from sentences that cite figures.

A sentence encoder measures how similar two texts are, but a sentence that cites a figure need not be similar to its
caption. So the matcher adds to the cosine two small learned projections of the encoder's vectors, one for captions and
one for sentences, and a direction in which sentences that cite differ from others. ``benchmarks/evidence.py`` trains it
on vectors of the encoder in the package; for any other encoder it uses the cosine alone.
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
"""The vector of this sentence shows whether an encoder is the one that the matcher was trained on."""

_SAME = 0.99  # cosine of two vectors of ``PROBE``: far above it for the same encoder, far below for another one
_TYPICAL_MEAN, _TYPICAL_SPREAD = 0.2, 0.14  # of that encoder's cosines within a document


@dataclass(frozen=True, slots=True, eq=False)
class Matcher:
    """The weights; d dimensions of the encoder, r of the projections.

    Attributes:
        captions: (r, d) projection of captions.
        sentences: (r, d) projection of sentences.
        citing: (d,) direction of sentences that cite.
        scale: (3,) weights of the cosine, of the projections' product and of ``citing``.
        probe: (d,) vector of ``PROBE``.
        cosine: Mean and standard deviation of another encoder's cosines, which are then used alone; None for the
            encoder that the matcher was trained on.
    """

    captions: FloatMatrix
    sentences: FloatMatrix
    citing: FloatMatrix
    scale: FloatMatrix
    probe: FloatMatrix
    cosine: tuple[float, float] | None = None

    def fitting(self, probe: FloatMatrix, centre: float | np.float32, spread: float | np.float32) -> Matcher:
        """The matcher for an encoder.

        Args:
            probe: (d',) the encoder's vector of ``PROBE``.
            centre: Mean cosine among the sentences of the document; used if the encoder is another one.
            spread: Standard deviation of these cosines.
        """
        known = probe.shape == self.probe.shape and float(probe @ self.probe) > _SAME
        return self if known else replace(self, cosine=(float(centre), float(spread)))

    def match(self, sentences: FloatMatrix, captions: FloatMatrix) -> FloatMatrix:
        """(S, V) log-odds that a sentence, (S, d), goes with a caption, (V, d)."""
        cosines = sentences @ captions.T
        if self.cosine is not None:
            centre, spread = self.cosine
            cosines = _TYPICAL_MEAN + _TYPICAL_SPREAD * (cosines - np.float32(centre)) / np.float32(spread)
            return np.asarray(self.scale[0] * cosines, np.float32)
        learned = (sentences @ self.sentences.T) @ (captions @ self.captions.T).T
        return np.asarray(self.scale[0] * cosines + self.scale[1] * learned, np.float32)

    def cites(self, sentences: FloatMatrix) -> FloatMatrix:
        """(S,) how much each sentence, (S, d), is like sentences that cite; 0 for another encoder."""
        if self.cosine is not None:
            return np.zeros(len(sentences), np.float32)
        return np.asarray(self.scale[2] * (sentences @ self.citing), np.float32)


WEIGHTS = ("captions", "sentences", "citing", "scale", "probe")
"""The arrays of a matcher's file."""


@cache
def load_matcher() -> Matcher:
    """The matcher in the package."""
    from safetensors.numpy import load_file

    with as_file(files("iconotext.links").joinpath("matcher.safetensors")) as path:
        weights = load_file(path)
    captions, sentences, citing, scale, probe = (weights[name].astype(np.float32) for name in WEIGHTS)
    return Matcher(captions, sentences, citing, scale, probe)
