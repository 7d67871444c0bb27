"""Documents that come one by one, dealt out to train, validation and test at random when the last one has come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from iconotext.corpus.builders.frame.build import Build, Values
from iconotext.corpus.json_lines import json_lines
from iconotext.corpus.split import Shares, share_out
from iconotext.errors import CorpusError
from iconotext.strict_json import dump_json
from iconotext.write import write_text


def with_random_splits(build: Build, documents: Iterable[Values], shares: Shares) -> Iterator[Values]:
    """The same documents in the same order, each with its split.

    Until the last one has come, they wait in a file in the folder of the build.

    Args:
        build: The run.
        documents: Without splits.
        shares: What goes where, to the nearest whole number.

    Raises:
        CorpusError: One has something in it that JSON cannot hold.
        OutputError: They cannot be written.
    """
    path = build.work / "unsplit.jsonl"
    total = 0

    def lines() -> Iterator[str]:
        nonlocal total
        for values in documents:
            try:
                line = dump_json(values)
            except ValueError as error:
                raise CorpusError(f"document {values.get('id')!r}: {error}") from error
            total += 1
            yield f"{line}\n"

    write_text(path, lines(), force=True)
    splits = share_out([None] * total, shares, seed=build.seed)
    for split, (_, values, _) in zip(splits, json_lines(path), strict=True):
        yield values | {"split": split}
