"""Stage 6: output of linked documents as JSON, Markdown, Parquet, a table for the terminal, and pages."""

from iconotext.report.as_parquet import to_pandas
from iconotext.report.saving import save

__all__ = ["save", "to_pandas"]
