"""The optional packages, which are installed with an extra such as ``iconotext[train]``, and errors without them."""

from __future__ import annotations

from importlib.util import find_spec

from iconotext.errors import MissingPackageError

EXTRAS = {
    "demo": ("skimage",),
    "docling": ("docling_core",),
    "haystack": ("haystack",),
    "formats": ("pypandoc",),
    "hub": ("huggingface_hub",),
    "langchain": ("langchain_core",),
    "library": ("lancedb",),
    "llama-index": ("llama_index",),
    "mcp": ("mcp",),
    "parquet": ("pyarrow",),
    "train": ("torch", "scipy", "lap"),
    "ocr": ("rapidocr",),
    "pandas": ("pandas",),
    "ray": ("ray",),
    "resnet": ("torch", "transformers"),
    "scale": ("datatrove", "orjson"),
    "word2vec": ("gensim",),
    "web": ("fastapi", "uvicorn", "python_multipart"),
}
"""Extra of pyproject.toml to the modules that it installs, without those of other extras that it includes."""


def has(extra: str) -> bool:
    """Return whether the packages of an extra are installed. Nothing is imported."""
    return all(find_spec(module) is not None for module in EXTRAS[extra])


def require(extra: str, *modules: str, purpose: str) -> None:
    """Raise ``MissingPackageError`` unless optional packages are installed. Nothing is imported.

    Args:
        modules: The required modules; default: all of the extra.
    """
    for module in modules or EXTRAS[extra]:
        if find_spec(module) is None:
            raise MissingPackageError(_message(extra, module, purpose))


def missing_package(error: ModuleNotFoundError) -> str | None:
    """Return the error message if an import failed for want of an extra; None if it failed for another reason."""
    module = (error.name or "").partition(".")[0]
    return next((_message(extra, module, "this") for extra, modules in EXTRAS.items() if module in modules), None)


def _message(extra: str, module: str, purpose: str) -> str:
    return f'{purpose} needs {module}, which is not installed: pip install "iconotext[{extra}]"'
