"""The program ``iconotext-check``: only the check of iconotext, with as few dependencies as possible.

The distribution brings the modules of iconotext that the check needs in a folder of its own, ``modules``. So no file of
it has the name of one of iconotext, and an environment may have both, also of different versions.
"""

from __future__ import annotations

import sys
from pathlib import Path

MODULES = Path(__file__).parent / "modules"
"""Where the modules are; in a clone there is no such folder, and those of the clone serve."""


def main() -> None:
    """Run the program with its own modules."""
    if MODULES.is_dir():
        sys.path.insert(0, str(MODULES))
    from iconotext_check.program import main as run

    run()
