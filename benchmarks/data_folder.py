"""The parser of the options of a script that reads the data folder."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

DATA = Path(os.environ.get("ICONOTEXT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def parser_with_data(about: str | None) -> argparse.ArgumentParser:
    """A parser with the option ``--data``: by default $ICONOTEXT_DATA, else shared/data beside the checkout."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    return parser
