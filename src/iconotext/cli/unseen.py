"""Pictures that an evaluation counts without seeing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iconotext.cli.output import complain
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from iconotext.types import Document

TOLD = 3
"""Documents with pictures that cannot be looked at that are told one by one."""


class Unseen:
    """Tells on stderr of pictures that cannot be looked at: their cells have the score 0 and still count.

    Attributes:
        documents: With such pictures.
        pictures: That cannot be looked at.
        all: Pictures.
    """

    def __init__(self) -> None:
        self.documents = self.pictures = self.all = 0

    def tell(self, document: Document) -> None:
        """Count one document, and tell of it if it is among the first."""
        problems = [image.problem or "has no file" for image in document.images if image.problem or image.file is None]
        self.all += len(document.images)
        self.pictures += len(problems)
        self.documents += bool(problems)
        if problems and self.documents <= TOLD:
            unseen = f"{len(problems)} of {len(document.images)} pictures cannot be seen and still count"
            complain(f"document {document.id!r}: {unseen}: {problems[0]}")

    def summarise(self) -> None:
        """How many others there were, at the end."""
        if self.documents > TOLD:
            complain(
                f"and {counted(self.documents - TOLD, 'more document')}: {self.pictures:,} of "
                f"{counted(self.all, 'picture')} in all"
            )
