"""Makes what ships with the program out of data: encoders, models, weights. ``python -m fitting`` lists the steps."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "iconotext"
DATA = Path(os.environ.get("ICONOTEXT_DATA", ROOT.parent / "shared" / "data"))
"""The data folder, unless ``--data`` says otherwise."""
