"""Converts links, contexts and chunks to pandas tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING

from iconotext.excerpts import Chunk, Context
from iconotext.extras import require
from iconotext.report.as_excerpts import NUMBERS, row
from iconotext.report.as_parquet import COLUMNS, rows
from iconotext.types import LinkedDocument

if TYPE_CHECKING:
    import pandas as pd


def to_pandas(found: LinkedDocument | Iterable[Context | Chunk]) -> pd.DataFrame:
    """A pandas table; integers that may be missing are ``Int32`` or ``Int64``.

    Args:
        found: A linked document, for the rows of ``report.as_parquet``, one per link; or contexts or chunks, for the
            rows of ``context --json`` and ``chunks --json``.

    Raises:
        MissingPackageError: pandas is not installed.
    """
    require("pandas", purpose="a table of pandas")
    import pandas as pd

    if isinstance(found, LinkedDocument):
        table = pd.DataFrame(list(rows(found)))
        table = table.reindex(columns=[*COLUMNS, *(name for name in table.columns if name not in COLUMNS)])
        return table.astype({name: "Int32" for name, type_ in COLUMNS.items() if type_ == "int32"})
    given = list(found)
    names = [each.name for each in fields(given[0])] if given else [each.name for each in fields(Context)]
    table = pd.DataFrame([row(each) for each in given], columns=names)
    return table.astype({name: "Int64" for name in names if name in NUMBERS})
