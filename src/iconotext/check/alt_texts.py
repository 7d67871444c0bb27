"""The rules for alternative texts; none of them looks at the picture but for its size.

A rule takes a picture and its page, and returns what is wrong and what to do, or None.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

from iconotext.check.language import FEW, other_language, same, sentences, without_label, without_number, words
from iconotext.check.page import Page, Picture, quoted
from iconotext.read.address import MADE_BY_CODE
from iconotext.read.format import all_formats
from iconotext.types import Function

if TYPE_CHECKING:
    from iconotext.check.rules import CheckSettings

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


_NUMBER = r"\d+(?:[.\-–]\d+)*[a-z]?"  # 3, 3a, 3.2, 3-4

PLACEHOLDER = re.compile(
    rf"(?:an? |the )?(?:{_any(_QUALITIES)}[ _-])?{_any(_THINGS)}(?:[ _-](?:{_any(_THINGS)}|text))?"
    rf"\W*(?:(?:no|nr|n°|№)?\W*{_NUMBER})?"  # "a sample image", "Figure no. 3"
    rf"|{_any(_PARTS)}[\W_]*(?:(?:no|nr|n°|№)?\W*{_NUMBER})"  # "Step 2"
    rf"|(?:[^\W\d_]+[ _-]){{1,3}}{_any(_PHOTOS)}[ _#-]*\d{{1,3}}"  # "Keyboard Photo 1"
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
    r")(?=\W|(?<=['’ ]))"  # the phrase ends with a word, or with the apostrophe or space of its last alternative
    r"|.{1,200}(?:の(?:画像|写真)|的(?:图片|圖片|照片))[。．.]?$",
    re.IGNORECASE,
)
"""A phrase that says that the picture is a picture, at the beginning (in Chinese and Japanese the end) of a text."""

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


_FUNCTIONS: dict[Function, str] = {
    "link": "the picture is all that its link holds: say where the link leads",
    "button": "the picture is all that its button holds: say what the button does",
}


def missing(picture: Picture, page: Page, settings: CheckSettings) -> str | None:
    if picture.alt is not None or picture.decorative:
        return None
    readers_get = all_formats()[page.format].alt_missing
    if readers_get == "name of the file" and not picture.source.startswith(MADE_BY_CODE):
        return "no alternative text, so that readers get the name of the file: say what the picture shows"
    if readers_get != "nothing":
        return None
    if picture.function:
        return f"no alternative text, and {_FUNCTIONS[picture.function]}"
    return 'no alternative text: say what the picture shows, or give it an empty text (alt="") if it is decoration'


def _is_empty_on_purpose(page: Page) -> bool:
    """Return whether an empty text was written by the author: the reader of the format distinguishes it from none."""
    return all_formats()[page.format].alt_missing == "nothing"


def function(picture: Picture, page: Page, settings: CheckSettings) -> str | None:
    if picture.function and picture.alt == "" and _is_empty_on_purpose(page):
        return f"an empty alternative text, and {_FUNCTIONS[picture.function]}"
    return None


# An empty text means decoration in HTML, and is a fault only of a picture that is content.
def empty(picture: Picture, page: Page, settings: CheckSettings) -> str | None:
    if picture.alt != "" or picture.decorative or picture.function or not _is_empty_on_purpose(page):
        return None
    if settings.empty == "never":
        return None
    if picture.caption:
        why = "the picture has a caption"
    elif picture.cited:
        why = "the text points at the picture"
    elif settings.empty == "always":
        why = "nothing else marks the picture as decoration"
    elif _is_large(picture, page, settings):
        why = "the picture is large"
    else:
        return None
    return f"an empty alternative text means decoration, but {why}: say what it shows, or mark it as decoration"


def decorative(picture: Picture, page: Page, settings: CheckSettings) -> str | None:
    if picture.decorative and picture.alt:
        return f"marked as decoration, but its alternative text says {quoted(picture.alt)}: take one of the two away"
    return None


def file_name(picture: Picture, page: Page, settings: CheckSettings) -> str | None:
    alt = picture.alt or ""
    if _FILE_NAME.fullmatch(alt) or _CAMERA.fullmatch(alt) or _is_stem(alt, _stems(picture)):
        return f"the alternative text {quoted(alt)} is the name of a file: say what the picture shows"
    return None


def placeholder(picture: Picture, page: Page, settings: CheckSettings) -> str | None:
    alt = (picture.alt or "").strip()
    if alt and (PLACEHOLDER.fullmatch(alt.strip(" .:;!?-–—_*#()[]{}<>\"'…")) or not any(map(str.isalpha, alt))):
        return f"the alternative text {quoted(alt)} says nothing of the picture: say what it shows"
    return None


@lru_cache(2)
def _first_with(page: Page) -> dict[tuple[str, ...], Picture]:
    """Alternative text, as words, to the first picture with it."""
    pictures: dict[tuple[str, ...], Picture] = {}
    for picture in page.pictures:
        if picture.alt:
            pictures.setdefault(tuple(words(picture.alt)), picture)
    return pictures


def duplicate(picture: Picture, page: Page, settings: CheckSettings) -> str | None:
    first = _first_with(page).get(tuple(words(picture.alt or "")))
    if not picture.alt or first is None or not words(picture.alt) or set(first.sources) & set(picture.sources):
        return None
    where, text = page.where(first), quoted(picture.alt)
    return f"another picture ({where}) has the same alternative text {text}: say what tells this one from it"


@lru_cache(2)
def _numbers(page: Page) -> dict[str, set[int]]:
    """Alternative texts without their numbers, to the numbers."""
    numbers: dict[str, set[int]] = defaultdict(set)
    for picture in page.pictures:
        if numbered := without_number(picture.alt or ""):
            numbers[numbered[0]].add(numbered[1])
    return numbers


def series(picture: Picture, page: Page, settings: CheckSettings) -> str | None:
    numbered = without_number(picture.alt or "")
    if numbered is None:
        return None
    numbers = _numbers(page)[numbered[0]]
    # Names that differ in a number, as those of ships and years, seldom run from 1 without large gaps.
    if len(numbers) < 2 or min(numbers) > 1 or max(numbers) - min(numbers) >= 2 * len(numbers):
        return None
    text = quoted(picture.alt or "")
    return f"{text} differs from other alternative texts in its number alone: say what tells this picture from them"


def caption(picture: Picture, page: Page, settings: CheckSettings) -> str | None:
    if picture.alt and picture.caption:
        alt_words = words(picture.alt)
        if same(alt_words, words(picture.caption)) or same(alt_words, words(without_label(picture.caption))):
            return "the alternative text says the caption again: say what is to be seen, which the caption does not"
    return None


def sentence(picture: Picture, page: Page, settings: CheckSettings) -> str | None:
    alt_words = words(picture.alt or "")
    if len(alt_words) < 2:
        return None
    for beside in sentences(picture.beside):
        other = words(beside)
        if other == alt_words or (len(alt_words) >= FEW and same(alt_words, other)):
            text = quoted(beside)
            return f"the alternative text says again what stands beside it, {text}: say what is to be seen instead"
    return None


def long(picture: Picture, page: Page, settings: CheckSettings) -> str | None:
    length = len(picture.alt or "")
    if length > settings.max_length:
        return (
            f"the alternative text has {length:,} characters, more than {settings.max_length:,}: say the essential, "
            "and the rest in the text or the caption"
        )
    return None


def image_of(picture: Picture, page: Page, settings: CheckSettings) -> str | None:
    phrase = IMAGE_OF.match(picture.alt or "")
    if phrase:
        text = quoted(phrase[0].strip())
        return f"the alternative text begins with {text}, and reading programs say that it is a picture: leave it out"
    return None


def language(picture: Picture, page: Page, settings: CheckSettings) -> str | None:
    if picture.alt and page.language:
        other = other_language(picture.alt, page.language)
        if other is not None:
            return (
                f"the alternative text is in another language ({other}) than the document ({page.language}): "
                "translate it, or mark its language"
            )
    return None


def _is_large(picture: Picture, page: Page, settings: CheckSettings) -> bool:
    if picture.sides is not None and (sides := [side for side in picture.sides if side is not None]):
        return min(sides) >= settings.large
    size = page.files.size(picture) if page.files is not None else None
    return size is not None and min(size) >= settings.large


def _is_stem(alt: str, stems: set[str]) -> bool:
    # A single word is taken for a description, and so is a name with a number ("Apollo 11").
    if " " not in alt and (any(sign in alt for sign in "_-.") or alt[-1:].isdigit()):
        return alt in stems
    return alt == alt.lower() and alt[-1:].isdigit() and "".join(words(alt)) in {"".join(words(s)) for s in stems}


def _stems(picture: Picture) -> set[str]:
    names = (re.split(r"[?#]", source, maxsplit=1)[0].rpartition("/")[2] for source in picture.sources)
    return {_ENDING.sub("", unquote(name)) for name in names}
