"""Train the default recipe on a corpus, smaller and shorter than usual: train_model.py [CORPUS FOLDER].

Prints

    "epochs": 3
"""

import sys
from pathlib import Path

from shapes import write_shapes

from iconotext.recipe import load_recipe
from iconotext.train import train

corpus, folder = map(Path, sys.argv[1:3]) if len(sys.argv) > 2 else (write_shapes(Path("shapes"), 60), Path("model"))
short = ["dim=32", "training.epochs=3", "training.average=1", "training.warmup=1", "training.batch=8"]
trained = train(load_recipe("default", short), [corpus], folder)
print((trained / "metrics.json").read_text())
