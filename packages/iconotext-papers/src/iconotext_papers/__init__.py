"""Everything that is needed only to reproduce the three papers."""

from importlib.util import find_spec

from iconotext.errors import MissingPackageError


def need(module: str) -> None:
    """Raise ``MissingPackageError`` unless a package that ours depends on is installed. Nothing is imported."""
    if find_spec(module) is None:
        raise MissingPackageError(f"this needs {module}, which is not installed: pip install iconotext-papers")
