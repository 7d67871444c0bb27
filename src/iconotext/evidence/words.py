"""The words of texts: stems, their inverse document frequency, their positions, and the words of file names."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache, wraps
from hashlib import blake2b
from importlib.resources import files
from pathlib import PurePosixPath
from typing import TypeVar
from urllib.parse import unquote, urlsplit

# Scripts whose words are not separated by spaces; they are cut into pairs of characters.
_SPACELESS = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
# So is Korean where texts are compared, since its words end in particles.
_PAIRED = rf"{_SPACELESS}\uac00-\ud7af"
# Vowel signs of Indian scripts and other marks, which Python does not count as letters.
_MARKS = r"\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff"
_LETTERS = rf"(?:(?![{_PAIRED}])[^\W\d_]|[{_MARKS}])+"
# A number with its separators, or a run of letters of one kind of script: "GPU를" is two tokens.
_TOKEN = re.compile(rf"\d+(?:[.,]\d+)*|[{_PAIRED}]+|{_LETTERS}(?:['’]{_LETTERS})?")
_UNSPACED = re.compile(f"[{_PAIRED}]")
_BEGINNING = 6
"""Letters to which words of other languages than English are cut, instead of stems. For agglutinative languages this is
about as good as a stemmer: Can et al. 2008, Information retrieval on Turkish texts, with 5 letters."""
_SUFFIXES = ("ings", "ing", "edly", "ies", "ied", "ed", "es", "ly", "s", "e")

# Function words carry no meaning, but in a document of five sentences their idf can be high. Words with which captions
# and alt texts describe themselves ('photo', 'shows') are as empty.
_EMPTY_WORDS = """
a about after also an and are as at be been but by can could did do does for from had has have he her his how
if in into is it its may more most no not of on one or other our out over she so some such than that the their
them then there these they this those through to up was we were what when where which while who will with
would you your image images photo photos photograph photographs picture pictures figure figures fig
illustration drawing diagram show shows showing shown depict depicts depicting screenshot caption credit
modification work courtesy left right der die das ein eine einer eines und oder ist sind im den dem des von
mit auf für zu nicht auch bild foto le la les un une du de et ou est sont dans sur pour par avec qui que au
aux el los las una uno y o es son en con por para del al se imagen il lo gli di e che per
"""
_EMPTY = frozenset(_EMPTY_WORDS.split())


Result = TypeVar("Result")


def remembered(most: int, *, longest: int) -> Callable[[Callable[[str], Result]], Callable[[str], Result]]:
    """Cache a function's results for the texts that were used last.

    Args:
        most: Number of results in the cache.
        longest: Longest text that is cached, in characters, since a few long ones could fill the memory.
    """

    def decorate(function: Callable[[str], Result]) -> Callable[[str], Result]:
        cached = lru_cache(most)(function)

        @wraps(function)
        def result(text: str) -> Result:
            return cached(text) if len(text) <= longest else function(text)

        return result

    return decorate


of_words = remembered(1 << 15, longest=50)
"""Cache for functions of single words; some 8 MB each, with words of nine letters."""

of_texts = remembered(1 << 12, longest=500)
"""Cache for functions of sentences and captions; some 10 MB each, with texts of twenty words."""


@of_words
def stem(word: str) -> str:
    """Strip the commonest English endings: 'baked', 'bakes' and 'baking' have one stem; numbers lose only commas."""
    word = word.lower().replace("’", "'").removesuffix("'s")
    if word[:1].isdigit():
        return word.replace(",", "")
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word[: -len(suffix)]
    return word


def stems(text: str) -> set[str]:
    """Return the stems of a text's content words, and its numbers; pairs of characters in scripts without spaces."""
    return set(map(stem, words_of(text)))


def words_with(text: str, wanted: AbstractSet[str]) -> tuple[str, ...]:
    """Return the words of a text that have one of these stems, each once; of scripts without spaces, the characters."""
    words: list[str] = []
    for token in _TOKEN.findall(text):
        if not _UNSPACED.match(token):
            words += [token] if stems(token) & wanted else []
            continue
        has = [pair in wanted for pair in _words(token)]
        words += "".join(c if any(has[max(0, i - 1) : i + 1]) else " " for i, c in enumerate(token)).split()
    return tuple(dict.fromkeys(words))


def beginning(word: str) -> str:
    """Return the first letters of a word, which stand for its stem in a text that is not English."""
    return word[:_BEGINNING]


def words_of(text: str) -> Iterator[str]:
    """Yield a text's content words, its numbers and its pairs of characters, in order, in lower case."""
    return (word for token in tokens_of(text) for word in _words(token))


@of_words
def number_of(word: str) -> int:
    """Return a 64-bit hash of a word, the same in every process; comparisons use it instead of the word."""
    # ``hash`` differs from process to process, and a text may hold half of a surrogate pair.
    return int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little", signed=True)


def tokens_of(text: str) -> tuple[str, ...]:
    """Return words and numbers of a text, in order, in lower case."""
    return tuple(_TOKEN.findall(text.lower()))


