"""The splits of photographs whose source divides them otherwise than is wanted."""

from __future__ import annotations

from collections.abc import Collection

from iconotext.corpus.row import Split
from iconotext.errors import SettingError


def validation_as_test(splits: Collection[Split | None]) -> list[Split | None]:
    """Photographs for validation become those for test, and those for training get free to be shared out.

    For sets of photographs that come with two splits, where models are to be chosen on others than they are judged on.

    Args:
        splits: Of each photograph.

    Raises:
        SettingError: There are none for validation, or some for test already.
    """
    if "validation" not in splits or "test" in splits:
        why = "has none for validation" if "validation" not in splits else "has photographs for test already"
        raise SettingError(f"test_on_validation=True is for data without a test split, and this {why}: leave it out")
    return ["test" if split == "validation" else None for split in splits]
