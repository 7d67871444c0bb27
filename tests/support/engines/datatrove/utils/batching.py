from __future__ import annotations

from itertools import islice


def batched(iterable, n):
    items = iter(iterable)
    while batch := list(islice(items, n)):
        yield batch
