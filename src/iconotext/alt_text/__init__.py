"""Alternative texts: drafts of missing ones, and writing them into documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iconotext.system.lazy import lazy

if TYPE_CHECKING:
    from iconotext.alt_text.drafts import Draft, make_drafts, read_drafts
    from iconotext.alt_text.writing import Change, plan_change, unified_diff, write_change

__all__ = ["Change", "Draft", "make_drafts", "plan_change", "read_drafts", "unified_diff", "write_change"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Change": "iconotext.alt_text.writing",
        "Draft": "iconotext.alt_text.drafts",
        "make_drafts": "iconotext.alt_text.drafts",
        "plan_change": "iconotext.alt_text.writing",
        "read_drafts": "iconotext.alt_text.drafts",
        "unified_diff": "iconotext.alt_text.writing",
        "write_change": "iconotext.alt_text.writing",
    },
)
