"""What training minimises: the table ``OBJECTIVES``, and the ways to contrast a document with others, ``CONTRASTS``.

A contrast takes the (P,) similarities of the positives, the first P of D documents, and their (P, D) similarities with
all documents in both directions, with masks of the negatives. The result is one loss per positive; the caller averages
them. With single sentences and images instead of whole sets (``draw_single_pairs``) the same contrasts train the
baseline NoStruct; with random parts of the positives (``draw_members``) they are the sub-document objective.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Objective:
    """An objective; its weight is the setting of its name in ``[objective]``. ``train.loss`` sums up all of them.

    Attributes:
        function: The function that computes it; for cross_document the module with the contrasts, for sub_document the
            function that draws the parts, which are then contrasted.
        settings: Further settings that only this objective uses.
        within: Whether it looks into a document, and so needs sets of sentences and images.
        compares: Whether it compares sentences and images, by their cosines.
    """

    name: str
    summary: str
    paper: str
    function: str
    settings: tuple[str, ...] = ()
    within: bool = False
    compares: bool = True


@dataclass(frozen=True, slots=True)
class Contrast:
    """A way to compare a positive with its negatives; ``kind`` in ``[objective]`` of a recipe.

    Attributes:
        arguments: Settings that its function takes, besides similarities and masks.
        settings: Further settings, which have no effect with a contrast that does not list them.
    """

    name: str
    summary: str
    paper: str
    function: str
    arguments: tuple[str, ...]
    settings: tuple[str, ...]


_HERE = "iconotext.objectives"

OBJECTIVES = {
    row.name: row
    for row in (
        Objective(
            "cross_document",
            "A document is more similar to itself than to the documents that it did not occur with.",
            "Hessel 2019, Eq. 1; Li 2021, Eq. 1",
            f"{_HERE}.contrastive",
        ),
        Objective(
            "intra_document",
            "A document's most likely links are more similar than its least likely ones, by half the margin.",
            "Li 2021, Eq. 2",
            f"{_HERE}.within:intra_document",
            within=True,
        ),
        Objective(
            "sub_document",
            "A random part of a document is more similar to itself than to other documents, by half the margin.",
            "Li 2021, Eq. 3-4",
            f"{_HERE}.within:draw_members",
            ("p_sub",),
            within=True,
        ),
        Objective(
            "posterior",
            "An image is most like the sentences that its caption, layout and references link it to.",
            "ours",
            f"{_HERE}.within:posterior",
            within=True,
        ),
        Objective(
            "coherence",
            "The relations of a text and its image can be predicted from their vectors.",
            "Alikhani 2021, Eq. 2-3",
            f"{_HERE}.within:coherence",
            ("relations", "relation_loss", "relation_layers"),
            compares=False,
        ),
    )
}

CONTRASTS = {
    row.name: row
    for row in (
        Contrast(
            "hinge",
            "The positive exceeds the hardest negative, or the mean of the negatives, by a margin.",
            "Hessel 2019, Eq. 1",
            f"{_HERE}.contrastive:hinge",
            ("margin", "negatives"),
            ("mean_epochs", "remedy_epochs"),
        ),
        Contrast(
            "softmax",
            "The positive is found among its negatives (InfoNCE).",
            "Radford 2021 (CLIP)",
            f"{_HERE}.contrastive:softmax",
            ("scale",),
            ("learn_scale",),
        ),
        Contrast(
            "logistic",
            "Each pair of documents is classified as positive or negative.",
            "Zhai 2023 (SigLIP)",
            f"{_HERE}.contrastive:logistic",
            ("scale", "bias"),
            ("learn_scale",),
        ),
    )
}
