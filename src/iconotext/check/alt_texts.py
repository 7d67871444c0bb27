"""The rules for alternative texts; none of them looks at the picture but for its size.

A rule takes a picture and its page, and returns what is wrong and what to do, or None.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache
from urllib.parse import unquote

from iconotext.check.faults import FaultSettings
from iconotext.check.language import FEW, other_language, same, sentences, without_number, words
from iconotext.check.page import Page, quoted
from iconotext.check.picture import PICTURE_SUFFIXES, Picture
from iconotext.evidence.labels import own_labels, unlabelled
from iconotext.read.address import MADE_BY_CODE
from iconotext.read.format import all_formats
from iconotext.types import Function

# No rule finds texts that were swapped between pictures: its precision, 92 %, was too low for a check.
_THINGS = (
    "image images img picture pictures pic photo photos photograph graphic graphics figure fig screenshot screen-shot "
    "diagram diagrams chart graph plot map illustration drawing sketch render rendering icon logo banner header "
    "thumbnail thumb avatar sample example demo datasheet data_sheet schematic flowchart snapshot "  # English
    "bild bilder foto fotos grafik abbildung abb illustration diagramm bildschirmfoto datenblatt skizze zeichnung "
    "beispiel beispielbild symbolbild muster schaltplan schaubild "  # German
    "imagen fotografía figura gráfico captura captura_de_pantalla ilustración ejemplo muestra esquema "
    "diagrama dibujo imagen_ilustrativa "  # Spanish
    "photographie capture capture_d'écran capture_d’écran graphique schéma dessin diagramme exemple "
    "fiche_technique "  # French
    "immagine fotografia schermata grafico figura disegno esempio scheda_tecnica "  # Italian
    "imagem captura_de_tela captura_de_ecrã ilustração exemplo amostra desenho imagem_ilustrativa "  # Portuguese
    "afbeelding plaatje grafiek figuur schermafbeelding voorbeeld tekening चित्र "  # Dutch, Hindi
    "bilde billede kuva obraz obrázek zdjęcie rysunek zrzut_ekranu kép изображение картинка фото рисунок снимок_экрана "
    "画像 写真 図 图 圖 イラスト スクリーンショット 图片 圖片 照片 截图 屏幕截图 图像 插图 示意图 그림 사진 스크린샷 "
    "صورة شكل رسم مخطط لقطة_شاشة تصویر عکس תמונה hình_ảnh resim fotoğraf görsel ekran_görüntüsü εικόνα φωτογραφία"
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
    "preview placeholder company site website my our your new first second last "
    "bar line pie scatter flow block circuit"  # kinds of charts
).split()
"""Words before a generic noun that say nothing of the picture either."""


def _any(words: list[str]) -> str:
    return f"(?:{'|'.join(re.escape(word).replace('_', ' ?') for word in words)})"


_NUMBER = r"\d+(?:[.\-–]\d+)*[a-z]?"  # 3, 3a, 3.2, 3-4

PLACEHOLDER = re.compile(
    rf"(?:an? |the )?(?:{_any(_QUALITIES)}[ _-])?{_any(_THINGS)}(?:[ _-](?:{_any(_THINGS)}|text))?"
    rf"\W*+(?:(?:(?:no|nr|n°)\W*+)?{_NUMBER})?"  # "a sample image", "Figure no. 3"
    rf"|{_any(_PARTS)}[\W_]*+(?:(?:no|nr|n°)\W*+)?{_NUMBER}"  # "Step 2"
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
    r"(?:image|picture|pic|graphic)s? (?:of|showing|depicting|that shows|which shows|shows|depicts|displaying)"
    r"|(?:das |ein |dieses )?(?:bild|(?:die |eine )?abbildung|(?:die |eine )?grafik) "
    r"(?:von|vom|des|der|einer|eines|mit|zeigt)"
    r"|(?:une |l['’]|la |cette )?image (?:de|du|des|d['’]|montrant|montre|représentant)"
    r"|(?:una |la )?imagen (?:de|del|que muestra|mostrando)"
    r"|(?:un['’]|una |l['’]|la )?immagine (?:di|del|dello|della|dei|degli|delle|che mostra)"
    r"|(?:uma |a )?imagem (?:de|do|da|dos|das|que mostra|mostrando)"
    r"|(?:een |de )?(?:afbeelding|plaatje) (?:van|met)"
    r"|(?:en |et )?(?:bild|billede|bilde) (?:på|av|af)"
    r"|obraz (?:przedstawiając\w+|z)"
    r"|(?:изображение|картинка|рисунок) |صورة (?!فوتوغرافية|جوية|فضائية|شعاعية|مقربة|شخصية)"
    r"|(?-i:(?:IMAGE|PICTURE|BILD)(?= .*[a-z]))|(?:image|picture|pic|bild|imagen|immagine|imagem) ?[:|–—]"
    r")(?=\W|(?<=['’ ]))"  # the phrase ends with a word, or with the apostrophe or space of its last alternative
    r"|.{1,200}(?:の画像|的(?:图片|圖片))[。．.]?$",
    re.IGNORECASE,
)
"""A phrase that says that the picture is a picture, at the beginning (in Chinese and Japanese the end) of a text.

