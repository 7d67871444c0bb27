"""JSON by its standard (without NaN and Infinity) and TOML, with ``ValueError`` as the only error of faulty text."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any, NoReturn

_LONG_NAME = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}""")
"""A dotted name of 32 parts or more: the time of ``tomllib`` grows with the square of their number."""


def parse_json(text: str | bytes) -> Any:
    """Parse JSON; ``ValueError`` says why it is none, or none that Python can hold, and if possible where."""
    try:
        return json.loads(text, parse_constant=_reject_constant)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error.msg} at column {error.colno})") from error
    except RecursionError as error:
        raise ValueError("not JSON that can be read: nested too deeply") from error
    except ValueError as error:  # NaN or Infinity, or an integer of thousands of digits
        raise ValueError(f"not JSON ({error})") from error


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; ``ValueError`` says why it is none, or takes more depth or time than any real file."""
    if _LONG_NAME.search(text):
        raise ValueError("not TOML that can be read: a name has too many parts")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("not TOML that can be read: nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"not TOML: {' '.join(str(error).split())}") from error


def dump_json(value: object) -> str:
    """Return the value as one line of JSON, which can be encoded in UTF-8; ``ValueError`` if it has no such form."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("a text holds half of a surrogate pair, which is not a character") from error
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    return text


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")
