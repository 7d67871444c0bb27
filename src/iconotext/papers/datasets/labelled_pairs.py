"""Documents of one text and one image with coherence relations, out of tables of annotations.

Splits depend on what pairs share, so the pairs wait on disk until the last row was read; memory holds some numbers for
each.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.corpus.builders.find_images import FoundImages, distinct_names
from iconotext.corpus.builders.settings import BuilderSettings
from iconotext.corpus.row import UniqueIds
from iconotext.errors import CorpusError, SettingError
from iconotext.papers.datasets.annotation_table import TableRow, open_table, table_rows
from iconotext.papers.datasets.pair_splits import Keys, leaks, split_pairs

if TYPE_CHECKING:
    from iconotext.corpus.builders.run import Build, Values

YES = frozenset({"true", "yes", "y", "t", "1", "1.0"})
NO = frozenset({"false", "no", "n", "f", "0", "0.0"})
NONE = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "?"})


class LabelledSettings(BuilderSettings):
    """Which pairs are used, and how they are divided."""

    source: tuple[Path, ...]
    """A table of annotations; may be given several times."""

    images: Path | None = None
    """Folder with the images, also in folders inside it."""

    only_found: bool = False
    """Leave out pairs whose image is not there."""

    once: bool = False
    """Use a pair that was annotated several times once, as its first row has it."""

    group: bool = False
    """Put pairs that share an image or a text into the same split; in the published splits they are not."""

    seed: int = 0
    """Seed of the random choices."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A row of a table that can be used.

    Attributes:
        name: What the document is called, if nothing before it is.
        image: What the document calls its image where there is no file; no path.
        relations: By name; None where there is no answer.
    """

    name: str
    text: str
    image: str
    relations: dict[str, bool | None]
    meta: dict[str, Any]


@dataclass(frozen=True, slots=True)
class DataSet:
    """How the tables of a data set are read.

    Attributes:
        about: What a table is and where it comes from.
        relations: Names of the relations, each with the column of its answers, in small letters.
        needed: Other columns that a table must have.
        published: Number of its pairs in the paper.
        pair: From a row and its relations to a pair; raises ``ValueError`` with the reason where there is none.
        scheme: What the name of an image begins with that is neither an address nor at hand.
    """

    about: str
    relations: Mapping[str, str]
    needed: tuple[str, ...]
    published: int
    pair: Callable[[TableRow, dict[str, bool | None]], Pair]
    scheme: str


@dataclass(slots=True)
class Seen:
    """What the usable rows have in common.

    Attributes:
        numbers: The different images, each with its number.
        keys: Of each pair: digests of its image and of its text.
        first: By these digests, the first row that has them.
        counts: What the report counts.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    keys: list[Keys] = field(default_factory=list)
    first: dict[Keys, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)


def labelled_documents(
    build: Build, settings: LabelledSettings, data_set: DataSet, *, fetch_interval: float | None = None
) -> Iterator[Values]:
    """A document for each row of the tables that can be used.

    Args:
        fetch_interval: Seconds between two requests to one server; None: images that are missing are not fetched.

    Raises:
        CorpusError: A file cannot be read, is no such table, or is named twice; no row can be used; or the groups are
            too large for a split.
        SettingError: Images are to be fetched and no folder is named.
    """
    report = build.report
    if settings.images is None and fetch_interval is not None:
        raise SettingError("fetch=True needs images=..., the folder that pictures are fetched into")
    if len({path.resolve() for path in settings.source}) < len(settings.source):
        raise CorpusError(f"{', '.join(map(str, settings.source))}: a file is named twice")
    seen = Seen()
    pairs = build.spool(_pairs(build, settings, data_set, seen))
    if not len(pairs):
        raise CorpusError(f"none of {seen.counts['rows']} rows can be used")
    files = _files(build, settings, data_set, list(seen.numbers), fetch_interval)
    there = [pair.image in files for pair in pairs]
    keys = [key for key, found in zip(seen.keys, there, strict=True) if found or not settings.only_found]
    if not keys:
        raise CorpusError(f"none of {len(there)} pairs has a picture: leave out only_found=True")
    splits = split_pairs(keys, seed=settings.seed, group=settings.group)
    _report_shared(build, keys, splits)
    ids, left = UniqueIds(), iter(splits)
    for pair in pairs:
        file = files.get(pair.image)
        if file is None and settings.only_found:
            place = f"{pair.meta['source']}, line {pair.meta['line']}"
            report.drop("pair whose picture is not there", place, pair.image)
            continue
        source = pair.image if file is None else build.relative_path(file)
        columns: Values = {"sentences": [pair.text], "images": [source], "links": [(0, 0)]}
        labels = {"relations": pair.relations, "meta": pair.meta}
        yield {"id": ids.take(pair.name), "split": next(left), **columns, **labels}
    report.count("rows", seen.counts["rows"])
    report.count("pairs that are used", len(keys), data_set.published)
    report.count("rows that repeat the text and picture of an earlier one", seen.counts["repeats"])
    report.count("pairs for training and validation", sum(split != "test" for split in splits))
    report.count("pairs for test", splits.count("test"))