How a picture was made ("photograph of", "drawing of") may matter, and is no such phrase.
"""

_LAST_WORD = re.compile(
    r"(?:[\w'’.-]+ ){0,5}?(?!(?:the|an?|this|that|its|their|satellite|mri|ct|x-ray|ultrasound|sem|tem|thermal|infrared|"
    r"radar|mirror|docker|container|disk|system|base|das|ein|sein)\b)[\w'’.-]+ (?P<said>(?:image|picture|pic|bild)s?)",
    re.IGNORECASE,
)
"""A few words and "image", which is no part of a name such as "satellite image"."""

_DECORATION = re.compile(
    r"(?:an? |the )?(?:decorative|ornamental|dekorative[rs]?) "
    r"(?:image|picture|graphic|icon|line|border|pattern|element|divider|separator|flourish|shape|background"
    r"|bild|grafik|linie|muster)"
    r"|(?:an? |the )?(?:section |page )?(?:separator|divider)(?: line| image)?|horizontal (?:line|rule)|bullet point"
    r"|background (?:image|pattern|texture)|d[eé][ck]oration|trennlinie|zierlinie|hintergrund(?:bild|muster)",
    re.IGNORECASE,
)
"""A text that says that its picture is decoration."""

_NO_TARGET = re.compile(
    r"(?:(?:read|learn|see|show|find out|view) )?(?:more|details)|(?:click|tap|press)(?: here)?|here|(?:this )?link"
    r"|mehr(?: (?:lesen|erfahren))?|weiterlesen|hier(?: klicken)?|(?:en savoir|lire) plus|(?:leer|ver|saber) más"
    r"|(?:(?:left|right|up|down) )?arrow|magnifying glass|(?:.* )?(?:logo|icon)",
    re.IGNORECASE,
)
"""A text that does not say where the link that shows the picture leads."""

_SIGNS = (
    "arrow left_arrow right_arrow up_arrow down_arrow chevron triangle magnifying_glass magnifier lens printer "
    "envelope gear cog cogwheel hamburger three_lines three_dots three_bars house trash trash_can bin floppy "
    "floppy_disk pen pencil bell heart star cross x plus plus_sign check_mark tick camera lock padlock globe "
    "speech_bubble question_mark eye paper_clip microphone button "  # English
    "lupe drucker umschlag briefumschlag zahnrad haus papierkorb mülleimer diskette stift bleistift glocke herz "
    "stern pfeil kreuz haken kamera schloss weltkugel sprechblase auge büroklammer"  # German
).split()
"""Things that pictures on buttons show; none is a word for the action of the button."""

_NO_ACTION = re.compile(rf"(?:an? |the |eine? )?{_any(_SIGNS)}|(?:.* )?(?:logo|icon)", re.IGNORECASE)

_LISTING = re.compile(
    r"[.!?:]['\"”’»)]{0,3}(?:\s|$)|(?:\b(?:and|or|und|oder|et|ou|y|e|o|en|och|og|i)\b|&)[^,;]{0,60}$", re.IGNORECASE
)
"""A mark of sentences and honest lists: a point or a colon, or "and" before the last part."""

_SUFFIX = f"(?:{'|'.join(map(re.escape, [*PICTURE_SUFFIXES, '.eps', '.pdf']))})"
_FILE_NAME = re.compile(rf"\S(?:.{{0,250}}\S)?{_SUFFIX}", re.IGNORECASE | re.DOTALL)
_ENDING = re.compile(_SUFFIX + "$", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[a-z]{2,}(?:[A-Z][a-z]+)+|(?:[A-Z][a-z]+){3,}")
"""Words written together, as no brand is: ``smartStrategy``, ``MainWindowSettings``."""

_EXPORTED = re.compile(
    r".* (?:final|copy|kopie|copie|copia|v ?\d+|\d+ ?x ?\d+|(?:16|24|32|48|64|96|128|192|256|512|1024|2048)(?: ?px)?)",
    re.IGNORECASE,
)
"""A text that ends as the names of files do: with a version, or with a size in pixels."""

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

_KEYWORDS, _KEYWORD = 6, 4
"""Fewest parts, between commas, of a list of keywords; most words of a keyword. One part in five may have more."""

_MARKUP = 2_000
"""Characters of a picture's Markdown that are looked at."""

