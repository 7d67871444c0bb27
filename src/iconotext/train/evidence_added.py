"""Fitting the weights of pictures and of the words in them, with what the other evidence says as it is.

They are to choose among the sentences, not to say whether one is right: a null option has no part in their fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iconotext.errors import ShapeError
from iconotext.links.combine import Coefficients
from iconotext.train.conditional_logit import RIDGE, fit_logit

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

_NONE = -1e4  # log-odds of a null option that takes no part


class Added(NamedTuple):
    """A training document with what is added to the other evidence; S sentences, V images.

    Attributes:
        features: Of ``image_features`` or ``text_features``, name to (S, V).
        positive: (S, V) bool, the sentence cites the image.
        score: (S, V) what the other evidence gives, 0 to 1: see ``Combination``.
    """

    features: Mapping[str, FloatMatrix]
    positive: NDArray[np.bool_]
    score: FloatMatrix


def fit_added(documents: Sequence[Added], *, ridge: float = RIDGE) -> Coefficients:
    """The weights of one kind that is added to the others; they bring no null option of their own.

    Args:
        documents: Images without the kind, or without a sentence that cites them, take no part. The other evidence is
            best that of weights from elsewhere. A document may come several times, with different evidence.

    Raises:
        ShapeError: No cited image has the kind.
    """
    names = sorted({name for document in documents for name in document.features})
    rows, known, positive, lengths = [], [], [], []
    for features, right, score in (document for document in documents if document.features):
        columns = np.flatnonzero(
            right.any(axis=0) & np.any([matrix.any(axis=0) for matrix in features.values()], axis=0)
        )
        known.append(np.log(np.maximum(score[:, columns].T.ravel().astype(np.float64), 1e-30)))
        rows.append(np.stack([features[name][:, columns].T for name in names], axis=-1).reshape(-1, len(names)))
        positive.append(right[:, columns].T.ravel())
        lengths += [len(right)] * len(columns)
    if not lengths:
        raise ShapeError("no cited picture has evidence of this kind: nothing to fit")
    x, right, groups = np.concatenate(rows), np.concatenate(positive), np.repeat(np.arange(len(lengths)), lengths)
    weights, _ = fit_logit(x, groups, right, ridge=ridge, offset=np.concatenate(known), fixed_null=_NONE)
    return Coefficients(0.0, {n: round(float(w), 4) for n, w in zip(names, weights, strict=True)})
