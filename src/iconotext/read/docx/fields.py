"""Word's fields: an instruction, such as ``REF`` (a cross-reference) or ``SEQ`` (a running number), and its result."""

from __future__ import annotations

import re
from dataclasses import dataclass

from iconotext.errors import HostileDocumentError

REFERENCE = re.compile(r"^\s*+(?:PAGE)?REF\s++\"?([^\s\"\\]++)", re.IGNORECASE)
LOCAL_LINK = re.compile(r"^\s*+HYPERLINK\s.*?\\l\s++\"([^\"]++)\"", re.IGNORECASE | re.DOTALL)
SEQUENCE = re.compile(r"^\s*+SEQ\s++\"?([^\s\"\\]++)", re.IGNORECASE)
MAX_OPEN_FIELDS = 100
"""Maximum depth of nested fields; Word itself allows twenty."""
MAX_INSTRUCTION = 10_000
"""Maximum number of characters kept of a field's instruction; the longest have an address of some 2,000."""


@dataclass(slots=True)
class OpenField:
    """A field that has not ended yet.

    Attributes:
        start: Beginning of the result in the open block.
    """

    instruction: str = ""
    in_result: bool = False
    start: int = 0

    @property
    def target(self) -> str | None:
        """The bookmark that the result refers to; None if there is none."""
        found = REFERENCE.match(self.instruction) or LOCAL_LINK.match(self.instruction)
        return found[1] if found and self.in_result else None

    @property
    def sequence(self) -> str | None:
        """The sequence of a numbering field: "Figure", "Table"; None for other fields."""
        found = SEQUENCE.match(self.instruction)
        return found[1] if found else None


class Fields:
    """The open fields, innermost last."""

    def __init__(self) -> None:
        self.open: list[OpenField] = []

    def begin(self, instruction: str = "", *, in_result: bool = False, start: int = 0) -> None:
        """Open a field; ``HostileDocumentError`` for more than ``MAX_OPEN_FIELDS``."""
        if len(self.open) >= MAX_OPEN_FIELDS:
            raise HostileDocumentError(f"more than {MAX_OPEN_FIELDS} fields within each other: no document has that")
        self.open.append(OpenField(instruction[:MAX_INSTRUCTION], in_result, start))

    def instruct(self, text: str) -> None:
        """Append to the instruction of the innermost field, which comes in pieces."""
        if self.open and not self.open[-1].in_result and len(self.open[-1].instruction) < MAX_INSTRUCTION:
            self.open[-1].instruction += text[:MAX_INSTRUCTION]

    def begin_result(self, start: int) -> None:
        """End the instruction of the innermost field."""
        if self.open:
            self.open[-1].in_result, self.open[-1].start = True, start

    def continue_in_new_block(self) -> None:
        """Continue all open fields at the beginning of a new block."""
        for field in self.open:
            field.start = 0

    @property
    def in_instruction(self) -> bool:
        """Whether the present text is an instruction, and so no text of the document."""
        return any(not field.in_result for field in self.open)
