"""What the tests of pairs share."""

from tests.support.pairs import image

__all__ = ["image"]
