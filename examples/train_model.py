"""Train the default recipe on a corpus, smaller and shorter than usual: train_model.py CORPUS FOLDER."""

import sys
from pathlib import Path

from iconotext.recipe import load_recipe
from iconotext.train import train

if len(sys.argv) != 3:
    sys.exit(__doc__)
short = ["dim=32", "training.epochs=3", "training.average=1", "training.warmup=1", "training.batch=8"]
folder = train(load_recipe("default", short), [Path(sys.argv[1])], Path(sys.argv[2]))
print((folder / "metrics.json").read_text())
