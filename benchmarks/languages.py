"""How often the language of a text is told right, and how often it is told from English.

    python benchmarks/languages.py [--data FOLDER]

Texts of 10, 20 and 50 words out of the translated messages of programs (/usr/share/locale; harder than prose), 300 of
each language and length; and the documents of the data folder, which are all English.
"""

from __future__ import annotations

import contextlib
import gettext
import json
import random
import re
from collections import Counter
from pathlib import Path

from data_folder import parser_with_data

from iconotext.read.sentences import WORD, detect_language

LOCALES = Path("/usr/share/locale")
LANGUAGES = "de fr es it nl pl pt sv ru cs ja zh_CN".split()
GENRES = ("build/documents", "cooking/documents", "garden_home/documents", "cited/cited", "textbook/documents")
TEXTS = 300


def main() -> None:
    data = parser_with_data(__doc__).parse_args().data
    print("| language | 10 words | 20 words | 50 words |\n|---|---|---|---|")
    for name in LANGUAGES:
        messages = translated(name)
        if messages:
            print(f"| {name[:2]} | {' | '.join(figures(messages, name[:2], words) for words in (10, 20, 50))} |")
    found: Counter[str] = Counter()
    for genre in GENRES:
        for line in (data / "documents" / f"{genre}.jsonl").read_text(encoding="utf-8").splitlines():
            found[detect_language("\n".join(json.loads(line)["sentences"]))] += 1
    print(f"\nEnglish documents: {dict(found)}")


def translated(name: str) -> list[str]:
    """The messages of all programs in a language that have six words or more."""
    found: set[str] = set()
    messages: dict[object, object] = {}
    for path in LOCALES.glob(f"{name}/LC_MESSAGES/*.mo"):
        with path.open("rb") as file, contextlib.suppress(UnicodeDecodeError):  # a few are damaged
            messages |= gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]  # there is no other way
    for original, text in messages.items():
        if isinstance(text, str) and text != original:
            plain = " ".join(re.sub(r"%[-\w$.]*|\\n|[<>{}|`]", " ", text).split())
            if len(WORD.findall(plain)) >= 6 and len(plain) < 400:
                found.add(plain)
    return sorted(found)


def figures(messages: list[str], language: str, words: int) -> str:
    """Per cent of the texts whose language is right, and of those that are not taken for English."""
    shuffled = random.Random(0).sample(messages, len(messages))
    texts: list[str] = []
    some: list[str] = []
    for message in shuffled:
        some += message.split()
        if len(some) >= words:
            texts.append(" ".join(some[:words]))
            some = []
    told = [detect_language(text) for text in texts[:TEXTS]]
    return " / ".join(
        f"{100 * sum(ok) / len(told):.1f}" for ok in ([t == language for t in told], [t != "en" for t in told])
    )


if __name__ == "__main__":
    main()
