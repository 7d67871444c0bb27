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
    dict.fromkeys(("Refused", "captioned_drafts"), "iconotext.alt_text.captioned")
    | dict.fromkeys(("Captioner", "CaptionerSettings"), "iconotext.alt_text.captioner")
    | dict.fromkeys(("Draft", "read_drafts"), "iconotext.alt_text.drafts")
    | dict.fromkeys(("Prompt", "prompts"), "iconotext.alt_text.prompt")
    | dict.fromkeys(("Change", "plan_change", "unified_diff", "write_change"), "iconotext.alt_text.writing"),
)
