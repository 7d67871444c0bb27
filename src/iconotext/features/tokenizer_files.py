"""Tokenisers in files ``tokenizer.json``: the shipped one, one at a path, or that of a model of the hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.errors import FeatureError
from iconotext.excerpts import SHIPPED_TOKENIZER
from iconotext.features.model_folder import folder_of_model, shipped_folder

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILE = "tokenizer.json"


def named_tokenizer(name: str) -> Tokenizer:
    """Load a tokeniser that neither cuts nor pads texts.

    Args:
        name: ``minilm``, which ships; a file ``tokenizer.json`` or a folder with one; or a model's name on the hub, if
            its files are in the hub's local cache.

    Raises:
        FeatureError: There is no such tokeniser, or its file cannot be read.
    """
    if name == SHIPPED_TOKENIZER:
        file = shipped_folder(name) / FILE
    else:
        file = Path(name) if Path(name).is_file() else folder_of_model(name, (SHIPPED_TOKENIZER,)) / FILE
    if not file.is_file():
        raise FeatureError(f"{name}: has no {FILE}, which the library tokenizers reads: name another tokeniser")
    tokenizer = open_tokenizer(file)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def open_tokenizer(file: Path, advice: str = "name another tokeniser") -> Tokenizer:
    """Open a file of the library tokenizers; ``FeatureError`` if it cannot be read, with advice what to do."""
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises Exception itself
        raise FeatureError(f"{file}: cannot be read ({error}): {advice}") from error
