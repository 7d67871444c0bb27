"""The program, run in this process."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner, Result

from iconotext.cli.app import app


def run(*arguments: object, status: int | None = 0, **more: Any) -> Result:
    """Run the program in a wide terminal; fail unless it ends with a status, None for any that says that it failed.

    An error that nobody foresaw is raised.
    """
    result = CliRunner().invoke(app, [str(each) for each in arguments], **{"env": {"COLUMNS": "200"}, **more})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    expected = (1, 2) if status is None else (status,)
    assert result.exit_code in expected, f"it ended with {result.exit_code}: {result.output}"
    return result


def error_line(*arguments: object, status: int = 1) -> str:
    """Run the program, which fails, and return the only line that it says of that."""
    (line,) = (line for line in run(*arguments, status=status).output.splitlines() if line.startswith("iconotext: "))
    return line


def printed(*arguments: object, status: int = 0) -> str:
    """Run the program, and return its standard output; of a failing one also its errors."""
    result = run(*arguments, status=status)
    return result.output if status else result.stdout
