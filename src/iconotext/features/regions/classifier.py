"""Names the regions in a file with the last layer of the detector that made it, if the file does not name them.

The first release of bottom-up features has six columns and no objects. Its features are the input of the detector's
classifier, so the classifier's weights are enough to name the regions as the detector did.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import FeatureError
from iconotext.features.fingerprint import digest_of
from iconotext.features.regions.table import FEATURES, OBJECTS, PROBABILITIES, RegionTable, Stored, first_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLASSIFIER = "classifier.safetensors"
"""A file with ``weight`` (classes, features) and ``bias`` (classes,); the first class may be the background."""


@dataclass(frozen=True, slots=True, eq=False)
class Classifier:
    """A linear layer with a softmax: weight (classes, features) and bias (classes,)."""

    path: Path
    weight: NDArray[np.float32]
    bias: NDArray[np.float32]

    def named(self, table: RegionTable) -> RegionTable:
        """Wrap a file of regions so that it also names them."""

        def read(ids: Sequence[str]) -> Iterator[Stored]:
            return (stored if says_concepts(stored) else self._named(stored) for stored in table.read(ids))

        def digest() -> bytes:
            return hashlib.sha256(table.digest() + digest_of(self.path)).digest()

        return replace(table, read=read, digest=digest)

    def _named(self, stored: Stored) -> Stored:
        """The arrays of an image, with class probabilities of its regions."""
        features = first_array(stored, FEATURES)
        if features is None or features.ndim != 2 or not features.size:
            return stored
        if features.shape[1] != self.weight.shape[1]:
            features = features.T  # MCAN's files have a column per region
        if features.shape[1] != self.weight.shape[1]:
            raise FeatureError(f"{self.path}: is for features of length {self.weight.shape[1]}, not {len(features)}")
        with np.errstate(invalid="ignore", over="ignore"):  # reported when the features are read
            logits = features.astype(np.float32) @ self.weight.T + self.bias
            exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
            return {**stored, PROBABILITIES[0]: exponents / exponents.sum(axis=1, keepdims=True)}


def says_concepts(stored: Stored) -> bool:
    """Whether a file names the regions of an image."""
    return first_array(stored, (*OBJECTS, *PROBABILITIES)) is not None


def load_classifier(path: Path, names: int) -> Classifier:
    """Read the weights of a classifier.

    Raises:
        FeatureError: The file cannot be read, or does not have ``names`` classes.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(os.fspath(path), framework="np") as file:
            weight, bias = file.get_tensor("weight"), file.get_tensor("bias")
    except (OSError, SafetensorError, TypeError) as error:
        raise FeatureError(f"{path}: cannot be read as a classifier (tensors weight and bias): {error}") from error
    if weight.ndim != 2 or bias.shape != weight.shape[:1] or not (weight.dtype.kind == bias.dtype.kind == "f"):
        raise FeatureError(
            f"{path}: weight is {weight.dtype} of shape {weight.shape}, bias {bias.dtype} of shape {bias.shape}; "
            "floating-point numbers of shape (classes, features) and (classes,) are needed"
        )
    if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
        raise FeatureError(f"{path}: weight and bias are not all finite numbers")
    if len(weight) not in (names, names + 1):
        raise FeatureError(
            f"{path}: has {len(weight)} classes, which does not fit {names} names of concepts, or one more, the "
            "background, first"
        )
    return Classifier(path, weight.astype(np.float32), bias.astype(np.float32))
