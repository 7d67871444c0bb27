"""Makes settings from a user's values, with errors in plain words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from iconotext.errors import SettingError
from iconotext.plain_text import did_you_mean

PLAIN = {
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid boolean": "true or false",
    "a valid string": "text",
    "a valid list": "a list",
    "a valid tuple": "a list",
}
"""Pydantic's name for a type of value to a plain one."""

_KIND = re.compile(rf"({'|'.join(PLAIN)})(, .*)?$")


Settings = TypeVar("Settings", bound=BaseModel)


def make_settings(
    kind: type[Settings], values: Mapping[str, object], called: Mapping[str, str] | None = None
) -> Settings:
    """Settings from values, where given.

    Args:
        values: Field name to value; None if not given.
        called: Field name to its name in messages, such as ``--min-side``; default: the field name.

    Raises:
        SettingError: A value is out of range or of the wrong kind; names the setting and what is allowed.
    """
    try:
        return kind.model_validate({name: value for name, value in values.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        where = f"{(called or {}).get(name, name)}: " if name else ""
        raise SettingError(f"{where}{wrong_value(first)}") from error


def wrong_value(problem: Mapping[str, Any]) -> str:
    """What a value must be, from an entry of pydantic's ``errors()``, with the most similar allowed value."""
    message = str(problem["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
    if problem["type"] == "value_error":
        return message
    message = _KIND.sub(lambda found: PLAIN[found[1]], message)
    given = problem["input"]
    near = ""
    if problem["type"] == "literal_error":
        near = did_you_mean(str(given), re.findall("'([^']*)'", problem["ctx"]["expected"]))
    return f"{message[0].lower() + message[1:]}, not {given!r}{near}"
