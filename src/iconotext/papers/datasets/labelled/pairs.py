"""Documents of one text and one picture with coherence relations, out of tables of annotations.

The tables are read twice: first to see which rows can be used and what they share, on which the splits depend, then to
make the documents. Memory holds one row, and some numbers for each.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iconotext.corpus.builders.images.found import FoundImages
from iconotext.corpus.row import Split
from iconotext.corpus.unique_id import UniqueIds
from iconotext.errors import CorpusError
from iconotext.papers.datasets.labelled.annotation_table import TableRow, open_table, table_rows
from iconotext.papers.datasets.labelled.answers import parse_answer
from iconotext.papers.datasets.labelled.report import Answers, LabelledReport, SourceReport
from iconotext.papers.datasets.labelled.splits import leaks, split_pairs
from iconotext.types import Document, Image, Sentence


@dataclass(frozen=True, slots=True)
class Pair:
    """A row of a table that can be used.

    Attributes:
        name: What the document is called, if nothing before it is.
        text: Of the document's one sentence.
        picture: What the document calls its image where there is no file; no path.
        relations: By name; None where nobody said.
        meta: Of the document.
        notes: What to know of the row.
    """

    name: str
    text: str
    picture: str
    relations: dict[str, bool | None]
    meta: dict[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DataSet:
    """How the tables of a data set are read.

    Attributes:
        name: Of the builder.
        needed: Columns that a table must have, in small letters.
        about: What the file is and where it comes from.
        relations: Names of the relations.
        published: What the paper says of it.
        pair_of: From the values of a row, the name of its file and its line, to a pair; raises ``ValueError`` with the
            reason where there is none.
        finder: From a folder of pictures and all pictures of the data set to what finds the file of one.
    """

    name: str
    needed: tuple[str, ...]
    about: str
    relations: tuple[str, ...]
    published: Mapping[str, Any]
    pair_of: Callable[[dict[str, str], str, int], Pair]
    finder: Callable[[FoundImages, Sequence[str]], Callable[[str], Path | None]]


@dataclass(slots=True)
class Survey:
    """What the first reading found.

    Attributes:
        report: Files and the rows left out.
        pictures: Different pictures, in the order in which they first come.
        image_of: For every row that can be used, the number of its picture.
        texts: For every row that can be used, a digest of its text.
        usable: For every row, whether it can be used.
    """

    report: LabelledReport
    pictures: list[str] = field(default_factory=list)
    image_of: list[int] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    usable: bytearray = field(default_factory=bytearray)


def survey_tables(data_set: DataSet, sources: Sequence[Path], *, once: bool = False) -> Survey:
    """Read the tables for the first time.

    Args:
        data_set: What they are.
        sources: The files, in the order in which documents come.
        once: Leave out rows whose text and picture an earlier row has.

    Raises:
        CorpusError: A file cannot be read, is no such table, or is named twice; or no row can be used.
    """
    report = LabelledReport(data_set.name, {"once": once}, data_set.published)
    survey = Survey(report)
    number_of: dict[str, int] = {}
    first: dict[tuple[int, bytes], str] = {}
    if len({path.resolve() for path in sources}) < len(sources):
        raise CorpusError(f"{', '.join(map(str, sources))}: a file is named twice")
    for path in sources:
        source = SourceReport(open_table(path, data_set.needed, data_set.about))
        report.sources.append(source)
        for row in table_rows(source.table):
            survey.usable.append(0)
            try:
                pair = _pair(data_set, row, path)
            except ValueError as error:
                source.left_out.append((row.line, str(error)))
                continue
            picture = number_of.setdefault(pair.picture, len(number_of))
            text = _digest(pair.text)
            place = f"line {row.line} of {path.name}"
            earlier = first.setdefault((picture, text), place)
            if earlier != place:
                if once:
                    source.left_out.append((row.line, f"the same text and picture as an earlier row: {earlier}"))
                    continue
                report.repeats += 1
            survey.usable[-1] = 1
            survey.image_of.append(picture)
            survey.texts.append(text)
            source.used += 1
            source.notes += [(row.line, note) for note in (row.note, *pair.notes) if note]
    survey.pictures = list(number_of)
    if not survey.image_of:
        rows = sum(source.rows for source in report.sources)
        reasons = sum((source.reasons() for source in report.sources), start=Counter[str]())
        why = f" ({', '.join(f'{reason}: {n}' for reason, n in reasons.most_common(3))})" if reasons else ""
        raise CorpusError(f"{', '.join(map(str, sources))}: none of {rows} rows can be used{why}")
    return survey


def labelled_documents(
    data_set: DataSet,
    survey: Survey,
    files: Mapping[str, Path],
    *,
    seed: int = 0,
    group: bool = False,
    only_found: bool = False,
    missing: Mapping[str, str] | None = None,
) -> Iterator[Document]:
    """Read the tables again and make the documents; ``survey.report`` is complete after the last one.

    Args:
        data_set: As for the survey.
        survey: Of the same files.
        files: By picture, those that were found.
        seed: Of the splits.
        group: Whether pairs that share a picture or a text go to the same split.
        only_found: Leave out pairs without a picture file; splits are made of the others.
        missing: Why a picture has no file.

    Raises:
        CorpusError: A file has changed, nothing is left, or the groups are too large for a split.
    """
    report = survey.report
    report.settings |= {"seed": seed, "group": group, "only_found": only_found}
    report.answers = {name: Answers() for name in data_set.relations}
    why = missing or {}
    report.pictures = len(survey.pictures)
    report.missing = {name: why.get(name, "not found") for name in survey.pictures if name not in files}
    there = [survey.pictures[number] in files for number in survey.image_of]
    keys = [
        (survey.image_of[i].to_bytes(8), survey.texts[i])
        for i in range(len(there))
        if there[i] or not only_found
    ]  # fmt: skip
    if not keys:
        raise CorpusError(f"none of {len(there)} pairs has a picture: leave out only_found=True")
    splits = split_pairs(keys, seed=seed, group=group)
    report.shared = leaks(keys, splits)
    yield from _second_reading(data_set, survey, files, iter(splits), only_found)


def _second_reading(
    data_set: DataSet, survey: Survey, files: Mapping[str, Path], splits: Iterator[Split], only_found: bool
) -> Iterator[Document]:
    report, ids, number = survey.report, UniqueIds(), 0
    for source in report.sources:
        path = source.table.path
        for row in table_rows(source.table):
            usable = number < len(survey.usable) and survey.usable[number]
            number += 1
            if not usable:
                continue
            try:
                pair = _pair(data_set, row, path)
            except ValueError as error:
                raise CorpusError(f"{path}: changed while it was read") from error
            file = files.get(pair.picture)
            if file is None and only_found:
                source.used -= 1
                source.left_out.append((row.line, f"its picture is not there: {pair.picture}"))
                source.notes = [(line, note) for line, note in source.notes if line != row.line]
                continue
            split = next(splits, None)
            if split is None:
                raise CorpusError(f"{path}: changed while it was read")
            report.splits[split] += 1
            for name, answer in pair.relations.items():
                report.answers[name].add(answer)
            yield Document(
                id=ids.take(pair.name),
                sentences=(Sentence(pair.text),),
                images=(Image(pair.picture, file),),
                links=((0, 0),),
                split=split,
                meta={"relations": pair.relations, **pair.meta},
            )
        source.left_out.sort()
    if number != len(survey.usable):
        raise CorpusError(f"{report.sources[-1].table.path}: changed while it was read")


def relations_of(values: dict[str, str], columns: Mapping[str, str]) -> tuple[dict[str, bool | None], tuple[str, ...]]:
    """Relations of a row, and notes on answers that are none.

    Args:
        values: Of the row, by column.
        columns: By relation, the column of its answers.
    """
    relations: dict[str, bool | None] = {}
    notes = []
    for name, column in columns.items():
        try:
            relations[name] = parse_answer(values[column])
        except ValueError:
            relations[name] = None
            notes.append(f"{column} has {values[column][:40]!r}, neither yes nor no: counted as no answer")
    if all(answer is None for answer in relations.values()):
        notes.append("no relation is answered")
    return relations, tuple(notes)


def kept_answer(text: str) -> bool | str | None:
    """An answer to a question that is no relation, for ``meta``: as it stands where it is neither yes nor no."""
    try:
        return parse_answer(text)
    except ValueError:
        return text


def _pair(data_set: DataSet, row: TableRow, path: Path) -> Pair:
    """The pair of a row.

    Raises:
        ValueError: There is none; says why.
    """
    if row.values is None:
        raise ValueError(row.problem)
    return data_set.pair_of(row.values, path.name, row.line)


def _digest(text: str) -> bytes:
    """Equal for texts that have the same letters and digits, whatever stands between them."""
    words = "".join(character for character in text.casefold() if character.isalnum()) or text
    return hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).digest()
