"""The page that leads to other pages: a card for each document, with the image of its strongest link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iconotext.report.embedded import Embedded, embed
from iconotext.report.page import filled
from iconotext.types import LinkedDocument

if TYPE_CHECKING:
    from iconotext.report.manifest import Record

CARD_SIDE = 360
"""Pixels of the longer side of an image on a card."""


def index_page(records: Sequence[Record]) -> str:
    """A whole HTML page with a card for each record, in the order given."""
    return filled(
        "iconotext.report",
        "index.html",
        title="Linked documents",
        styles=["reading.css"],
        cards=records,
    )


def card_image(linked: LinkedDocument) -> Embedded | None:
    """The image with the strongest link, small; None without links."""
    if not linked.links:
        return None
    best = linked.links[0].image
    return embed(linked.document.images, [best], longer_side=CARD_SIDE)[best]
