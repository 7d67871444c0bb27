"""Whether a change of the text tells that a picture beside it will be replaced: the record `left-behind`.

    python benchmarks/left_behind.py NAME REPOSITORY PAGES [NAME REPOSITORY PAGES ...] [--write]

REPOSITORY is a git directory of a manual, PAGES a regular expression for the paths of its pages. Every thirty days of
its first-parent history, the pages are compared with those of thirty days before. Ranked is each picture that both
versions of a page show, with the same file; right is one whose file is replaced within 180 days after: by another file
under its name, which looks different, or by a new one in its place on the page. Of each ranking the first ten and
thirty of a date count, fewer where fewer have a reason; equal ones count as if drawn at random. Intervals: 95 %, from
2,000 resamplings of the dates. *Fitted* weighs all facts by a logistic regression on the other manuals.
"""

from __future__ import annotations

import argparse
import io
import math
import re
import subprocess
import sys
import tempfile
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath

import numpy as np
import statsmodels.api as sm
from PIL import Image
from result_tables import Figure, Table, program_version, share, show, write_record

from iconotext.check.page import Page, read_page
from iconotext.read import ReadSettings
from iconotext.read.format import suffix_format
from iconotext.read.sentences import split_sentences

DAY = 86_400
STEP, WITHIN = 30, 180
SMALLEST = 64
"""Pixels of the shorter side from which on a picture is no icon."""

NEAR = 6
"""Passages between a picture and a change that counts for it, under the same heading."""

WORD = re.compile(r"\w+(?:[-'’]\w+)*")
NAME = re.compile(
    r"\*\*([^*\n]{1,60})\*\*|:(?:guilabel|menuselection|kbd|command):`([^`]{1,80})`|``?([^`\n]{1,60})`"
    r"|<(?:kbd|b|strong)>([^<]{1,60})<|[“\"]([^\"”\n]{2,60})[”\"]|(?:btn|menu|kbd):([^\[\n]{0,40}\[[^\]\n]*\])"
    r"|(?<![\w*])\*([^*\n]{2,60})\*(?![\w*])|(?<!\w)_([^_\n]{2,60})_(?!\w)"
)
"""What manuals do to the names of buttons, menus and fields: bold, quotes, code, keys, roles, macros."""

SMALL_WORDS = frozenset("a an the this that these those of to in on at for from by with and or as is are be it".split())
Token = tuple[str, str]


def plain(text: str) -> str:
    return " ".join(WORD.findall(text.lower().replace("’", "'")))


@dataclass(frozen=True)
class Text:
    """A version of a page: its sentences, each with the number of its passage."""

    page: Page
    sentences: list[tuple[int, str]]

    @cached_property
    def names(self) -> set[str]:
        names = (plain(next(filter(None, match.groups()), "")) for match in NAME.finditer(self.page.text or ""))
        return {name for name in names if len(name) > 1 and name.count(" ") < 6}

    def named(self, sentence: str) -> set[str]:
        return {name for name in self.names if f" {name} " in f" {plain(sentence)} "}

    def section(self, block: int) -> tuple[int, int, int]:
        """The first passage under the heading of a picture, the passage behind it, and the end."""
        at, headings = (
            bisect_left(self.page.blocks, block),
            [bisect_left(self.page.blocks, n) for n in self.page.headings],
        )
        begin = max((n for n in headings if n < at), default=0)
        return begin, at, min((n for n in headings if n >= at), default=len(self.page.passages))


@dataclass(frozen=True)
class Change:
    """A sentence that came, went or changed.

    Attributes:
        passage: The number of the passage of the new version, or of the one behind what went.
        names: Marked names that went, and that came.
        renamed: Whether a name took the place of another one in the sentence.
    """

    passage: int
    old: str
    new: str
    names: tuple[set[str], set[str]]
    renamed: bool

    @property
    def words(self) -> int:
        old, new = (Counter(WORD.findall(text.lower())) for text in (self.old, self.new))
        return ((old - new) + (new - old)).total()


def changes(old: Text, new: Text) -> list[Change]:
    one, other = ([plain(sentence) for _, sentence in text.sentences] for text in (old, new))
    found = []
    for kind, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        pairs: list[tuple[int | None, int | None]] = []
        if kind == "replace":
            alike = (
                (ratio(one[i], other[j]), i, j) for i in range(a, min(b, a + 60)) for j in range(c, min(d, c + 60))
            )
            for likeness, n, m in sorted(alike, reverse=True):
                if likeness >= 0.5 and not any(n == pair[0] or m == pair[1] for pair in pairs):
                    pairs.append((n, m))
        if kind != "equal":
            pairs += [(i, None) for i in range(a, b) if i not in {pair[0] for pair in pairs}]
            pairs += [(None, j) for j in range(c, d) if j not in {pair[1] for pair in pairs}]
        for i, j in pairs:
            before = "" if i is None else old.sentences[i][1]
            after = "" if j is None else new.sentences[j][1]
            passage = new.sentences[min(c if j is None else j, len(new.sentences) - 1)][0]
            went, came = old.named(before), new.named(after)
            names = went - {n for n in went if f" {n} " in f" {plain(after)} "}, came - old.named(before)
            found.append(Change(passage, before, after, names, renamed(before, after, *names)))
    return found


