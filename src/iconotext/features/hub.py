"""Loads models of other makers with their own libraries."""

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
"""An object of a library without useful types."""

SIDE = 512
"""Shorter side in pixels to which a picture may be reduced when it is decoded, before the model's own processing."""


def pretrained(kind: Literal["AutoConfig", "AutoImageProcessor", "AutoTokenizer"], folder: Path) -> Foreign:
    """Load a part of a model with transformers; nothing is downloaded, and no code in the folder is run."""
    companion: Foreign = getattr(import_module("transformers"), kind)
    return companion.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def pretrained_model(kind: str, folder: Path) -> tuple[Foreign, list[str]]:
    """A model of transformers, ready for inference, and the names of weights that its folder lacks."""
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
    """Raise ``FeatureError`` if weights are missing that the model needs."""
    if missing:
        raise FeatureError(f"{name}: weights are missing ({', '.join(missing[:3])}): fetch the model again")


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Turn errors while loading a model into one line, and silence the libraries' progress bars and questions.

    Raises:
        FeatureError: For any other error in the block; errors of iconotext pass.
        MissingPackageError: A library is not installed.
    """
    require("models", purpose=f"{name}: a model of other makers")
    logging: Foreign = import_module("transformers.utils.logging")
    code: Foreign = import_module("transformers.dynamic_module_utils")

    bars, verbosity, patience = (logging.is_progress_bar_enabled(), logging.get_verbosity(), code.TIME_OUT_REMOTE_CODE)
    logging.disable_progress_bar()
    logging.set_verbosity_error()  # else every load warns that torchvision, which is not needed, is missing
    # Some parts ask on the terminal whether to run a model's code; with no time to answer they refuse.
    code.TIME_OUT_REMOTE_CODE = 0
    try:
        yield
    except IconotextError:
        raise
    except Exception as error:  # the libraries have no common base class for these errors
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
