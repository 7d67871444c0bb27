"""A part of what is written about a reproduced table: the same as Markdown and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from iconotext.report.as_markdown import block_text, inline_text


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report.

    Attributes:
        markdown: Ends with a line break.
        html: The same; all text of others is escaped.
    """

    markdown: str
    html: str


def table_section(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> Section:
    """A table of texts, the first of each row being its name.

    Args:
        title: Above the table.
        columns: Headers, of the names too.
        rows: As many texts as there are columns each.
        notes: Below the table, a paragraph each.
    """
    lines = [f"**{inline_text(title)}**", "", "| " + " | ".join(map(inline_text, columns)) + " |"]
    lines.append("|---" + "|---:" * (len(columns) - 1) + "|")
    lines += ["| " + " | ".join(map(inline_text, row)) + " |" for row in rows]
    lines += [line for note in notes for line in ("", block_text(note))]
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns[1:])
    parts = [f'<table class="results"><caption>{escape(title)}</caption>']
    parts.append(f"<thead><tr><td>{escape(columns[0])}</td>{head}</tr></thead><tbody>")
    for name, *texts in rows:
        cells = "".join(f"<td>{escape(text)}</td>" for text in texts)
        parts.append(f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>')
    parts.append("</tbody></table>")
    parts += [f"<p>{escape(note)}</p>" for note in notes]
    return Section("\n".join(lines) + "\n", "\n".join(parts) + "\n")


def figure_section(file: str, alternative: str) -> Section:
    """A picture that lies beside the report."""
    return Section(
        f"![{inline_text(alternative)}]({file})\n", f'<p><img src="{escape(file)}" alt="{escape(alternative)}"></p>\n'
    )


def points(value: float | None) -> str:
    """A difference of shares in percentage points."""
    return "–" if value is None else f"{100 * value:+.1f}".replace("-", "−")


def percent(value: float | None, digits: int = 1) -> str:
    """A share in percent."""
    return "–" if value is None else f"{100 * value:.{digits}f}"
