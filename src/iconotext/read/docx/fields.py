"""Word's fields: an instruction, such as ``REF`` (a cross-reference) or ``SEQ`` (a running number), and its result."""

from __future__ import annotations

import re
from dataclasses import dataclass

from iconotext.errors import HostileDocumentError

REFERENCE = re.compile(r"^\s*+(?:PAGE)?REF\s++\"?([^\s\"\\]++)", re.IGNORECASE)
LOCAL_LINK = re.compile(r"^\s*+HYPERLINK\s.*?\\l\s++\"([^\"]++)\"", re.IGNORECASE | re.DOTALL)
SEQUENCE = re.compile(r"^\s*+SEQ\s++\"?([^\s\"\\]++)", re.IGNORECASE)
MAX_OPEN_FIELDS = 100
"""Fields within each other; Word itself allows twenty."""
MAX_INSTRUCTION = 10_000
"""Characters of a field's instruction that are kept; addresses, the longest of them, have at most some 2,000."""


@dataclass(slots=True)
class OpenField:
    """A field whose end has not come yet.

    Attributes:
        start: Where in the open block the result begins.
    """

    instruction: str = ""
    in_result: bool = False
    start: int = 0

    @property
    def target(self) -> str | None:
        """The bookmark that the result points at; None where it points at none."""
        found = REFERENCE.match(self.instruction) or LOCAL_LINK.match(self.instruction)
        return found[1] if found and self.in_result else None

    @property
    def sequence(self) -> str | None:
        """What the field counts: "Figure", "Table"; None where it does not count."""
        found = SEQUENCE.match(self.instruction)
        return found[1] if found else None


class Fields:
    """The fields that are open, the innermost last."""

    def __init__(self) -> None:
        self.open: list[OpenField] = []

    def begin(self, instruction: str = "", *, in_result: bool = False, start: int = 0) -> None:
        """Open a field; ``HostileDocumentError`` where there are more than ``MAX_OPEN_FIELDS``."""
        if len(self.open) >= MAX_OPEN_FIELDS:
            raise HostileDocumentError(f"more than {MAX_OPEN_FIELDS} fields within each other: no document has that")
        self.open.append(OpenField(instruction[:MAX_INSTRUCTION], in_result, start))

    def instruct(self, text: str) -> None:
        """Add to the instruction of the innermost field, which comes in pieces."""
        if self.open and not self.open[-1].in_result and len(self.open[-1].instruction) < MAX_INSTRUCTION:
            self.open[-1].instruction += text[:MAX_INSTRUCTION]

    def begin_result(self, start: int) -> None:
        """The instruction of the innermost field has ended."""
        if self.open:
            self.open[-1].in_result, self.open[-1].start = True, start

    def continue_in_new_block(self) -> None:
        """All open fields go on at the beginning of a new block."""
        for field in self.open:
            field.start = 0

    @property
    def in_instruction(self) -> bool:
        """Whether what comes now is no text of the document."""
        return any(not field.in_result for field in self.open)
