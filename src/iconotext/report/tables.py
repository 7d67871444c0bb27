"""The parts of a report (``Grid``, ``Drawing``, ``Note``), which can be written as Markdown and as HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from operator import itemgetter

NO_ROWS = "There is nothing to show in this table."


class Bold(str):
    """Text of a cell in bold."""


Cell = str | Sequence[str]
"""A text, or several that are joined with spaces; each may be bold."""

Column = str | tuple[str, str]
"""A header, or two: the header of a group of columns, and that of this column."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; the first cell of each row is its name.

    Attributes:
        title: Above the table; may be empty.
        columns: Headers, including that of the names.
        rows: Rows of cells, one for each column.
        notes: Paragraphs below the table.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()

    def markdown(self) -> str:
        """Return Markdown that ends with a line break; text of the cells is escaped. Without rows it is empty."""
        from iconotext.report.as_markdown import block_text, inline_text

        headers = [inline_text(c if isinstance(c, str) else f"{c[0]}: {c[1]}") for c in self.columns]
        lines = [f"**{inline_text(self.title)}**", ""] if self.title else []
        if self.rows:
            lines += ["| " + " | ".join(headers) + " |", "|---" + "|---:" * (len(headers) - 1) + "|"]
        else:
            lines.append(NO_ROWS)
        lines += ["| " + " | ".join(_joined(cell, inline_text, "**{}**") for cell in row) + " |" for row in self.rows]
        lines += [line for note in self.notes for line in ("", block_text(note))]
        return "\n".join(lines) + "\n"

    def html(self, *, titled: bool = True) -> str:
        """The same as HTML; all text is escaped."""
        parts = [f"<h2>{escape(self.title)}</h2>"] if self.title and titled else []
        parts.append(_scrolled("Table", self.title, self._table()) if self.rows else f"<p>{NO_ROWS}</p>")
        parts += [f"<p>{escape(note)}</p>" for note in self.notes]
        return "\n".join(parts) + "\n"

    def _table(self) -> str:
        lines = [f'<table class="results"><thead>{self._head()}</thead><tbody>']
        for name, *cells in self.rows:
            texts = "".join(f"<td>{_joined(cell, escape, '<b>{}</b>')}</td>" for cell in cells)
            lines.append(f'<tr><th scope="row">{_joined(name, escape, "<b>{}</b>")}</th>{texts}</tr>')
        return "\n".join([*lines, "</tbody></table>"])

    def _head(self) -> str:
        (_, first), *columns = (("", column) if isinstance(column, str) else column for column in self.columns)
        names = "".join(f'<th scope="col">{escape(name)}</th>' for _, name in columns)
        if not any(group for group, _ in columns):
            return f"<tr><td>{escape(first)}</td>{names}</tr>"
        groups = "".join(
            f'<th colspan="{len(list(members))}" scope="colgroup">{escape(group)}</th>'
            for group, members in groupby(columns, key=itemgetter(0))
        )
        return f'<tr><td rowspan="2">{escape(first)}</td>{groups}</tr><tr>{names}</tr>'


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture file beside the report."""

    file: str
    caption: str

    def markdown(self) -> str:
        """Return Markdown that ends with a line break; all text is escaped."""
        from iconotext.report.as_markdown import inline_text

        return f"![{inline_text(self.caption)}]({self.file})\n"

    def html(self) -> str:
        """Return HTML; all text is escaped."""
        return _scrolled("Chart", "", f'<img src="{escape(self.file)}" alt="{escape(self.caption)}">') + "\n"


@dataclass(frozen=True, slots=True)
class Note:
    """A paragraph."""

    text: str

    def markdown(self) -> str:
        """Return Markdown that ends with a line break; all text is escaped."""
        from iconotext.report.as_markdown import block_text

        return f"{block_text(self.text)}\n"

    def html(self) -> str:
        """Return HTML; all text is escaped."""
        return f"<p>{escape(self.text)}</p>\n"


Section = Grid | Drawing | Note
"""A part of a report."""


@dataclass(frozen=True, slots=True)
class Footnote:
    """A remark about rows of tables.

    Attributes:
        text: Includes the names of the rows.
        grave: Whether the row has no valid figures, because training collapsed or failed; it is then marked †.
    """

    text: str
    rows: Sequence[str]
    grave: bool = False


def footnoted(sections: Sequence[Section], footnotes: Sequence[Footnote]) -> list[Section]:
    """Mark the rows that footnotes are about, in all tables, and write the footnotes below, in order.

    All are below the first table, grave ones also below every other table with their rows.
    """
    plain = [note for note in footnotes if not note.grave]
    marks = [("†" if note.grave else str(plain.index(note) + 1).translate(_RAISED), note) for note in footnotes]
    marked: list[Section] = []
    for section in sections:
        if isinstance(section, Grid):
            first = not any(isinstance(part, Grid) for part in marked)
            marked.append(_marked(section, marks, first=first))
        else:
            marked.append(section)
    return marked


def _marked(grid: Grid, marks: Sequence[tuple[str, Footnote]], *, first: bool) -> Grid:
    rows, noted = [], set()
    for name, *cells in grid.rows:
        texts = _texts(name)
        about = [number for number, (_, note) in enumerate(marks) if _is_about(note, " ".join(texts))]
        row_marks = "".join(dict.fromkeys(marks[number][0] for number in about))
        if any(marks[number][1].grave for number in about):  # invalid figures are not highlighted
            cells = [[str(text) for text in _texts(cell)] for cell in cells]
        rows.append([[*texts, row_marks] if row_marks else name, *cells])
        noted |= set(about)
    notes = [
        f"{mark} {note.text}" for number, (mark, note) in enumerate(marks) if first or (note.grave and number in noted)
    ]
    return replace(grid, rows=rows, notes=[*notes, *grid.notes])


def _is_about(footnote: Footnote, name: str) -> bool:
    """Whether a line is a row, or one relation of a row: then the row's name follows the relation's."""
    return any(name == row or name.endswith(f": {row}") for row in footnote.rows)


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _texts(cell: Cell) -> Sequence[str]:
    return [cell] if isinstance(cell, str) else cell


def report_page(title: str, sections: Sequence[Section]) -> str:
    """Make a page of a report, with figures beside it; a table with the title of the page does not repeat it."""
    from iconotext.report.page import filled

    parts = [
        section.html(titled=section.title != title) if isinstance(section, Grid) else section.html()
        for section in sections
    ]
    return filled(
        "iconotext.report",
        "tables.html",
        title=title,
        styles=["tables.css"],
        scripts=["tables.js"],
        parts=parts,
        beside=True,
    )


def _scrolled(kind: str, title: str, content: str) -> str:
    """Make a part of a page that may be wider than the window scroll by itself, also with the keyboard."""
    label = escape(f"{kind}: {title}" if title else kind)
    hint = f'<p class="hint" hidden="">The {kind.lower()} is wider than the window: scroll it sideways →</p>'
    return f'{hint}<div class="wide {kind.lower()}" role="group" aria-label="{label}" tabindex="0">{content}</div>'


def points(value: float | None) -> str:
    """A difference of shares in percentage points."""
    return "–" if value is None else f"{100 * value:+.1f}".replace("-", "−")


def difference(value: float, low: float, high: float) -> str:
    """A difference of shares in percentage points, with its interval."""
    return f"{points(value)} ({points(low)} to {points(high)})"


def percent(value: float | None, digits: int = 1) -> str:
    """A share in percent."""
    return "–" if value is None else f"{100 * value:.{digits}f}"


def _joined(cell: Cell, escaped: Callable[[str], str], bold: str) -> str:
    texts = _texts(cell)
    return " ".join(bold.format(escaped(text)) if isinstance(text, Bold) else escaped(text) for text in texts)
