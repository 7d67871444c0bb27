"""Tokenisers in files ``tokenizer.json``: the shipped one, one at a path, or that of a model of the hub.

A file may come from a stranger, so it is looked at before a library follows it: it could exhaust the machine.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.errors import FeatureError
from iconotext.excerpts import SHIPPED_TOKENIZER
from iconotext.features.graph_files import MAX_SETTINGS
from iconotext.features.model_folder import folder_of_model, shipped_folder
from iconotext.system.strict_json import parse_json

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILE = "tokenizer.json"

MAX_GROWTH, MAX_AROUND = 4096, 64
"""How many times longer a tokeniser may make a text, and how many tokens it may put around it."""

_AROUND = ("single", "pair", "ids")

_REPEATED = re.compile(r"\\.|\[(?:\\.|[^\]\\])*+\]|[*+]|\{\d*,\d*\}|[(|)]", re.DOTALL)
"""The parts of a regular expression that decide whether it may try every way to divide a text."""


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
    """Open a file of the library tokenizers.

    Raises:
        FeatureError: It cannot be read, with advice what to do, or it makes short texts endless, or may take endless
            time for a text.
    """
    from tokenizers import Tokenizer

    try:
        if file.stat().st_size > MAX_SETTINGS:
            raise FeatureError(f"{file}: larger than any tokenizer ({MAX_SETTINGS:,} bytes): use another model")
        _check_tokenizer(parse_json(file.read_bytes()), file)
        return Tokenizer.from_file(str(file))
    except FeatureError:
        raise
    except Exception as error:  # the library raises Exception itself
        raise FeatureError(f"{file}: cannot be read ({error}): {advice}") from error


def _check_tokenizer(settings: Any, file: Path) -> None:
    """Refuse a tokenizer that makes short texts endless, or that may take endless time for a text."""
    parts = list(_objects(settings))
    growth = math.prod(map(_growth, parts))
    around = max((len(part[name]) for part in parts for name in _AROUND if isinstance(part.get(name), list)), default=0)
    if growth > MAX_GROWTH or around > MAX_AROUND:
        raise FeatureError(f"{file}: makes short texts endless: use another model")
    for part in parts:
        if isinstance(expression := part.get("Regex"), str) and may_try_every_way(expression):
            raise FeatureError(f"{file}: {expression[:80]!r} may take endless time for a text: use another model")


def _growth(part: dict[str, Any]) -> int:
    """Return the factor by which a part of a tokenizer may make a text of one character or more longer."""
    pattern = part.get("pattern")
    if "prepend" in part:
        inserted = str(part["prepend"])
    else:
        inserted = str(part.get("content", "")) if part.get("type") == "Replace" else ""
    replaced = str(pattern.get("String", "")) if isinstance(pattern, dict) else ""
    return max(1, len(inserted) // max(1, len(replaced)) + ("prepend" in part))


def _objects(settings: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects in a tokenizer's file except its vocabulary."""
    left = [settings]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield value
            left += [item for name, item in value.items() if name not in ("vocab", "merges", "added_tokens")]
        elif isinstance(value, list):
            left += value


def may_try_every_way(expression: str) -> bool:
    """Tell whether a regular expression repeats a group that contains a repetition or alternatives.

    Matching such an expression may take exponential time.
    """
    open_groups: list[bool] = []  # whether each contains a repetition or alternatives
    end = -1  # of the last group, if it contained one
    for match in _REPEATED.finditer(expression):
        sign = match[0]
        if sign == "(":
            open_groups.append(False)
            continue
        if sign == ")":
            varies = bool(open_groups) and open_groups.pop()
            end = match.end() if varies else -1
        else:
            repeats = sign[0] in "*+{"
            if repeats and match.start() == end:
                return True
            varies = repeats or sign == "|"
        if varies and open_groups:
            open_groups[-1] = True
    return False
