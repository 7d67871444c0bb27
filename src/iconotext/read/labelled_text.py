"""``text <label>``, as roles of Sphinx and MyST write a reference with a text of its own."""

from __future__ import annotations

import re

TITLED = re.compile(r"\s*+([^<]*?)\s*+<([^<>]{1,500})>\s*+", re.DOTALL)
