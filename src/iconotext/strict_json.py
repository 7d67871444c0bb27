"""JSON as its standard has it: no NaN, no Infinity, and one kind of error for all that can be wrong with a text."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def parse_json(text: str) -> Any:
    """The value that a text holds.

    Raises:
        ValueError: It is no JSON, or JSON that Python cannot hold; the message says what and, where known, where.
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
    """The value as JSON on one line, in characters that UTF-8 can hold.

    Raises:
        ValueError: It holds something that JSON has no word for.
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
