"""The output of linked documents: JSON, Markdown, Parquet, a table for the terminal, and pages.

Begin with ``saving.save``, which writes one document in any format, and with ``flow``, which puts images and sentences
into their order. ``reading_page`` makes the reading view, and ``page_folder`` a folder of them.
"""

from iconotext.report.as_parquet import to_pandas
from iconotext.report.saving import save

__all__ = ["save", "to_pandas"]
