"""Models of other makers, loaded by their makers' libraries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from iconotext.errors import FeatureError

Foreign = Any
"""An object of a library whose types are no help."""


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Say in one line why a model cannot be loaded, and keep the libraries' bars and questions off the terminal.

    Raises:
        FeatureError: For whatever is raised in the body.
    """
    logging: Foreign = import_module("transformers.utils.logging")
    code: Foreign = import_module("transformers.dynamic_module_utils")

    bars, verbosity, patience = (
        logging.is_progress_bar_enabled(),
        logging.get_verbosity(),
        code.TIME_OUT_REMOTE_CODE,
    )
    logging.disable_progress_bar()
    logging.set_verbosity_error()  # else they say at each load that torchvision, which nothing needs, is not there
    # Parts of a model forget that code is not trusted, and ask whether to run it; without time to answer they refuse.
    code.TIME_OUT_REMOTE_CODE = 0
    try:
        yield
    except FeatureError:
        raise
    except Exception as error:  # the libraries have no common base for "not found", "no network", "not such a model"
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise FeatureError(
            f"{name}: the model cannot be loaded ({lines[0].rstrip('.: ')}); it must be whole, with its weights as "
            "safetensors, and without code of its own"
        ) from error
    finally:
        code.TIME_OUT_REMOTE_CODE = patience
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
