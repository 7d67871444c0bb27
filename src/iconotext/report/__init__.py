"""Stage 6, links → something to look at: JSON, Markdown, Parquet, a table for the terminal, pages to read."""

from iconotext.report.as_html import index_page, reading_page, show, write_page
from iconotext.report.as_json import json_array, json_lines, json_object
from iconotext.report.as_markdown import markdown, markdown_pages
from iconotext.report.as_parquet import to_pandas, write_parquet
from iconotext.report.as_table import count, overview, table
from iconotext.report.by_suffix import save
from iconotext.report.page_folder import write_pages

__all__ = [
    "count",
    "index_page",
    "json_array",
    "json_lines",
    "json_object",
    "markdown",
    "markdown_pages",
    "overview",
    "reading_page",
    "save",
    "show",
    "table",
    "to_pandas",
    "write_page",
    "write_pages",
    "write_parquet",
]
