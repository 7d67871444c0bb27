"""JSON as in its standard, without NaN and Infinity, and with one type of error for every fault."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def parse_json(text: str) -> Any:
    """Parse a text.

    Raises:
        ValueError: Not JSON, or JSON that Python cannot hold; the message says what and, if known, where.
    """
    try:
        return json.loads(text, parse_constant=_reject_constant)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error.msg} at column {error.colno})") from error
    except RecursionError as error:
        raise ValueError("not JSON that can be read: nested too deeply") from error
    except ValueError as error:  # NaN or Infinity, or an integer of thousands of digits
        raise ValueError(f"not JSON ({error})") from error


def dump_json(value: object) -> str:
    """The value as one line of JSON, which can be encoded in UTF-8.

    Raises:
        ValueError: A value has no form in JSON.
    """
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
