"""A report as a page of its own."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from iconotext.report.page import policy_hash

_STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; display: block; overflow-x: auto }
caption { text-align: left; font-weight: 600; padding-bottom: .6rem }
th, td { padding: .25rem .7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #8884 }
th[scope=row] { text-align: left; font-weight: 500 }
th[scope=colgroup] { text-align: center }
table { margin-top: 2rem }
img { max-width: 100%; background: #fff }
"""

# Figures lie beside the page: 'self' where it is served, file: where it is opened.
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src 'self' file:; style-src '{policy}'; \
base-uri 'none'; form-action 'none'">
<title>{title}</title><style>{style}</style></head><body>
{parts}</body></html>
"""


def report_page(title: str, parts: Sequence[str]) -> str:
    """The page.

    Args:
        title: Of the page.
        parts: HTML, one after the other.
    """
    return _PAGE.format(title=escape(title), parts="".join(parts), style=_STYLE, policy=policy_hash(_STYLE))
