"""Alternative texts: drafts of missing ones, and writing them into documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iconotext.system.lazy import lazy

if TYPE_CHECKING:
    from iconotext.alt_text.captioned import Refused, captioned_drafts
    from iconotext.alt_text.captioner import Captioner, CaptionerSettings
    from iconotext.alt_text.drafts import Draft, read_drafts
    from iconotext.alt_text.prompt import Prompt, prompts
    from iconotext.alt_text.writing import Change, plan_change, unified_diff, write_change

__all__ = [
    "Captioner",
    "CaptionerSettings",
    "Change",
    "Draft",
    "Prompt",
    "Refused",
    "captioned_drafts",
    "plan_change",
    "prompts",
    "read_drafts",
    "unified_diff",
    "write_change",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Captioner": "iconotext.alt_text.captioner",
        "CaptionerSettings": "iconotext.alt_text.captioner",
        "Change": "iconotext.alt_text.writing",
        "Draft": "iconotext.alt_text.drafts",
        "Prompt": "iconotext.alt_text.prompt",
        "Refused": "iconotext.alt_text.captioned",
        "captioned_drafts": "iconotext.alt_text.captioned",
        "plan_change": "iconotext.alt_text.writing",
        "prompts": "iconotext.alt_text.prompt",
        "read_drafts": "iconotext.alt_text.drafts",
        "unified_diff": "iconotext.alt_text.writing",
        "write_change": "iconotext.alt_text.writing",
    },
)
