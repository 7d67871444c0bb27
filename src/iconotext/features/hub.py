"""Models of other makers, loaded by their makers' libraries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from iconotext.errors import FeatureError, IconotextError
from iconotext.extras import require
from iconotext.features.device import best_device

Foreign = Any
"""An object of a library whose types are no help."""

SIDE = 512
"""Shorter side in pixels that a picture keeps when it is decoded; the model's own processing goes on from there."""


def pretrained(kind: Literal["AutoConfig", "AutoImageProcessor", "AutoTokenizer"], folder: Path) -> Foreign:
    """What comes with a model, by transformers: nothing is fetched, and no code that lies in the folder is run."""
    companion: Foreign = getattr(import_module("transformers"), kind)
    return companion.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def pretrained_model(kind: str, folder: Path) -> tuple[Foreign, list[str]]:
    """A model of transformers, ready to look, and the names of weights that its folder lacks."""
    made: Foreign = getattr(import_module("transformers"), kind)
    model, info = made.from_pretrained(
        folder,
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        output_loading_info=True,
        dtype="float32",
    )
    return model.to(best_device()).eval(), sorted(info["missing_keys"])


def check_weights(name: str, missing: list[str]) -> None:
    """Raise if weights are missing that the model cannot do without."""
    if missing:
        raise FeatureError(f"{name}: weights are missing ({', '.join(missing[:3])}): fetch the model again")


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Say in one line why a model cannot be loaded, and keep the libraries' bars and questions off the terminal.

    Raises:
        FeatureError: For whatever is raised in the body; our own errors pass.
        MissingPackageError: Their libraries are not installed.
    """
    require("models", purpose=f"{name}: a model of other makers")
    logging: Foreign = import_module("transformers.utils.logging")
    code: Foreign = import_module("transformers.dynamic_module_utils")

    bars, verbosity, patience = (logging.is_progress_bar_enabled(), logging.get_verbosity(), code.TIME_OUT_REMOTE_CODE)
    logging.disable_progress_bar()
    logging.set_verbosity_error()  # else they say at each load that torchvision, which nothing needs, is not there
    # Parts of a model forget that code is not trusted, and ask whether to run it; without time to answer they refuse.
    code.TIME_OUT_REMOTE_CODE = 0
    try:
        yield
    except IconotextError:
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