_ATTRIBUTES = re.compile(r"!\[\](?:\([^()\n]*\)|\[[^\]\n]*\])\{[^{}\n]*\b(?:alt|role|aria-\w+)=")
"""A picture of Markdown whose attributes say what it shows, or mark it: ``![](a.png){fig-alt="A fox"}``."""

_ICON = 64
"""Pixels of the shorter side below which a picture counts as an icon or a line, as ``images.MIN_SIDE``."""


def missing(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    if picture.alt is not None or picture.decorative or picture.alt_unknown:
        return None
    readers_get = all_formats()[page.format].alt_missing
    if readers_get == "name of the file" and not picture.source.startswith(MADE_BY_CODE):
        return "no alternative text, so that readers get the name of the file: say what the picture shows"
    if readers_get != "nothing":
        return None
    if picture.function:
        return f"no alternative text, and {_FUNCTIONS[picture.function]}"
    return f"no alternative text: say what the picture shows, or {_decoration(page)} if it is decoration"


def _decoration(page: Page) -> str:
    """Return how the author of a document says that a picture is decoration."""
    return "mark it as an artifact" if page.format == "pdf" else 'give it an empty text (alt="")'


def _is_empty_on_purpose(page: Page) -> bool:
    """Return whether an empty text was written by the author: the reader of the format distinguishes it from none."""
    return all_formats()[page.format].alt_missing == "nothing"


def link(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    if picture.function and picture.alt == "" and _is_empty_on_purpose(page):
        return f"an empty alternative text, and {_FUNCTIONS[picture.function]}"
    return None


def function(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    if not picture.function or not picture.alt:
        return None
    text, is_link = _bare(picture.alt), picture.function == "link"
    if _NO_TARGET.fullmatch(text) if is_link else _NO_ACTION.fullmatch(text):
        lacks = "target" if is_link else "action"
        return f"the alternative text {quoted(picture.alt)} names no {lacks}, and {_FUNCTIONS[picture.function]}"
    return None


# An empty text means decoration in HTML, and is a fault only of a picture that is content.
def empty(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    if picture.alt != "" or picture.decorative or picture.function or not _is_empty_on_purpose(page):
        return None
    if settings.empty == "never" or _ATTRIBUTES.match(_markdown(picture, page)):
        return None
    if picture.caption:
        why = "the picture has a caption"
    elif picture.cited:
        why = "the text points at the picture"
    elif _markdown(picture, page) and not _is_icon(picture, page):
        return (
            "no alternative text between the brackets: say what the picture shows, or write "
            '<img src="…" alt=""> if it is decoration'
        )
    elif settings.empty == "always":
        why = "nothing else marks the picture as decoration"
    elif _is_large(picture, page, settings):
        why = "the picture is large"
    else:
        return None
    return f"an empty alternative text means decoration, but {why}: say what it shows, or mark it as decoration"


def decorative(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    if picture.decorative and picture.alt:
        return f"marked as decoration, but its alternative text says {quoted(picture.alt)}: take one of the two away"
    if picture.alt and not picture.function and _DECORATION.fullmatch(_bare(picture.alt)):
        return f"the alternative text {quoted(picture.alt)} calls the picture decoration: {_decoration(page)}"
    return None


def file_name(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    alt = picture.alt or ""
    if _FILE_NAME.fullmatch(alt) or _CAMERA.fullmatch(alt) or _is_stem(alt, _stems(picture)):
        return f"the alternative text {quoted(alt)} is the name of a file: say what the picture shows"
    return None


def placeholder(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    alt = (picture.alt or "").strip()
    label, caption = own_labels(alt), picture.caption or ""
    if label and label == own_labels(caption) and unlabelled(caption):
        return None  # the caption says what the picture shows, and the text which figure it is
    if alt and (PLACEHOLDER.fullmatch(_bare(alt)) or not any(map(str.isalpha, alt))):
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


def duplicate(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    first = _first_with(page).get(tuple(words(picture.alt or "")))
    if not picture.alt or first is None or not words(picture.alt) or first.is_same(picture):
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


def series(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    numbered = without_number(picture.alt or "")
    if numbered is None:
        return None
    numbers = _numbers(page)[numbered[0]]
    # Names that differ in a number, as those of ships and years, seldom run from 1 without large gaps.
    if len(numbers) < 2 or min(numbers) > 1 or max(numbers) - min(numbers) >= 2 * len(numbers):
        return None
    text = quoted(picture.alt or "")
    return f"{text} differs from other alternative texts in its number alone: say what tells this picture from them"


def caption(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    if picture.alt and picture.caption:
        alt_words = words(picture.alt)
        if same(alt_words, words(picture.caption)) or same(alt_words, words(unlabelled(picture.caption))):
            return "the alternative text says the caption again: say what is to be seen, which the caption does not"
    return None


@lru_cache(32)  # pictures of one block have the same texts beside them
def _beside(texts: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    """The sentences beside a picture, each with its words."""
    return [(text, words(text)) for text in sentences(texts)]


def sentence(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    alt_words = words(picture.alt or "")
    if len(alt_words) < 2:
        return None
    for beside, other in _beside(picture.beside):
        if other == alt_words or (len(alt_words) >= FEW and same(alt_words, other)):
            text = quoted(beside)
            return f"the alternative text says again what stands beside it, {text}: say what is to be seen instead"
    return None


def long(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    length = len(picture.alt or "")
    if length > settings.max_length:
        return (
            f"the alternative text has {length:,} characters, more than {settings.max_length:,}, and listeners cannot "
            "pause in it or go back: say the essential, and the rest in the text or the caption"
        )
    return None


def image_of(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    alt = (picture.alt or "").strip()
    if phrase := IMAGE_OF.match(alt):
        where, said = "begins", phrase[0].strip()
    elif phrase := _LAST_WORD.fullmatch(alt):
        where, said = "ends", phrase["said"]
    else:
        return None
    return (
        f"the alternative text {where} with {quoted(said)}, and reading programs say that it is a picture: leave it out"
    )


def language(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    if picture.alt and page.language:
        other = other_language(picture.alt, page.language)
        if other is not None:
            return (
                f"the alternative text is in another language ({other}) than the document ({page.language}): "
                "translate it, or mark its language"
            )
    return None


def keywords(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    alt = picture.alt or ""
    parts = [len(words(part)) for part in re.split("[,;、]", alt)]
    keywords = [count for count in parts if 0 < count <= _KEYWORD]
    if len(parts) < _KEYWORDS or 5 * len(keywords) < 4 * len(parts) or _LISTING.search(alt):
        return None
    return f"the alternative text {quoted(alt)} is a list of keywords: say in a sentence what the picture shows"


def _bare(text: str) -> str:
    """Return a text without the signs around it."""
    return text.strip(" .:;!?-–—_*#()[]{}<>\"'…")


def _markdown(picture: Picture, page: Page) -> str:
    """Return the source of a picture as ``![](a.png)``, where no text need not mean decoration; "" for others."""
    at = picture.place.at
    written = page.text[at : at + _MARKUP] if page.format == "markdown" and page.text and at is not None else ""
    return written if written.startswith("![") else ""


def _is_icon(picture: Picture, page: Page) -> bool:
    size = page.files.size(picture) if page.files is not None else None
    return size is not None and min(size) < _ICON


def _is_large(picture: Picture, page: Page, settings: FaultSettings) -> bool:
    if picture.sides is not None and (sides := [side for side in picture.sides if side is not None]):
        return min(sides) >= settings.large
    size = page.files.size(picture) if page.files is not None else None
    return size is not None and min(size) >= settings.large


def _is_stem(alt: str, stems: set[str]) -> bool:
    # A single word is taken for a description, and so is a name with a number ("Apollo 11").
    if " " not in alt and (any(sign in alt for sign in "_-.") or alt[-1:].isdigit() or _IDENTIFIER.fullmatch(alt)):
        return alt in stems
    if not (alt == alt.lower() and alt[-1:].isdigit()) and not _EXPORTED.fullmatch(alt):
        return False
    return "".join(words(alt)) in {"".join(words(stem)) for stem in stems}


def _stems(picture: Picture) -> set[str]:
    names = (re.split(r"[?#]", source, maxsplit=1)[0].rpartition("/")[2] for source in picture.sources)
    return {_ENDING.sub("", unquote(name)) for name in names}
