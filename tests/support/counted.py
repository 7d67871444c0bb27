"""Work that is counted, where a test says that it grows no faster than what is worked on: time differs between machines."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def calls(function: Callable[..., object], *arguments: Any) -> int:
    """How many functions are called, of Python and built in, during a call."""
    count = 0

    def called(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        function(*arguments)
    finally:
        sys.setprofile(before)
    return count
