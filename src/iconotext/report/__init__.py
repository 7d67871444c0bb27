"""Stage 6, links → something to look at: JSON, Markdown, Parquet, a table for the terminal, pages to read."""

from iconotext.report.as_html import index_page, reading_page, write_page, write_pages
from iconotext.report.as_json import json_lines, json_object, json_text
from iconotext.report.as_markdown import markdown
from iconotext.report.as_parquet import write_parquet
from iconotext.report.as_table import table
from iconotext.report.write import opened, write_bytes, write_text

__all__ = [
    "index_page",
    "json_lines",
    "json_object",
    "json_text",
    "markdown",
    "opened",
    "reading_page",
    "table",
    "write_bytes",
    "write_page",
    "write_pages",
    "write_parquet",
    "write_text",
]
