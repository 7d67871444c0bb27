"""Documents of one text and one image with coherence relations, made of tables of annotations.

``labelled_documents`` makes them, for a ``DataSet`` that describes the tables. Splits depend on the texts and images
that pairs share, so the pairs wait on disk until the last row was read; memory holds a few numbers for each.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.corpus.builders.build import BuilderSettings
from iconotext.corpus.found_images import FoundImages, distinct_names
from iconotext.corpus.row import Split, UniqueIds
from iconotext.corpus.split import connected, filled_splits, grouped
from iconotext.errors import CorpusError, SettingError
from iconotext.read.text_file import LEGACY
from iconotext_papers.datasets.wiki import clean_text

if TYPE_CHECKING:
    from iconotext.corpus.builders.build import Build, Values

PUBLISHED = {"CITE++": {"train": 3439, "test": 860}, "Clue": {"train": 6047, "test": 1512}}
"""Number of pairs for training (of which a tenth is validation) and for test in Alikhani 2021."""

TEST = 0.2
"""Share of the pairs for test, as published."""

VALIDATION = 0.1
"""Share of the others for validation."""

HELD_OUT: tuple[Split, ...] = ("test", "validation")

Keys = tuple[bytes, bytes]
"""Digests of a pair's picture and of its text, by which pairs that share one are found."""


def sizes(pairs: int) -> dict[Split, int]:
    """Number of pairs of each split; as in ``PUBLISHED`` for its totals, where training includes validation.

    >>> sizes(1000)
    {'train': 720, 'validation': 80, 'test': 200}
    """
    test = round(TEST * pairs)
    validation = round(VALIDATION * (pairs - test))
    return {"train": pairs - test - validation, "validation": validation, "test": test}


def split_pairs(keys: Sequence[Keys], *, seed: int = 0, group: bool = False) -> list[Split]:
    """Choose a split for each pair, at random.

    Of the published splits only the sizes are known. Divided by pair, the same picture or text can be in training and
    in test. With ``group``, pairs that share one get the same split, and so do pairs that are connected through others;
    splits may then be a little smaller than requested.
    """
    # Another side is another key: a picture and a text may have the same digest.
    groups = grouped(connected(enumerate(key) for key in keys) if group else range(len(keys)))
    random.Random(f"pairs {seed}").shuffle(groups)
    counts: dict[Split, int] = {split: sizes(len(keys))[split] for split in HELD_OUT}
    return filled_splits(groups, counts, "pairs that share a picture or a text", "leave out group=True")


def leaks(keys: Sequence[Keys], splits: Sequence[Split]) -> dict[str, int]:
    """Count the pairs of validation and test that share their text or image with a pair of training."""
    trained = [{key[side] for key, split in zip(keys, splits, strict=True) if split == "train"} for side in (0, 1)]
    held_out = [key for key, split in zip(keys, splits, strict=True) if split != "train"]
    return {
        "picture": sum(key[0] in trained[0] for key in held_out),
        "text": sum(key[1] in trained[1] for key in held_out),
        "either": sum(key[0] in trained[0] or key[1] in trained[1] for key in held_out),
    }


SEPARATORS = ("|", "\t", ",", ";")

SAMPLE = 2**18
"""Bytes of lines that are not UTF-8 from which their encoding is recognised."""

MAX_LINES = 200
"""Largest number of lines in a quoted text."""


