"""What the tests of the tables share."""

from tests.train.conftest import corpus

__all__ = ["corpus"]
