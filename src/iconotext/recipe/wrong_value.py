"""What is wrong with the value of a setting, in plain words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from iconotext.plain_text import did_you_mean

PLAIN = {
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid boolean": "true or false",
    "a valid string": "text",
    "a valid list": "a list",
    "a valid tuple": "a list",
}
"""What pydantic calls a kind of value, and what people do."""

_KIND = re.compile(rf"({'|'.join(PLAIN)})(, .*)?$")


def wrong_value(problem: Mapping[str, Any]) -> str:
    """Say what a value must be, with the nearest of the values that are allowed.

    Args:
        problem: One of pydantic's ``ValidationError.errors()``.
    """
    message = str(problem["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
    if problem["type"] == "value_error":
        return message
    message = _KIND.sub(lambda found: PLAIN[found[1]], message)
    given = problem["input"]
    near = ""
    if problem["type"] == "literal_error":
        near = did_you_mean(str(given), re.findall("'([^']*)'", problem["ctx"]["expected"]))
    return f"{message[0].lower() + message[1:]}, not {given!r}{near}"
