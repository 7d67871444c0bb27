"""The kinds of evidence: one table, from which settings, help texts and the guides are made.

Other packages add kinds through the entry-point group ``iconotext.evidence``, each an object ``EvidenceKind``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Literal

from iconotext.errors import SettingError
from iconotext.extras import EXTRAS
from iconotext.system.plugins import plugins

if TYPE_CHECKING:
    from iconotext.evidence.caption import EvidenceInput
    from iconotext.evidence.cells import Features
    from iconotext.types import Document, Evidence, FloatMatrix


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceKind:
    """A kind of evidence: a row of the table.

    Attributes:
        name: Name in settings and results, such as ``caption``.
        summary: The information that is compared with the sentences.
        function: ``module:function`` that computes it, imported when it is first needed. A function of another package
            takes a ``Document`` with S sentences and V images, none of which has a problem, and returns an (S, V) array
            of finite numbers, larger for the sentences to which the image belongs.
        weight: Log-odds of a link for each 1 in this array; None for a kind that ships, whose weights were measured.
        fitted: For a kind that ships: ``together`` if its weights were fitted together with those of other kinds,
            ``top`` if on top of any combination of these; None if they were not fitted. See ``decide.combine``.
        extra: The extra of iconotext that installs the packages for it; "" for none.
        default: Whether it is used unless the user chooses.
    """

    name: str
    summary: str
    function: str
    weight: float | None = None
    fitted: Literal["together", "top"] | None = None
    extra: str = ""
    default: bool = False

    def __post_init__(self) -> None:
        ships = self.function.startswith("iconotext.")
        if not self.name.isidentifier() or ":" not in self.function or ships != (self.weight is None):
            raise ValueError(f"evidence {self.name}: give a name, a function as 'module:function', and a weight")
        if self.extra and self.extra not in EXTRAS:
            raise ValueError(f"evidence {self.name}: there is no extra {self.extra}")

    def features(self, documents: Sequence[Document], inputs: Sequence[EvidenceInput]) -> list[Features]:
        """Compute the features of each document, name to (S, V); empty for a document without this evidence.

        Args:
            documents: Without images that have a problem.
        """
        if self.weight is None:
            features: list[Features] = resolve_name(self.function)(documents, inputs)
            return features
        return [{self.name: self._matrix(d)} if d.sentences and d.images else {} for d in documents]

    def _matrix(self, document: Document) -> FloatMatrix:
        import numpy as np

        shape = (len(document.sentences), len(document.images))
        try:
            matrix = np.asarray(resolve_name(self.function)(document), np.float32)
        except Exception as error:  # code of another package, which may raise anything
            raise SettingError(f"the evidence {self.name} failed: {type(error).__name__}: {error}") from error
        if matrix.shape != shape or not np.isfinite(matrix).all():
            raise SettingError(
                f"the evidence {self.name} gave an array of shape {matrix.shape}; {shape} (sentences, images) finite "
                "numbers are needed"
            )
        return matrix


EVIDENCE_KINDS = (
    EvidenceKind(
        name="picture",
        summary="what the picture shows, compared with each sentence by the model",
        function="iconotext.evidence.picture:picture_evidence",
        fitted="top",
        default=True,
    ),
    EvidenceKind(
        name="caption",
        summary="caption, alternative text and file name, compared with each sentence as text",
        function="iconotext.evidence.caption:caption_evidence",
        fitted="together",
        default=True,
    ),
    EvidenceKind(
        name="ocr",
        summary="the words in the picture itself, compared likewise, which takes about a second for each picture",
        function="iconotext.evidence.picture:ocr_evidence",
        fitted="top",
        extra="ocr",
    ),
    EvidenceKind(
        name="layout",
        summary="where the picture stands, by the habit that the documents show",
        function="iconotext.evidence.layout:layout_features",
        fitted="together",
        default=True,
    ),
    EvidenceKind(
        name="reference",
        summary="the text points at the picture: Figure 3, a link to it, the photo below, a name beside it in a table",
        function="iconotext.evidence.reference:reference_evidence",
        default=True,
    ),
    EvidenceKind(
        name="context",
        summary="the sentences that its own document links it with, for pictures from elsewhere",
        function="iconotext.evidence.context:context_evidence",
        fitted="together",
    ),
)
"""The kinds that ship. Layout is computed only when habits are inferred, and references document by document."""

EVIDENCE: tuple[Evidence, ...] = tuple(kind.name for kind in EVIDENCE_KINDS)
DEFAULT_EVIDENCE: tuple[Evidence, ...] = tuple(kind.name for kind in EVIDENCE_KINDS if kind.default)


def evidence_kinds() -> tuple[EvidenceKind, ...]:
    """Return the kinds that ship, then those of other packages."""
    return EVIDENCE_KINDS + plugins("iconotext.evidence", EvidenceKind, EVIDENCE)


def evidence_names() -> tuple[Evidence, ...]:
    """Return the names of all kinds, in the order of the table."""
    return tuple(kind.name for kind in evidence_kinds())


def chosen_evidence(names: Collection[str]) -> tuple[EvidenceKind, ...]:
    """Return the kinds of these names, in the order of the table; ``SettingError`` for an unknown name."""
    kinds = evidence_kinds()
    if unknown := sorted(set(names) - {kind.name for kind in kinds}):
        raise SettingError(f"no evidence {', '.join(unknown)}; there is {', '.join(kind.name for kind in kinds)}")
    return tuple(kind for kind in kinds if kind.name in names)