def _pairs(build: Build, settings: LabelledSettings, data_set: DataSet, seen: Seen) -> Iterator[Pair]:
    """The pairs of all tables that can be used; what cannot be is reported."""
    drop = build.report.drop
    for path in settings.source:
        table = open_table(path, (*data_set.needed, *data_set.relations.values()), data_set.about)
        if table.fallback:
            lines = f"{table.odd_lines} lines are not {table.encoding}"
            build.report.note(f"{path.name}: {lines}: read as {table.fallback}")
        for row in build.watch(table_rows(table), label=f"Reading {path.name}"):
            place = f"{row.file}, line {row.line}"
            seen.counts["rows"] += 1
            try:
                pair = _pair(build, data_set, row, place)
            except ValueError as error:
                rule, _, reason = str(error).partition(": ")
                drop(f"row left out: {rule}", place, reason)
                continue
            number = seen.numbers.setdefault(pair.image, len(seen.numbers))
            key = (number.to_bytes(8), _digest(pair.text))
            earlier = seen.first.setdefault(key, place)
            if earlier != place:
                if settings.once:
                    drop("row left out: the same text and picture as an earlier row", place, earlier)
                    continue
                seen.counts["repeats"] += 1
            seen.keys.append(key)
            yield pair


def _pair(build: Build, data_set: DataSet, row: TableRow, place: str) -> Pair:
    """The pair of a row; ``ValueError``, which says why, where there is none."""
    if row.problem is not None:
        raise ValueError(row.problem)
    relations: dict[str, bool | None] = {}
    odd = []
    for name, column in data_set.relations.items():
        try:
            relations[name] = parse_answer(row.values[column])
        except ValueError:
            relations[name] = None
            odd.append(f"{column} has {row.values[column][:40]!r}")
    pair = data_set.pair(row, relations)
    for answer in odd:
        build.report.drop("answer that is neither yes nor no", place, answer)
    if row.note:
        build.report.drop("quotes that are broken, kept as they are", place)
    return pair


def parse_answer(text: str) -> bool | None:
    """Yes, no, or None where there is no answer; ``ValueError`` for anything else."""
    word = text.strip().casefold()
    if word in YES:
        return True
    if word in NO:
        return False
    if word in NONE:
        return None
    raise ValueError(text)


def kept_answer(text: str) -> bool | str | None:
    """An answer to a question that is no relation, for ``meta``: as it stands where it is neither yes nor no."""
    try:
        return parse_answer(text)
    except ValueError:
        return text


def _files(
    build: Build, settings: LabelledSettings, data_set: DataSet, names: list[str], fetch_interval: float | None
) -> dict[str, Path]:
    """Files of the images that are in the folder or could be fetched into it; the others are reported."""
    report, images = build.report, settings.images
    report.count("different pictures", len(names))
    if images is None:
        report.note("pictures were not looked for: images=... names their folder")
        return {}
    if fetch_interval is not None and not images.exists():
        images.mkdir(parents=True)
    files = _found(data_set, images, names)
    problems: dict[str, str] = {}
    if fetch_interval is not None:
        problems = build.fetched((name for name in names if name not in files), images, fetch_interval)
        files = _found(data_set, images, names)
    for name in names:
        if name not in files:
            report.drop("picture that is not there", name, problems.get(name, f"not found in {images.name}"))
    report.count("pictures that are there", len(files))
    return files


def _found(data_set: DataSet, folder: Path, names: Collection[str]) -> dict[str, Path]:
    """The files in a folder, by the names of their images."""
    images, alone = FoundImages(folder), distinct_names(names)
    found = {name: images.find(name.removeprefix(data_set.scheme), by_name=name in alone) for name in names}
    return {name: file for name, file in found.items() if file is not None}


def _report_shared(build: Build, keys: Sequence[Keys], splits: Sequence[Any]) -> None:
    """Report what validation and test share with training."""
    shared = leaks(keys, splits)
    held_out = sum(split != "train" for split in splits)
    for what in ("picture", "text"):
        build.report.count(f"pairs of validation and test that share a {what} with one of training", shared[what])
    if shared["either"]:
        build.report.note(
            f"{shared['either']} of {held_out} pairs of validation and test share a picture or a text with one of "
            "training, as in the published splits; group=True keeps such pairs together"
        )


def _digest(text: str) -> bytes:
    """Equal for texts that have the same letters and digits, whatever stands between them."""
    words = "".join(character for character in text.casefold() if character.isalnum()) or text
    return hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).digest()
