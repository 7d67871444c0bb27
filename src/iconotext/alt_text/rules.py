"""The rules for alternative texts that can be checked without the picture, in one table, and their settings.

``broken_rules`` applies the rules to the pictures of a document; ``fingerprinted`` numbers the findings for a baseline.
"""

from __future__ import annotations

import hashlib
import os.path
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field

from iconotext.alt_text.language import (
    FEW,
    main_language,
    other_language,
    same,
    sentences,
    without_label,
    without_number,
    words,
)
from iconotext.alt_text.picture import Picture, Place
from iconotext.plain_text import shortened

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a picture violates.

    Attributes:
        message: What is wrong, and what to do.
        alt: Its alternative text; None without one.
        fingerprint: Depends on document, rule, picture and text, but not on the place in the document; "" before
            ``fingerprinted``.
    """

    rule: str
    severity: Severity
    message: str
    place: Place
    source: str
    alt: str | None
    fingerprint: str = ""


def fingerprinted(findings: Iterable[Finding], root: Path) -> Iterator[Finding]:
    """Set the fingerprints of findings; findings that are otherwise equal are numbered in reading order."""
    seen: Counter[str] = Counter()
    for finding in findings:
        path = repository_path(finding.place.path, root) or finding.place.path
        parts = (path, finding.place.part, finding.rule, finding.source, finding.alt)
        like = hashlib.sha256(repr(parts).encode(errors="surrogatepass")).hexdigest()[:24]
        seen[like] += 1
        yield replace(finding, fingerprint=f"{like}/{seen[like]}")


# No rule finds texts that were swapped between pictures: its precision, 92 %, was too low for a check.
_THINGS = (
    "image images img picture pictures pic photo photos photograph graphic graphics figure fig screenshot screen-shot "
    "diagram diagrams chart graph plot map illustration drawing sketch render rendering icon logo banner header "
    "thumbnail thumb avatar sample example demo datasheet data_sheet schematic flowchart snapshot "  # English
    "bild bilder foto fotos grafik abbildung abb illustration diagramm bildschirmfoto datenblatt skizze zeichnung "
    "beispiel beispielbild muster schaltplan schaubild "  # German
    "imagen fotografía figura gráfico captura ilustración ejemplo muestra esquema diagrama dibujo "  # Spanish
    "photographie capture graphique schéma dessin diagramme exemple fiche_technique "  # French
    "immagine fotografia grafico figura disegno esempio scheda_tecnica "  # Italian
    "imagem gráfico captura ilustração exemplo amostra desenho "  # Portuguese
    "afbeelding plaatje grafiek figuur schermafbeelding voorbeeld tekening "  # Dutch
    "bilde billede kuva obraz obrázek zdjęcie rysunek kép изображение картинка фото рисунок "
    "画像 写真 图片 圖片 照片 그림 사진"
).split()

_PHOTOS = (
    "image img picture pic photo photograph screenshot bild foto bildschirmfoto imagen fotografía captura photographie "
    "immagine fotografia imagem afbeelding billede kuva obraz zdjęcie изображение фото"
).split()
"""A few words and one of these with a number are a name ("Keyboard Photo 1"); a table or a sample may have that name
itself ("Soil sample 3")."""

_PARTS = (
    "step day part page slide sheet table item stage phase exercise "  # English
    "schritt tag teil seite folie blatt aufgabe "  # German
    "paso día página parte étape etape jour page partie passo passaggio giorno pagina dia etapa "
    "stap deel dag bladzijde steg sida trin skritt krok dzień strona шаг день страница 手順 ステップ 步骤 步驟 단계"
).split()
"""A part of a text or a procedure; with a number alone, it says where the picture stands and not what it shows."""

_QUALITIES = (
    "sample example demo dummy test default stock main cover header hero featured feature background profile product "
    "preview placeholder company site website my our your new first second last"
).split()
"""Words before a generic noun that say nothing of the picture either."""


def _any(words: list[str]) -> str:
    return f"(?:{'|'.join(re.escape(word).replace('_', ' ?') for word in words)})"


_NUMBER = r"\d+(?:[.\-–]\d+)*[a-z]?"

PLACEHOLDER = re.compile(
    rf"(?:an? |the )?(?:{_any(_QUALITIES)}[ _-])?{_any(_THINGS)}(?:[ _-](?:{_any(_THINGS)}|text))?"
    rf"\W*(?:(?:no|nr|n°|№)?\W*{_NUMBER})?"
    rf"|{_any(_PARTS)}[\W_]*(?:(?:no|nr|n°|№)?\W*{_NUMBER})"
    rf"|(?:[^\W\d_]+[ _-]){{1,3}}{_any(_PHOTOS)}[ _#-]*\d{{1,3}}"
    r"|alt(?:ernative)?(?:[ _-]?text)?|description|title|caption|untitled|unnamed|placeholder|spacer|blank|null|none"
    r"|undefined|n/?a|todo\b.*|tbd|fixme\b.*|xxx+|lorem ipsum\b.*|(?:insert|add|enter|write) (?:an? |the )?"
    r"(?:alt(?:ernative)? ?text|description|image description)\b.*|test|foo|bar|asdf\w*",
    re.IGNORECASE,
)
"""A text that says nothing about the picture."""

IMAGE_OF = re.compile(
    r"(?:"
    r"(?:this is )?(?:an? |the |this )?(?:(?:colou?r|digital|close-?up|stock) )?"
    r"(?:image|picture|pic|photo|photograph|graphic)s? "
    r"(?:of|showing|depicting|that shows|which shows|shows|depicts|displaying)"
    r"|(?:das |ein |dieses )?(?:bild|foto|(?:die |eine )?abbildung|(?:die |eine )?grafik) "
    r"(?:von|vom|des|der|einer|eines|mit|zeigt)"
    r"|(?:une |l['’]|la |cette )?(?:image|photo|photographie) (?:de|du|des|d['’]|montrant|montre|représentant)"
    r"|(?:una |la )?(?:imagen|foto|fotografía) (?:de|del|que muestra|mostrando)"
    r"|(?:un['’]|una |l['’]|la )?(?:immagine|foto|fotografia) (?:di|del|dello|della|dei|degli|delle|che mostra)"
    r"|(?:uma |a )?(?:imagem|foto|fotografia) (?:de|do|da|dos|das|que mostra|mostrando)"
    r"|(?:een |de )?(?:afbeelding|foto|plaatje) (?:van|met)"
    r"|(?:en |et )?(?:bild|foto|billede|bilde) (?:på|av|af)"
    r"|(?:obraz|zdjęcie) (?:przedstawiając\w+|z)"
    r"|(?:изображение|картинка|фото|фотография|рисунок) "
    r")(?=\W|(?<=['’ ]))"
    r"|.{1,200}(?:の(?:画像|写真)|的(?:图片|圖片|照片))[。．.]?$",
    re.IGNORECASE,
)
"""A phrase that says that the picture is a picture, at the beginning (in Chinese and Japanese the end) of a text."""

SHOWN = 60
"""Maximum number of characters that a message quotes."""

_SUFFIX = r"\.(?:jpe?g|jpe|png|gif|webp|avif|heic|tiff?|bmp|svg|eps|pdf)"
_FILE_NAME = re.compile(rf"\S(?:.{{0,250}}\S)?{_SUFFIX}", re.IGNORECASE | re.DOTALL)
_ENDING = re.compile(_SUFFIX + "$", re.IGNORECASE)
_CAMERA = re.compile(
    r"(?:img|dscn?f?|pict?|pxl|dji|gopr|mvi|image|photo|screen[ _-]?shot|bildschirmfoto|whatsapp image)"
    r"[ _-]?\d[\d\W_a-z]{2,40}"
    r"|(?=\S*\d)[0-9a-f]{8,}(?:-[0-9a-f]{4,})*",
    re.IGNORECASE,
)
"""Names that cameras, telephones and programs give to files."""


@dataclass(frozen=True)
class Gallery:
    """The pictures of a document, with facts about all of them that rules need.

    Attributes:
        pictures: In reading order.
        large: Whether the file of a picture without given sides is large.
    """

    pictures: Sequence[Picture]
    large: Callable[[Picture], bool]

    @cached_property
    def language(self) -> str | None:
        """The main language of the text beside the pictures, else the declared one; None if unknown."""
        declared = next((picture.language for picture in self.pictures if picture.language), None)
        return main_language(list({text: None for picture in self.pictures for text in picture.beside})) or declared

    @cached_property
    def first_with(self) -> dict[tuple[str, ...], Picture]:
        """Alternative text, as words, to the first picture with it."""
        pictures: dict[tuple[str, ...], Picture] = {}
        for picture in self.pictures:
            if picture.alt:
                pictures.setdefault(tuple(words(picture.alt)), picture)
        return pictures

    @cached_property
    def numbers(self) -> dict[str, set[int]]:
        """Alternative texts without their numbers, to the numbers."""
        numbers: dict[str, set[int]] = defaultdict(set)
        for picture in self.pictures:
            if numbered := without_number(picture.alt or ""):
                numbers[numbered[0]].add(numbered[1])
        return numbers


Check = Callable[[Picture, Gallery, "AltTextSettings"], str | None]
"""Returns what is wrong with a picture's alternative text and what to do, or None."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule.

    Attributes:
        name: Its name in settings, findings and SARIF.
        severity: Severity of its findings.
        summary: What it finds, in one sentence.
        check: The function that checks a picture.
        alone: Whether no other rules are checked after it, since there is no text to judge.
    """

    name: str
    severity: Severity
    summary: str
    check: Check
    alone: bool = False


def _missing(picture: Picture, gallery: Gallery, settings: AltTextSettings) -> str | None:
    if picture.alt is not None or picture.decorative:
        return None
    if picture.linked:
        return "no alternative text, and the picture is all that its link holds: say where the link leads"
    return 'no alternative text: say what the picture shows, or give it an empty text (alt="") if it is decoration'


def _link(picture: Picture, gallery: Gallery, settings: AltTextSettings) -> str | None:
    if picture.linked and picture.alt == "":
        return "an empty alternative text, and the picture is all that its link holds: say where the link leads"
    return None


# An empty text means decoration in HTML, and is a fault only of a picture that is content.
def _empty(picture: Picture, gallery: Gallery, settings: AltTextSettings) -> str | None:
    if picture.alt != "" or picture.decorative or picture.linked or settings.empty == "never":
        return None
    if picture.caption:
        why = "the picture has a caption"
    elif picture.cited:
        why = "the text points at the picture"
    elif settings.empty == "always":
        why = "nothing else marks the picture as decoration"
    elif _is_large(picture, gallery, settings):
        why = "the picture is large"
    else:
        return None
    return f"an empty alternative text means decoration, but {why}: say what it shows, or mark it as decoration"


def _decorative(picture: Picture, gallery: Gallery, settings: AltTextSettings) -> str | None:
    if picture.decorative and picture.alt:
        return f"marked as decoration, but its alternative text says {_quoted(picture.alt)}: take one of the two away"
    return None


def _file_name(picture: Picture, gallery: Gallery, settings: AltTextSettings) -> str | None:
    alt = picture.alt or ""
    if _FILE_NAME.fullmatch(alt) or _CAMERA.fullmatch(alt) or _is_stem(alt, _stems(picture)):
        return f"the alternative text {_quoted(alt)} is the name of a file: say what the picture shows"
    return None


def _placeholder(picture: Picture, gallery: Gallery, settings: AltTextSettings) -> str | None:
    alt = (picture.alt or "").strip()
    if alt and (PLACEHOLDER.fullmatch(alt.strip(" .:;!?-–—_*#()[]{}<>\"'…")) or not any(map(str.isalpha, alt))):
        return f"the alternative text {_quoted(alt)} says nothing of the picture: say what it shows"
    return None


def _duplicate(picture: Picture, gallery: Gallery, settings: AltTextSettings) -> str | None:
    first = gallery.first_with.get(tuple(words(picture.alt or "")))
    if not picture.alt or first is None or not words(picture.alt) or set(first.sources) & set(picture.sources):
        return None
    where = f"line {first.place.line}" if first.place.line is not None else f"picture {first.index + 1}"
    quoted = _quoted(picture.alt)
    return f"another picture ({where}) has the same alternative text {quoted}: say what tells this one from it"


def _series(picture: Picture, gallery: Gallery, settings: AltTextSettings) -> str | None:
    numbered = without_number(picture.alt or "")
    if numbered is None:
        return None
    numbers = gallery.numbers[numbered[0]]
    # Names that differ in a number, as those of ships and years, seldom run from 1 without large gaps.
    if len(numbers) < 2 or min(numbers) > 1 or max(numbers) - min(numbers) >= 2 * len(numbers):
        return None
    quoted = _quoted(picture.alt or "")
    return f"{quoted} differs from other alternative texts in its number alone: say what tells this picture from them"


def _caption(picture: Picture, gallery: Gallery, settings: AltTextSettings) -> str | None:
    if picture.alt and picture.caption:
        own = words(picture.alt)
        if same(own, words(picture.caption)) or same(own, words(without_label(picture.caption))):
            return "the alternative text says the caption again: say what is to be seen, which the caption does not"
    return None


def _text(picture: Picture, gallery: Gallery, settings: AltTextSettings) -> str | None:
    own = words(picture.alt or "")
    if len(own) < 2:
        return None
    for sentence in sentences(picture.beside):
        other = words(sentence)
        if other == own or (len(own) >= FEW and same(own, other)):
            quoted = _quoted(sentence)
            return f"the alternative text says again what stands beside it, {quoted}: say what is to be seen instead"
    return None


def _long(picture: Picture, gallery: Gallery, settings: AltTextSettings) -> str | None:
    length = len(picture.alt or "")
    if length > settings.max_length:
        return (
            f"the alternative text has {length:,} characters, more than {settings.max_length:,}: say the essential, "
            "and the rest in the text or the caption"
        )
    return None


def _image_of(picture: Picture, gallery: Gallery, settings: AltTextSettings) -> str | None:
    phrase = IMAGE_OF.match(picture.alt or "")
    if phrase:
        quoted = _quoted(phrase[0].strip())
        return f"the alternative text begins with {quoted}, and reading programs say that it is a picture: leave it out"
    return None


def _language(picture: Picture, gallery: Gallery, settings: AltTextSettings) -> str | None:
    if picture.alt and gallery.language:
        other = other_language(picture.alt, gallery.language)
        if other is not None:
            return (
                f"the alternative text is in another language ({other}) than the document ({gallery.language}): "
                "translate it, or mark its language"
            )
    return None


RULES: Mapping[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule("missing", "error", "A picture has no alternative text.", _missing, alone=True),
        Rule("link", "error", "A picture that is all of a link has an empty alternative text.", _link, alone=True),
        Rule("empty", "error", "A picture that is content has an empty alternative text.", _empty, alone=True),
        Rule("decorative", "warning", "A picture is marked as decoration and has an alternative text.", _decorative),
        Rule("file-name", "error", "An alternative text is the name of a file.", _file_name, alone=True),
        Rule("placeholder", "error", "An alternative text says nothing of its picture.", _placeholder, alone=True),
        Rule("duplicate", "warning", "Different pictures have the same alternative text.", _duplicate),
        Rule("series", "warning", "The alternative texts of several pictures differ in a number alone.", _series),
        Rule("caption", "warning", "An alternative text repeats the caption.", _caption),
        Rule("text", "warning", "An alternative text repeats a sentence beside the picture.", _text),
        Rule("long", "warning", "An alternative text is too long.", _long),
        Rule("image-of", "warning", "An alternative text says that the picture is a picture.", _image_of),
        Rule("language", "warning", "An alternative text is in another language than the document.", _language),
    )
}
"""The rules by name, in the order in which they are checked."""

if TYPE_CHECKING:
    RuleName = str
else:
    RuleName = Literal[tuple(RULES)]


class AltTextSettings(BaseModel):
    """How alternative texts are checked; the command has an option for each."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    rules: tuple[RuleName, ...] = ()
    """Check only these rules, commas between (default: all)."""

    skip: tuple[RuleName, ...] = ()
    """Leave out these rules, commas between."""

    empty: Literal["content", "always", "never"] = "content"
    """When an empty alternative text is a fault: of a picture with a caption, one that a link leads to, or a large
    one (content), of every picture that is not marked as decoration (always), or of none (never)."""

    large: int = Field(200, ge=1)
    """Pixels that both sides of a picture must have to count as large."""

    max_length: int = Field(300, ge=1)
    """Most characters of an alternative text."""


