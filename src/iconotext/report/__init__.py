"""Stage 6, links → something to look at: JSON, Markdown, Parquet, a table for the terminal, pages to read."""

from iconotext.report.as_pandas import to_pandas
from iconotext.report.saving import save

__all__ = ["save", "to_pandas"]
