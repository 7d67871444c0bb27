"""The check of documents: rules for their pictures, figures and references."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iconotext.system.lazy import lazy

if TYPE_CHECKING:
    from iconotext.check.audit import Checked, check
    from iconotext.check.page import Page, Reference
    from iconotext.check.picture import Picture
    from iconotext.check.rules import CheckSettings, Finding, Rule

__all__ = ["CheckSettings", "Checked", "Finding", "Page", "Picture", "Reference", "Rule", "check"]

__getattr__, __dir__ = lazy(
    __name__,
    dict.fromkeys(("Checked", "check"), "iconotext.check.audit")
    | dict.fromkeys(("Page", "Reference"), "iconotext.check.page")
    | {"Picture": "iconotext.check.picture"}
    | dict.fromkeys(("CheckSettings", "Finding", "Rule"), "iconotext.check.rules"),
)
