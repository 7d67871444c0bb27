import pytest

from tests.support.hub_models import noise
from tests.support.small_hub import SmallHub, serving


@pytest.fixture(scope="session")
def files():
    """Three pictures, and one that is none between them."""
    return [noise(0), b"no picture", noise(1, 200, 90), noise(2, 33, 60)]


@pytest.fixture
def small_hub(tmp_path, monkeypatch):
    """A stand-in of the Hugging Face hub without models, which the library of the hub asks, and an empty cache."""
    from huggingface_hub import constants

    hub = SmallHub()
    with serving(hub) as address:
        monkeypatch.setattr(constants, "ENDPOINT", address)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}"
        )
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
        yield hub