@lru_cache(100_000)
def ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one.split(), other.split(), autojunk=False).ratio()


def renamed(old: str, new: str, went: set[str], came: set[str]) -> bool:
    """Whether a name took the place of another one; not where a slip was mended or small words changed."""
    one, other = plain(old).split(), plain(new).split()
    for kind, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes() if old and new else ():
        words = {*one[a:b], *other[c:d]} - SMALL_WORDS
        if kind == "equal" or max(b - a, d - c) > 4 or not words or any("_" in word for word in words):
            continue
        slip = SequenceMatcher(None, "".join(one[a:b]), "".join(other[c:d]), autojunk=False).ratio() >= 0.8
        if not slip and in_a_name(one, a, b, went) and in_a_name(other, c, d, came):
            return True
    return False


def in_a_name(words: Sequence[str], begin: int, end: int, names: set[str]) -> bool:
    """Whether a name holds a range of the words."""
    return any(
        words[start : start + n] == name.split()
        for name in names
        for n in [len(name.split())]
        for start in range(max(end - n, 0), begin + 1)
    )


@dataclass
class Candidate:
    """A picture at a date that both versions of its page show, with the same file.

    Attributes:
        date: Manual and number of the date.
        edited: Whether the page changed.
        near: Distance in passages, and change, under the heading of the picture.
    """

    date: tuple[str, int]
    right: bool
    age: float
    versions: int
    pixels: int
    edited: bool
    near: list[tuple[int, Change]] = field(default_factory=list)

    def sum(self, count: Callable[[Change], int]) -> float:
        return sum(count(change) / distance for distance, change in self.near)

    @property
    def renamed(self) -> float:
        return max((1 / distance for distance, change in self.near if change.renamed), default=0)


RANKINGS: dict[str, Callable[[Candidate], float]] = {
    "any picture": lambda _: 1,
    "page edited": lambda it: it.edited,
    "passage beside it edited": lambda it: any(distance == 1 for distance, _ in it.near),
    "longest unchanged": lambda it: 1 + it.age,
    "changed last": lambda it: 1 / (1 + it.age),
    "changed words, the nearest count most": lambda it: it.sum(lambda change: change.words),
    "names that came or went": lambda it: it.sum(lambda change: len(change.names[0] | change.names[1])),
    "sentences that came or went": lambda it: it.sum(lambda change: not (change.old and change.new)),
    "a name for another one, the nearest first": lambda it: it.renamed,
}
PLAIN = tuple(RANKINGS)[1:5]


def facts(it: Candidate) -> list[float]:
    counts = [min(ranking(it), 20) for name, ranking in RANKINGS.items() if name not in PLAIN[2:]]
    return [*counts, math.log(it.age + 1), math.log(it.versions), math.log(it.pixels), math.log1p(len(it.near))]


