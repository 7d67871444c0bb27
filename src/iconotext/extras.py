"""Packages that not everybody needs. They come with an extra, such as ``iconotext[papers]``."""

from __future__ import annotations

from importlib.util import find_spec

from iconotext.errors import MissingPackageError

EXTRAS = {
    "demo": ("skimage",),
    "library": ("lancedb",),
    "ocr": ("rapidocr", "onnxruntime"),
    "pandas": ("pandas",),
    "papers": ("gensim", "h5py", "lmdb", "matplotlib", "msgpack", "mwparserfromhell", "zstandard"),
    "timm": ("timm", "torchvision"),
    "train": ("lightning_fabric", "tensorboard"),
}
"""The modules that each extra of pyproject.toml brings."""


def has(extra: str) -> bool:
    """Whether the packages of an extra are installed. Nothing is imported."""
    return all(find_spec(module) is not None for module in EXTRAS[extra])


def require(*modules: str, purpose: str) -> None:
    """Make sure that optional packages are installed, before any work. Nothing is imported.

    Args:
        modules: Names of modules in ``EXTRAS``.
        purpose: What needs them; the message begins with it.

    Raises:
        MissingPackageError: One is missing; the message says what to install.
    """
    for module in modules:
        if find_spec(module) is None:
            extra = next(name for name, brought in EXTRAS.items() if module in brought)
            raise MissingPackageError(
                f'{purpose} needs {module}, which is not installed: pip install "iconotext[{extra}]"'
            )
