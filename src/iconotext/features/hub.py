"""Models of other makers: a local folder, or a name on the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from iconotext.errors import FeatureError
from iconotext.features.fingerprint import folder_name

Foreign = Any
"""An object of a library whose types are no help."""


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Say in one line why a model cannot be loaded, and keep the libraries' progress bars off the terminal.

    Raises:
        FeatureError: For whatever is raised in the body.
    """
    logging: Foreign = import_module("transformers.utils.logging")

    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    except FeatureError:
        raise
    except Exception as error:  # the libraries have no common base for "not found", "no network", "not such a model"
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise FeatureError(
            f"{name}: the model cannot be loaded ({lines[0].rstrip('.: ')}): "
            "give a model's folder, or its name on the Hugging Face hub and a network"
        ) from error
    finally:
        if bars:
            logging.enable_progress_bar()


def has_file(name: str, file: str) -> bool:
    """Whether a model has a file, as far as can be known without a network."""
    if Path(name).is_dir():
        return (Path(name) / file).is_file()
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    try:
        with loading(name):
            hf_hub_download(name, file)
    except FeatureError as error:
        if isinstance(error.__cause__, EntryNotFoundError):  # or no network; then loading the model will say so
            return False
        raise
    return True


def revised_name(name: str, config: Foreign) -> str:
    """A name that other weights do not share: with a digest of the files, or with the revision on the hub."""
    if Path(name).is_dir():
        return folder_name(Path(name))
    revision = getattr(config, "_commit_hash", None)
    return f"{name}@{revision}" if revision else name