@dataclass(frozen=True, slots=True)
class Table:
    """A file of annotations that was read.

    Attributes:
        columns: Names in its header, in lower case.
        note: A remark on lines that are not in the table's encoding; None if there are none.
    """

    path: Path
    lines: Sequence[str]
    columns: tuple[str, ...]
    separator: str
    note: str | None


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table.

    Attributes:
        file: Name of the table.
        line: Number of the line on which it begins, from 1.
        values: Values by the name of the column in lower case; {} if the row cannot be read.
        problem: The reason why it cannot be read.
        note: The repair with which it could be read.
    """

    file: str
    line: int
    values: dict[str, str]
    problem: str | None = None
    note: str | None = None


def open_table(path: Path, needed: Sequence[str], about: str) -> Table:
    """Find out the layout and encoding of a table."""
    if path.is_dir():
        raise CorpusError(f"{path}: a folder; name the file in it that is {about}")
    lines, note = _decoded(path)
    header = next(filter(str.strip, lines), "")
    for separator in SEPARATORS:
        names = tuple(name.strip().casefold() for name in next(csv.reader([header], delimiter=separator), []))
        if set(needed) <= set(names):
            twice = sorted(name for name in needed if names.count(name) > 1)
            if twice:
                raise CorpusError(f"{path}: two columns are named {twice[0]}; it should be {about}")
            return Table(path, lines, names, separator, note)
    raise CorpusError(f"{path}: its first line does not name the columns {', '.join(needed)}; it should be {about}")


def table_rows(table: Table) -> Iterator[TableRow]:
    """Yield every row of a table; blank lines are not rows."""
    name, number, header = table.path.name, 0, True
    while number < len(table.lines):
        line, number = table.lines[number], number + 1
        if header:
            header = not line.strip()
            continue
        if not line.strip() and table.separator not in line:
            continue
        begin = number
        fields, note, number = _fields(line, number, table)
        if fields is None:
            yield TableRow(name, begin, {}, note)
        elif len(fields) != len(table.columns):
            problem = f"wrong number of columns: {len(fields)} where the header has {len(table.columns)}"
            yield TableRow(name, begin, {}, problem)
        else:
            values = dict(zip(reversed(table.columns), reversed(fields), strict=True))  # of two, the first counts
            yield TableRow(name, begin, values, note=note)


def _fields(line: str, end: int, table: Table) -> tuple[list[str] | None, str | None, int]:
    """Split a row, which may continue on the lines from ``end`` on.

    A quoted text that is never closed, or that is not followed by a separator, is not a quoted text: then the row is
    split at its separators and the quotes stay. A line that is a whole row by itself is never part of the text of the
    row before it.

    Returns:
        The fields, the repair with which they could be read, and the end of the row.
    """
    width, separator = len(table.columns), table.separator
    plain = line.split(separator)
    if '"' not in line:
        return plain, None, end
    text = line
    for after in range(end, end + MAX_LINES + 1):
        fields = _quoted(text, separator)
        if fields is not None:
            return fields, None, after
        # If a closing quote does not mend the row, another line will not either.
        goes_on = after < len(table.lines) and _quoted(f'{text}"', separator) is not None
        if not goes_on or _whole(table.lines[after], width, separator):
            break
        text += f"\n{table.lines[after]}"
    if len(plain) == width:
        return plain, "broken quotes: kept as they are", end
    return None, f"broken quotes: without them it has {len(plain)} columns where the header has {width}", end


def _quoted(text: str, separator: str) -> list[str] | None:
    """Return the fields of one row with quoted texts; None if its quotes are broken."""
    try:
        (fields,) = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    except (csv.Error, ValueError):
        return None
    return fields


def _whole(line: str, width: int, separator: str) -> bool:
    """Tell whether a line has all the columns, each without a quote in it or quoted from its beginning to its end."""
    field = f'(?:[^"{separator}]*|"(?:[^"]|"")*")'
    return re.fullmatch(rf"{field}(?:\{separator}{field}){{{width - 1}}}", line) is not None


def _decoded(path: Path) -> tuple[list[str], str | None]:
    """Return the lines of a file, and a note about those that are in another encoding than the others, if any."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from error
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = data.decode("utf-16", "replace").encode()
    elif b"\0" in data[:4096]:
        raise CorpusError(f"{path}: not a text file (it has zero bytes); save it as UTF-8 text")
    encoding = "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"
    lines, odd = [], {}
    for raw in data.removeprefix(codecs.BOM_UTF8).splitlines():  # of bytes: lines of Unix, Windows or old Macs
        try:
            lines.append(raw.decode())
        except UnicodeDecodeError:
            odd[len(lines)] = raw
            lines.append("")
    if not odd:
        return lines, None
    from charset_normalizer import from_bytes

    best = from_bytes(b"\n".join(odd.values())[:SAMPLE], cp_isolation=LEGACY).best()
    fallback = best.encoding if best is not None else "cp1252"
    for number, raw in odd.items():
        lines[number] = raw.decode(fallback, errors="replace")
    return lines, f"{path.name}: {len(odd)} lines are not {encoding}: read as {fallback}"


