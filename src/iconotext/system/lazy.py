"""Public names of a package that are imported when they are first used, so that importing the package stays fast."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a package.

    ::

        __getattr__, __dir__ = lazy(__name__, {"Document": "iconotext.types"})

    The package also lists the names in ``__all__``, and imports them under ``TYPE_CHECKING`` for type checkers and
    editors. A name must not be that of a module in the package, since importing the module would replace it.

    Args:
        package: Name of the package.
        homes: Public name to the module that defines it.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return get, names
