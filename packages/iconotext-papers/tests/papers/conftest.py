"""What tests of the papers share with those of the program's command line."""

from tests.cli.conftest import corpus, model, pairs
from tests.support.pairs import image

__all__ = ["corpus", "image", "model", "pairs"]