class Manual:
    """The history of a manual."""

    def __init__(self, name: str, repository: str, pages: str, folder: Path) -> None:
        self.name, self.repository, self.pages, self.folder = name, repository, re.compile(pages), folder
        self.texts: dict[str, Text | None] = {}
        self.sizes: dict[str, tuple[int, int] | None] = {}
        log = self.git("log", "--first-parent", "--reverse", "--format=%H %ct").split()
        commits = [(hash_, int(time)) for hash_, time in zip(log[::2], log[1::2], strict=True)]
        times = [time for _, time in commits]
        self.dates = range(times[0] + STEP * DAY, times[-1], STEP * DAY)
        self.files = [self.tree(commits[bisect_left(times, date) - 1][0]) for date in self.dates]
        self.first: dict[str, int] = {}
        self.versions: dict[str, list[int]] = defaultdict(list)
        time = 0
        raw = ("log", "--first-parent", "--reverse", "-m", "--raw", "--no-abbrev", "--no-renames", "--format=@%ct")
        for line in self.git(*raw).splitlines():
            if line.startswith("@"):
                time = int(line[1:])
            elif line and is_picture(path := line.partition("\t")[2]):
                self.first.setdefault(line.split()[3], time)
                self.versions[path].append(time)

    def git(self, *arguments: str) -> str:
        return self.bytes(*arguments).decode(errors="replace")

    def bytes(self, *arguments: str) -> bytes:
        done = subprocess.run(["git", "-C", self.repository, *arguments], capture_output=True, check=False)
        return done.stdout  # nothing for a file that the copy of the repository lacks

    def tree(self, commit: str) -> dict[str, str]:
        rows = (row.partition("\t") for row in self.git("ls-tree", "-r", "-z", commit).split("\0") if row)
        return {path: head.split()[2] for head, _, path in rows if is_picture(path) or self.pages.search(path)}

    def text(self, path: str, blob: str) -> Text | None:
        """A version of a page; None if it cannot be read or shows no pictures."""
        if blob not in self.texts:
            file = self.folder / ("page" + PurePosixPath(path).suffix.replace(".mdx", ".md"))
            file.write_bytes(self.bytes("cat-file", "blob", blob))
            row = suffix_format(file)
            try:
                page = read_page(row.name if row else "", file, ReadSettings())
            except Exception as error:  # a page of another time may be broken in any way
                print(f"{self.name}: {path}: {error}", file=sys.stderr)
                page = None
            sentences = [
                (number, passage.text[begin:end])
                for number, passage in enumerate(page.passages if page else ())
                for begin, end in split_sentences(passage.text, "en")
            ]
            self.texts[blob] = Text(page, sentences) if page and page.pictures and sentences else None
        return self.texts[blob]

    def shown(self, path: str, text: Text, date: int) -> list[tuple[int, str]]:
        """Block and path of each picture that a page shows, where its file is found."""
        by_name = self.by_name(date)
        found = []
        for picture in text.page.pictures:
            parts = [part for part in re.split(r"[?#]", picture.source)[0].split("/") if part.strip(".")]
            alike = by_name.get(parts[-1] if parts else "", ())
            best = max(
                alike, key=lambda file: (common(file.split("/")[::-1], parts[::-1]), common(file, path)), default=None
            )
            if best is not None:
                found.append((picture.block, best))
        return found

    @lru_cache(8)  # noqa: B019  # as many manuals as the command names
    def by_name(self, date: int) -> Mapping[str, list[str]]:
        names: dict[str, list[str]] = defaultdict(list)
        for path in filter(is_picture, self.files[date]):
            names[path.rpartition("/")[2]].append(path)
        return names

    def size(self, blob: str) -> tuple[int, int] | None:
        if blob not in self.sizes:
            try:
                self.sizes[blob] = Image.open(io.BytesIO(self.bytes("cat-file", "blob", blob))).size
            except OSError:
                self.sizes[blob] = None
        return self.sizes[blob]

    @lru_cache(10_000)  # noqa: B019
    def looks_the_same(self, one: str, other: str) -> bool:
        """Whether a file was only written anew: a mean difference below 2 of 255."""
        if not self.size(one) or self.size(one) != self.size(other):
            return False
        files = (Image.open(io.BytesIO(self.bytes("cat-file", "blob", blob))) for blob in (one, other))
        first, second = (np.asarray(file.convert("RGBA").reduce(2), np.int16) for file in files)
        return bool(np.abs(first - second).mean() < 2)

    def candidates(self) -> Iterator[Candidate]:
        for date in range(1, len(self.dates) - WITHIN // STEP):
            best: dict[str, Candidate] = {}
            for path, blob in self.files[date].items():
                for file, it in self.on_page(path, blob, date) if self.pages.search(path) else ():
                    known = best.setdefault(file, it)
                    known.right |= it.right
                    known.edited |= it.edited
                    known.near = max(known.near, it.near, key=len)
            yield from best.values()

    def on_page(self, path: str, blob: str, date: int) -> Iterator[tuple[str, Candidate]]:
        files, before, after = self.files[date], self.files[date - 1], self.files[date + WITHIN // STEP]
        new, old = self.text(path, blob), self.text(path, before[path]) if path in before else None
        if new is None or old is None:
            return
        earlier = {file for _, file in self.shown(path, old, date - 1)}
        found = changes(old, new) if before[path] != blob else []
        place = self.replaced(path, new, date)
        for block, file in self.shown(path, new, date):
            picture = files[file]
            size = self.size(picture)
            if before.get(file) != picture or file not in earlier or size is None or min(size) < SMALLEST:
                continue
            later = after.get(file, picture)
            right = (later != picture and not self.looks_the_same(picture, later)) or file in place
            age = (self.dates[date] - self.first[picture]) / DAY
            versions = sum(time <= self.dates[date] for time in self.versions[file])
            begin, at, end = new.section(block)
            distances = (
                (at - c.passage if c.passage < at else c.passage - at + 1, c) for c in found if begin <= c.passage < end
            )
            near = [(distance, change) for distance, change in distances if distance <= NEAR]
            edited = before[path] != blob
            yield (
                file,
                Candidate((self.name, date), right, age, max(versions, 1), size[0] * size[1], edited, near),
            )

    def replaced(self, path: str, new: Text, date: int) -> set[str]:
        """The pictures in whose place the page shows a new file later."""
        later = date + WITHIN // STEP
        files, after = self.files[date], self.files[later]
        then = self.text(path, after[path]) if path in after and after[path] != files[path] else None
        if then is None:
            return set()
        one, other = self.tokens(path, new, date), self.tokens(path, then, later)
        kept = {file for _, file in other} | {
            file for _, file in one if files.get(file) in {after.get(f) for _, f in other}
        }
        known = set(files.values())
        gone: set[str] = set()
        for kind, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
            came = any(what == "picture" and after[file] not in known for what, file in other[c:d])
            if kind == "replace" and came:
                gone |= {file for what, file in one[a:b] if what == "picture" and file not in kept}
        return gone

    def tokens(self, path: str, text: Text, date: int) -> list[Token]:
        blocks = text.page.blocks
        order = [(blocks[n], "text", sentence) for n, sentence in text.sentences]
        order += [(block, "picture", file) for block, file in self.shown(path, text, date)]
        return [(kind, what) for _, kind, what in sorted(order, key=lambda token: token[0])]


def is_picture(path: str) -> bool:
    return path.lower().endswith((".png", ".jpg", ".jpeg", ".gif", ".webp"))


def common(one: Sequence[str], other: Sequence[str]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def first(found: Sequence[Candidate], score: Callable[[Candidate], float], most: int) -> list[tuple[float, int]]:
    """At each date, the expected number of right ones among the first, and their number."""
    dates: dict[tuple[str, int], dict[float, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for it in found:
        if (value := score(it)) > 0:
            dates[it.date][value].append(it.right)
    results = []
    for ranks in dates.values():
        hits, left = 0.0, most
        for _, right in sorted(ranks.items(), reverse=True):
            taken = min(left, len(right))
            hits, left = hits + taken * sum(right) / len(right), left - taken
        results.append((hits, most - left))
    return results


def fitted(manuals: Mapping[str, Sequence[Candidate]], name: str) -> Callable[[Candidate], float]:
    """A ranking of the pictures whose page changed, by all facts, with weights of the other manuals."""
    others = {other: [it for it in found if it.edited] for other, found in manuals.items() if other != name}
    rows = np.array([facts(it) for found in others.values() for it in found])
    middle, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    own = np.repeat(np.eye(len(others)), [len(found) for found in others.values()], axis=0)
    right = np.array([it.right for found in others.values() for it in found], float)
    model = sm.GLM(right, np.hstack([(rows - middle) / spread, own]), family=sm.families.Binomial())
    weights = model.fit_regularized(alpha=1e-3, L1_wt=0.0).params[: len(middle)]
    return lambda it: math.exp(float((np.array(facts(it)) - middle) / spread @ weights)) if it.edited else 0


def results(found: Mapping[str, Sequence[Candidate]]) -> Table:
    """The share of right ones among the first: of the ten by manual, and of the ten and thirty of all manuals."""
    rows: dict[str, dict[str, Figure]] = {}
    for rule in (*RANKINGS, "all facts, fitted on the other manuals"):
        row = rows.setdefault(rule, {})
        together: dict[int, list[tuple[float, int]]] = {10: [], 30: []}
        for name, its in found.items():
            ranking = RANKINGS.get(rule) or fitted(found, name)
            for most, all_ in together.items():
                all_ += first(its, ranking, most)
            row[name] = shares(first(its, ranking, 10))
        row |= {f"first {most}": shares(all_) for most, all_ in together.items()}
    return Table("left-behind", "Pictures replaced within 180 days, of the first ten", rows, "ranking")


def shares(counted: Sequence[tuple[float, int]]) -> Figure:
    return share(counted, lambda result: result)  # type: ignore[arg-type,return-value]  # expected numbers are no whole ones


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manuals", nargs="+", metavar="NAME REPOSITORY PAGES", help="two manuals at least")
    parser.add_argument("--write", action="store_true", help="write the record")
    options = parser.parse_args()
    version, found = program_version(), {}
    given = options.manuals
    for name, repository, pages in zip(given[::3], given[1::3], given[2::3], strict=True):
        with tempfile.TemporaryDirectory() as folder:
            manual = Manual(name, repository, pages, Path(folder))
            found[name] = list(manual.candidates())
            print(name, len(manual.dates), "dates,", len(found[name]), "pictures", flush=True)
    table = results(found)
    show(table)
    if options.write:
        write_record(table, "python benchmarks/left_behind.py NAME REPOSITORY PAGES ...", version)


if __name__ == "__main__":
    main()
