"""What tests of the papers share with those of the program."""

from tests.cli.conftest import corpus, model, pairs
from tests.conftest import (
    _nothing_of_the_user,
    _own_cache,
    _unforeseen_errors_show,
    _worker_ends_with_the_tests,
    browser,
    install_package,
    linked,
    models,
    picture,
    pytest_ignore_collect,
    small_hub,
)
from tests.support.pairs import image

__all__ = [
    "_nothing_of_the_user",
    "_own_cache",
    "_unforeseen_errors_show",
    "_worker_ends_with_the_tests",
    "browser",
    "corpus",
    "image",
    "install_package",
    "linked",
    "model",
    "models",
    "pairs",
    "picture",
    "pytest_ignore_collect",
    "small_hub",
]
