"""iconotext finds which sentences of a document each of its pictures belongs to.

>>> import iconotext
>>> linked = iconotext.Linker.load().link("article.md")  # doctest: +SKIP
>>> iconotext.save(linked, "article.html")  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from iconotext.excerpts import Context

# Imported at once: the function has the name of its package, which a later import of the package would replace.
from iconotext.read import read, read_all
from iconotext.types import LinkedDocument

if TYPE_CHECKING:
    from iconotext.corpus.store import read_corpus, write_corpus
    from iconotext.encoders.encoder import load_encoder
    from iconotext.errors import IconotextError
    from iconotext.excerpts import Chunk
    from iconotext.linker import Linker, LinkSettings
    from iconotext.read import ReadSettings
    from iconotext.report import save, to_pandas
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
    "load_encoder",
    "read",
    "read_all",
    "read_corpus",
    "save",
    "to_pandas",
    "write_corpus",
]

__version__ = "0.1.0"

# The other public names and their modules, imported when first used, so that `import iconotext`, and with it every
# command's help, stays fast.
_HOMES = {
    "Document": "types",
    "IconotextError": "errors",
    "Image": "types",
    "Link": "types",
    "LinkSettings": "linker",
    "Linker": "linker",
    "ReadSettings": "read.settings",
    "Sentence": "types",
    "load_encoder": "encoders.encoder",
    "read_corpus": "corpus.store",
    "save": "report",
    "to_pandas": "report",
    "write_corpus": "corpus.store",
}


def _page_in_notebook(linked: LinkedDocument) -> str:
    from iconotext.report.reading_page import notebook_frame

    return notebook_frame(linked)


def _context(linked: LinkedDocument, image: int | Image, words: int) -> Context:
    from iconotext.report.context import context

    return context(linked, image, words)


def _chunks(linked: LinkedDocument, words: int) -> list[Chunk]:
    from iconotext.report.chunks import chunks

    return chunks(linked, words)


def _card_in_notebook(context: Context) -> str:
    from iconotext.report.context import context_card

    return context_card(context)


Context.card_in_notebook = _card_in_notebook
LinkedDocument.page_in_notebook = _page_in_notebook
LinkedDocument.make_context = _context
LinkedDocument.make_chunks = _chunks


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"iconotext.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'iconotext' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