@of_words
def _words(token: str) -> tuple[str, ...]:
    if not token.isascii() and _UNSPACED.search(token):
        return tuple(token[i : i + 2] for i in range(max(1, len(token) - 1)))
    return (token,) if token not in _EMPTY and (len(token) > 1 or token.isdigit()) else ()


@of_words
def rareness(word: str) -> float:
    """Return the inverse document frequency of a stem in the sections of fourteen textbooks.

    It is largest for an unknown stem. ``python -m fitting words`` counts the sections.
    """
    sections, counts = _counts()
    return _idf(sections, counts.get(word, 0))


@cache
def _counts() -> tuple[int, dict[str, int]]:
    """Return the number of sections, and that of sections with each stem; stems of one or two sections are left out."""
    first, *lines = files("iconotext.evidence").joinpath("word_counts.txt").read_text(encoding="utf-8").splitlines()
    return int(first), {word: int(count) for word, count in (line.split() for line in lines)}


def _idf(size: int, holders: int) -> float:
    return math.log1p((size - holders + 0.5) / (holders + 0.5))


def file_words(source: str) -> str | None:
    """Return the words of a file name; None if it has none.

    Names from a camera or a hash ('IMG_2351.jpg', '8f1301ba977e.png', 'DSC00042', 'image3') have no words: a word has
    at least three letters, one of them a vowel, and no digits beside it.
    """
    name = PurePosixPath(unquote(urlsplit(source).path if "://" in source else source)).name
    if source.startswith("data:") or not name:
        return None
    base = re.sub(r"(?i)(\.(jpe?g|png|gif|webp|avif|svg|bmp|tiff?|heic))+$", "", name)
    return text_words(base)


_CAMERA = re.compile(
    r"(?i)^(img|image|images|dsc|dscn|dscf|pxl|mvimg|vid|photo|foto|picture|pic|screenshot|screen|shot|scan|fig|figure"
    r"|whatsapp|signal|untitled|unnamed|download|copy|crop|cropped|resized|scaled|thumb|thumbnail|small|large|full|final"
    r"|jpe?g|png|gif|webp|cover|banner|header|hero|logo|icon|file|media|asset|tmp|temp|edit|edited|rotated)$"
)
_HASH = re.compile(r"(?i)^(?=[0-9a-f-]*\d)[0-9a-f-]{8,}$")


def text_words(text: str) -> str | None:
    """Return the words of a file name without suffix, or of an alt text, which may be a file name; None without any."""
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    parts = " ".join(part for part in re.split(r"[\s_+.~,()\[\]-]+", parts) if not _HASH.match(part))
    words = [
        word
        for word in re.findall(r"(?<![\d])[^\W\d_]{3,}(?![\d]{3})", parts)
        if not _CAMERA.match(word) and (re.search(r"[aeiouyäöüáéíóúàèâêîôûåæøœ]", word.lower()) or not word.isascii())
    ]
    return " ".join(words) or None


Span = tuple[int, int]
"""Begin and end of a word, in characters."""

# Words are separated by white space, or by a mark such as a slash or dash. The separators are matched and not the
# letters, since Python does not count vowel signs (as of Hindi or Thai) as letters.
_RUN = re.compile(r"[^\s/—–…·|]+")
_UNSPACED_SPAN = re.compile(f"[{_SPACELESS}]+")


def word_spans(text: str) -> list[Span]:
    """Return the positions of the words of a text, in order, without the punctuation around them.

    Scripts that put no space between words are cut into pairs of characters.
    """
    return [span for run in _RUN.finditer(text) for span in _parts(text, *run.span())]


def without(text: str, spans: Iterable[Span]) -> str:
    """Return the text without the given spans, with white space collapsed."""
    left, at = [], 0
    for begin, end in sorted(spans):
        left.append(text[at:begin])
        at = max(at, end)
    return " ".join("".join([*left, text[at:]]).split())


def _parts(text: str, begin: int, end: int) -> Iterator[Span]:
    """Yield the words of a run without white space: one, or more if parts are in a script without spaces."""
    at = begin
    for stretch in _UNSPACED_SPAN.finditer(text, begin, end):
        yield from _trimmed(text, at, stretch.start())
        yield from _pairs(text, *stretch.span())
        at = stretch.end()
    yield from _trimmed(text, at, end)


def _pairs(text: str, begin: int, end: int) -> Iterator[Span]:
    """Yield pairs of characters; combining marks stay with their character."""
    starts = [i for i in range(begin, end) if i == begin or not unicodedata.combining(text[i])][::2]
    yield from zip(starts, [*starts[1:], end], strict=True)


def _trimmed(text: str, begin: int, end: int) -> Iterator[Span]:
    while begin < end and _is_punctuation(text[begin]):
        begin += 1
    while begin < end and _is_punctuation(text[end - 1]):
        end -= 1
    if begin < end:
        yield begin, end


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PSC"
