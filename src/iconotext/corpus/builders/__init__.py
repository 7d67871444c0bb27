"""Builders: corpora made from files of other kinds; ``BUILDERS`` lists those for users' own files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any


@dataclass(frozen=True, slots=True)
class Builder:
    """A builder of corpora, as ``iconotext corpus build NAME`` runs it.

    Attributes:
        summary: One sentence for the list of commands and the guides.
        module: Dotted name of its module.
        settings: Name of its class of ``BuilderSettings`` in the module, from which the options are made.
        function: Name of its function ``(build, settings)`` in the module, a generator of documents.
    """

    name: str
    summary: str
    module: str
    settings: str = "Settings"
    function: str = "documents"

    def load(self) -> tuple[Any, Callable[..., Any]]:
        """Import the module; returns the settings class and the function."""
        return resolve_name(f"{self.module}:{self.settings}"), resolve_name(f"{self.module}:{self.function}")


BUILDERS = (
    Builder("folder", "Documents, or folders of them.", "iconotext.corpus.builders.folder"),
    Builder("captions", "Photographs with captions.", "iconotext.corpus.builders.captions"),
    Builder("pairs", "Each picture and its author's words.", "iconotext.corpus.builders.pairs"),
)
"""Builders for users' own files."""