def broken_rules(gallery: Gallery, settings: AltTextSettings) -> Iterator[tuple[Picture, Rule, str]]:
    """Yield the violated rules of a document's pictures, with messages, in reading order."""
    chosen = [
        rule
        for name, rule in RULES.items()
        if name not in settings.skip and (not settings.rules or name in settings.rules)
    ]
    for picture in gallery.pictures:
        for rule in chosen:
            message = rule.check(picture, gallery, settings)
            if message is not None:
                yield picture, rule, message
                if rule.alone:
                    break


def _is_large(picture: Picture, gallery: Gallery, settings: AltTextSettings) -> bool:
    if picture.sides is not None:
        return min(picture.sides) >= settings.large
    return gallery.large(picture)


def _is_stem(alt: str, stems: set[str]) -> bool:
    # A single word is taken for a description, and so is a name with a number ("Apollo 11").
    if " " not in alt and (any(sign in alt for sign in "_-.") or alt[-1:].isdigit()):
        return alt in stems
    return alt == alt.lower() and alt[-1:].isdigit() and "".join(words(alt)) in {"".join(words(s)) for s in stems}


def _stems(picture: Picture) -> set[str]:
    names = (re.split(r"[?#]", source, maxsplit=1)[0].rpartition("/")[2] for source in picture.sources)
    return {_ENDING.sub("", unquote(name)) for name in names}


def _quoted(text: str) -> str:
    return f'"{shortened(" ".join(text.split()), SHOWN)}"'


def repository_root() -> Path:
    """Return the working folder, or its nearest parent that is a Git repository."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def repository_path(path: str, root: Path) -> str | None:
    """Return the path of a file relative to ``root``, with ``/``; None if it is elsewhere."""
    for clean in (os.path.abspath, os.path.realpath):  # the second one follows links
        whole, base = Path(clean(path)), Path(clean(root))
        if whole.is_relative_to(base):
            return whole.relative_to(base).as_posix()
    return None
