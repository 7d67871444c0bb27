"""iconotext finds which sentences of a document each of its pictures belongs to.

>>> import iconotext
>>> linked = iconotext.Linker.load().link("article.md")  # doctest: +SKIP
>>> iconotext.save(linked, "article.html")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# Imported at once: the function has the name of its package, which a later import of the package would replace.
from iconotext.read import read, read_all
from iconotext.system.lazy import lazy

if TYPE_CHECKING:
    from iconotext.corpus.link_rows import link_rows
    from iconotext.corpus.store import read_corpus, write_corpus
    from iconotext.encoders.load import load_encoder
    from iconotext.errors import IconotextError
    from iconotext.linked import LinkedDocument
    from iconotext.linker import Linker, LinkSettings
    from iconotext.read import ReadSettings
    from iconotext.report.as_parquet import to_pandas
    from iconotext.report.outputs import save
    from iconotext.types import Document, Image, Link, Sentence

__all__ = [
    "Document",
    "IconotextError",
    "Image",
    "Link",
    "LinkSettings",
    "LinkedDocument",
    "Linker",
    "ReadSettings",
    "Sentence",
    "__version__",
    "link_rows",
    "load_encoder",
    "read",
    "read_all",
    "read_corpus",
    "save",
    "to_pandas",
    "write_corpus",
]

__version__ = "0.2.0"

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Document": "iconotext.types",
        "IconotextError": "iconotext.errors",
        "Image": "iconotext.types",
        "Link": "iconotext.types",
        "LinkSettings": "iconotext.linker",
        "LinkedDocument": "iconotext.linked",
        "Linker": "iconotext.linker",
        "ReadSettings": "iconotext.read.settings",
        "Sentence": "iconotext.types",
        "link_rows": "iconotext.corpus.link_rows",
        "load_encoder": "iconotext.encoders.load",
        "read_corpus": "iconotext.corpus.store",
        "save": "iconotext.report.outputs",
        "to_pandas": "iconotext.report.as_parquet",
        "write_corpus": "iconotext.corpus.store",
    },
)
