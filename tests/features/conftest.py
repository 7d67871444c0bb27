import pytest

from tests.support.images import noise


@pytest.fixture(scope="session")
def files():
    """Three pictures, and one that is none between them."""
    return [noise(0), b"no picture", noise(1, (200, 90)), noise(2, (33, 60))]