ANSWERS: Mapping[str, bool | None] = {
    **dict.fromkeys(("true", "yes", "y", "t", "1", "1.0"), True),
    **dict.fromkeys(("false", "no", "n", "f", "0", "0.0"), False),
    **dict.fromkeys(("", "na", "n/a", "nan", "null", "none", "-", "?"), None),
}
"""What people and programs write for yes, for no, and for no answer."""


class LabelledSettings(BuilderSettings):
    """Which pairs are used, and how they are divided."""

    source: tuple[Path, ...]
    """A table of annotations; may be given several times."""

    images: Path | None = None
    """Folder with the images, also in folders inside it."""

    only_found: bool = False
    """Leave out pairs whose image is not there."""

    once: bool = False
    """Use a pair with several annotations once. That is, as its first row has it."""

    group: bool = False
    """Keep pairs with the same image or text together. They go into the same split."""

    seed: int = 0
    """Seed of the random choices."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A usable row of a table.

    Attributes:
        name: Name of the document, unless an earlier document has it.
        image: The document's name for its image if there is no file; not a path.
        relations: Answers by relation; None without an answer.
    """

    name: str
    text: str
    image: str
    relations: dict[str, bool | None]
    meta: dict[str, Any]


@dataclass(frozen=True, slots=True)
class DataSet:
    """Describes the tables of a data set.

    Attributes:
        about: Contents and origin of a table, for error messages.
        relations: Names of the relations, each with the column of its answers, in lower case.
        text: Column of the texts.
        image: Column of the names or addresses of images.
        published: Number of its pairs in the paper.
        pair: Makes a pair of a row, its text, the name of its image, and its relations.
        scheme: Prefix of the name of an image that is neither an address nor a file.
        misread: Characters of the texts that were lost, and what they were.
    """

    about: str
    relations: Mapping[str, str]
    text: str
    image: str
    published: int
    pair: Callable[[TableRow, str, str, dict[str, bool | None]], Pair]
    scheme: str
    misread: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class UsableRows:
    """Facts about the usable rows.

    Attributes:
        numbers: The different images, each with its number.
        keys: Digests of image and text of each pair.
        first: The first row with each pair of digests.
        counts: The counts for the report.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    keys: list[Keys] = field(default_factory=list)
    first: dict[Keys, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)


def labelled_documents(
    build: Build, settings: LabelledSettings, data_set: DataSet, *, fetch_interval: float | None = None
) -> Iterator[Values]:
    """Make a document of each usable row of the tables.

    Args:
        fetch_interval: Seconds between two requests to one server; None: missing images are not fetched.
    """
    report = build.report
    if settings.images is None and fetch_interval is not None:
        raise SettingError("fetch=True needs images=..., the folder that pictures are fetched into")
    if len({path.resolve() for path in settings.source}) < len(settings.source):
        raise CorpusError(f"{', '.join(map(str, settings.source))}: a file is named twice")
    usable = UsableRows()
    pairs = build.spool(_pairs(build, settings, data_set, usable))
    if not len(pairs):
        raise CorpusError(f"none of {usable.counts['rows']} rows can be used")
    files = _files(build, settings, data_set, list(usable.numbers), fetch_interval)
    has_file = [pair.image in files for pair in pairs]
    keys = [k for k, has_picture in zip(usable.keys, has_file, strict=True) if has_picture or not settings.only_found]
    if not keys:
        raise CorpusError(f"none of {len(has_file)} pairs has a picture: leave out only_found=True")
    splits = split_pairs(keys, seed=settings.seed, group=settings.group)
    _report_shared(build, keys, splits)
    ids, next_split = UniqueIds(), iter(splits)
    for pair in pairs:
        file = files.get(pair.image)
        if file is None and settings.only_found:
            place = f"{pair.meta['source']}, line {pair.meta['line']}"
            report.drop("pair whose picture is not there", place, pair.image)
            continue
        source = pair.image if file is None else build.relative_path(file)
        columns: Values = {"sentences": [pair.text], "images": [source], "links": [(0, 0)]}
        labels = {"relations": pair.relations, "meta": pair.meta}
        yield {"id": ids.take(pair.name), "split": next(next_split), **columns, **labels}
    report.count("rows", usable.counts["rows"])
    report.count("pairs that are used", len(keys), data_set.published)
    report.count("rows that repeat the text and picture of an earlier one", usable.counts["repeats"])
    report.count("pairs for training and validation", sum(split != "test" for split in splits))
    report.count("pairs for test", splits.count("test"))


def _pairs(build: Build, settings: LabelledSettings, data_set: DataSet, usable: UsableRows) -> Iterator[Pair]:
    """Yield the usable pairs of all tables; other rows are reported."""
    drop = build.report.drop
    for path in settings.source:
        table = open_table(path, (data_set.text, data_set.image, *data_set.relations.values()), data_set.about)
        if table.note:
            build.report.note(table.note)
        for row in build.watch(table_rows(table), label=f"Reading {path.name}"):
            place = f"{row.file}, line {row.line}"
            usable.counts["rows"] += 1
            try:
                pair = _pair(build, data_set, row, place)
            except ValueError as error:
                rule, _, reason = str(error).partition(": ")
                drop(f"row left out: {rule}", place, reason)
                continue
            number = usable.numbers.setdefault(pair.image, len(usable.numbers))
            key = (number.to_bytes(8), _digest(pair.text))
            earlier = usable.first.setdefault(key, place)
            if earlier != place:
                if settings.once:
                    drop("row left out: the same text and picture as an earlier row", place, earlier)
                    continue
                usable.counts["repeats"] += 1
            usable.keys.append(key)
            yield pair


def _pair(build: Build, data_set: DataSet, row: TableRow, place: str) -> Pair:
    """Make the pair of a row; ``ValueError``, with the reason, if the row has none."""
    if row.problem is not None:
        raise ValueError(row.problem)
    relations: dict[str, bool | None] = {}
    odd = []
    for name, column in data_set.relations.items():
        answer = parse_answer(row.values[column])
        relations[name] = None if isinstance(answer, str) else answer
        if isinstance(answer, str):
            odd.append(f"{column} has {answer[:40]!r}")
    text, image = clean_text(row.values[data_set.text], data_set.misread), row.values[data_set.image].strip()
    if not text:
        raise ValueError("no text")
    if not image:
        raise ValueError("no picture is named")
    pair = data_set.pair(row, text, image, relations)
    for problem in odd:  # not before: a row that is left out has one reason in the report
        build.report.drop("answer that is neither yes nor no", place, problem)
    if row.note:
        build.report.drop("quotes that are broken, kept as they are", place)
    return pair


def parse_answer(text: str) -> bool | str | None:
    """Parse yes, no, or None without an answer; any other text is returned as it is."""
    return ANSWERS.get(text.strip().casefold(), text)


def _files(
    build: Build, settings: LabelledSettings, data_set: DataSet, names: list[str], fetch_interval: float | None
) -> dict[str, Path]:
    """Return files of the images that are in the folder or could be fetched into it; the others are reported."""
    report, images = build.report, settings.images
    report.count("different pictures", len(names))
    if images is None:
        report.note("pictures were not looked for: images=... names their folder")
        return {}
    if fetch_interval is not None and not images.exists():
        images.mkdir(parents=True)
    files = _find_files(data_set, images, names)
    problems: dict[str, str] = {}
    if fetch_interval is not None:
        problems = build.fetched((name for name in names if name not in files), images, fetch_interval)
        files = _find_files(data_set, images, names)
    for name in names:
        if name not in files:
            report.drop("picture that is not there", name, problems.get(name, f"not found in {images.name}"))
    report.count("pictures that are there", len(files))
    return files


def _find_files(data_set: DataSet, folder: Path, names: Collection[str]) -> dict[str, Path]:
    images, alone = FoundImages(folder), distinct_names(names)
    files = {name: images.find(name.removeprefix(data_set.scheme), by_name=name in alone) for name in names}
    return {name: file for name, file in files.items() if file is not None}


def _report_shared(build: Build, keys: Sequence[Keys], splits: Sequence[Any]) -> None:
    """Report the texts and images that validation and test share with training."""
    shared = leaks(keys, splits)
    held_out = sum(split != "train" for split in splits)
    for side in ("picture", "text"):
        build.report.count(f"pairs of validation and test that share a {side} with one of training", shared[side])
    if shared["either"]:
        build.report.note(
            f"{shared['either']} of {held_out} pairs of validation and test share a picture or a text with one of "
            "training; group=True keeps such pairs together"
        )


def _digest(text: str) -> bytes:
    """Return a digest that is equal for texts with the same letters and digits, whatever other characters they have."""
    words = "".join(character for character in text.casefold() if character.isalnum()) or text
    return hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).digest()
