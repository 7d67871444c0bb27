"""References in texts: labels of figures ('Figure 3', 'Abb. 3.2a', '図 4') and places ('the photo below')."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal, NamedTuple

from iconotext.evidence.words import of_texts


class Label(NamedTuple):
    """A numbered label.

    Attributes:
        family: One name for words of the same meaning: 'figure' for Figure, Fig., Abb., Рис., 図, الشكل; may begin with
            'supplementary '.
        number: '3', '3.2', 'iv', 's1'; separators are points, and digits of all scripts ('３', '٣') are Latin ones.
        part: 'a' of 'Figure 3a', or ''.
    """

    family: str
    number: str
    part: str = ""


_THE_AR = "[وف]?(?:[بك]?ال|لل)"  # the article, with what is written together with it: "and", "in", "for"
# The words of each family. A number must follow, so that a short form does not hide a longer one.
_FAMILIES: dict[str, str] = {
    "figure": r"figures?|fig(?:s?\.?|g\.)|abbildung(?:en)?|abb\.?|figur(?:as?|ile|ele|en?|ern[ae]|ene)?"
    r"|figuur|afbeelding(?:en)?|afb\.?|рисун(?:ок|к[аеиу]|ком|ках|ков)|рис\.?|мал(?:\.|юн(?:ок|ку|ки|ках))|фиг(?:\.|ур[аи])"
    r"|сл(?:\.|ик[аеуи]|ици)|rysun(?:ek|ku|ki|kach|kiem)|rys\.?|ryc(?:\.|in(?:[aęy]|ie|ach))|sl(?:\.|ik[aeiu]|ici|ikama)"
    r"|obr(?:\.|ázek|ázk[uyůe]m?|ázcích|ázok|ázkoch)|ábra|kuv(?:a[nt]?|assa|asta|issa|ista)|şekil|şek\.|gambar"
    rf"|hình(?: vẽ)?|(?:{_THE_AR})?(?:ش[كک]ل(?:ان|ين|\u200c?های)?|أشكال)|σχήμα(?:τα|τος)?|σχ\.|εικόν(?:ας?|ες)|εικ\."
    r"|चित्रों|चित्र|आकृति(?:यों)?|[בהלו]?איור(?:ים)?",
    "photo": r"photographs?|photos?|fotos?|fotografías?|fotografias|фото(?:графи[яиеюй])?"
    r"|zdjęci[eau]|fotoğraf|fotografi[aei]|ảnh",
    "plate": r"plates?|tafeln?|planches?|pl\.|láminas?|tavol[ae]|tavv\.",
    "table": r"tables?|tab\.|tabell(?:a|en?|er)?|tableaux?|tablas?|tabelas?|табл(?:\.|иц[аыеяію])|tabul(?:ka|ky|ce)"
    r"|tabel(?:[ię]|ach|len)?|tablo|çizelge|bảng|표|πίνακ(?:ας?|ες)|taulu(?:kko|kossa)|तालिका|सारणी"
    rf"|(?:{_THE_AR})?جدول",
    "image": r"images?|pictures?|pics?\.?|bild(?:er|ern|erna)?|imágenes|imagen|immagin[ei]|imagens?|imagem"
    rf"|resim|görsel|изображени[еяи]|(?:{_THE_AR})?(?:صورة|تصویر)|תמונ(?:ה|ות)",
    "map": r"maps?|karten?|cartes?|mapas?|carta|harita|bản đồ",
    "diagram": r"diagrams?|diagramm|diagrama|diyagram|sơ đồ|диаграмм[аеы]",
    "chart": r"charts?|graphs?|grafi[kc]o?|gráficos?|wykres(?:ie|y|ach)?|grafik|biểu đồ|график",
    "scheme": r"schemes?|schema|schéma|esquema|схем[аеы]",
    "exhibit": r"exhibits?",
    "illustration": r"illustrations?|ill\.|illus\.|ilustraci[oó]n|ilustracj[aię]|иллюстраци[яиюей]|илл?\.",
    "screenshot": r"screenshots?",
    "drawing": r"drawings?|zeichnung(?:en)?",
}
_PLURAL = re.compile(
    r"(?i)^(?:\w+s|figs\.|abb\.?|abbildungen|afb\.?|afbeeldingen|figuren|tafeln|tabellen|bilder[n]?|karten|tableaux"
    r"|zeichnungen|рис\.?|рисун(?:ки|ках|ков)|rys\.?|rysun(?:ki|kach)|imágenes|immagini|tavole|табл\.?|[图図圖表]"
    r"|obr\.|obráz(?:ky|cích|koch)|ryc\.|мал\.|сл\.|sl\.|εικ\.|σχ\.|figg\.|tavv\."
    r"|.*شكل(?:ان|ين)|.*أشكال)$"
)
_NUMBER = r"(?:[A-Z]\.?)?\d+(?:[.\-‐‑–．－]\d+)*|[IVX]{1,6}(?![\w])"
# Chinese numerals from 1 to 99 after 图 or 表, unless what stands around them makes other words: 地图三张, 图一样.
_HAN_DIGITS = "〇一二三四五六七八九"
_HAN_BEFORE = "如见見在从從由据據和与與及于於看参參照示即以将將把至到或像附插"
_HAN_AFTER = "所示显顯中的是为為和与與及至到里裡上可给給表描展说說列反能就则則也即在をにのはがでとへもかよやa-h"
_HAN = rf"(?:[{_HAN_DIGITS}]?十[{_HAN_DIGITS}]?|[{_HAN_DIGITS}])(?![^\W{_HAN_AFTER}])"
# Not the "and" of "Figuras 3 e 4", "figura 3 e figura 4" nor the "to" of "Figuras 3 a 5".
_PART = r"(?:(?:\s(?!a\s+(?:(?:las?\s+)?\d|obr)|e\s+\w))?\(?[a-h](?:\s?[-–,&]\s?[a-h])*\)?(?!\w))"
_EAST = dict.fromkeys(("图", "図", "圖", "그림", "รูปที่", "ภาพที่"), "figure")
_EAST |= {"写真": "photo", "照片": "photo", "表": "table", "ตารางที่": "table"}
_WORD = "|".join(f"(?P<{family}>{words})" for family, words in _FAMILIES.items())
# Possessive repetitions (``++``, ``*+``) and bounded ones keep all searches linear in the length of a text.
_START = re.compile(
    r"(?:(?<!\w)(?=\w)|(?=[图図圖그写照表รภต]))"  # only at the beginning of a word
    rf"(?P<more>\b(?:supplementary|supplemental|suppl?\.|extended data|appendix|ergänzende)\s++)?"
    rf"(?:(?:(?<!\w)(?:{_WORD}))[\s\u00a0~]*+(?:no\.|nr\.|№|#|رقم)?\s*+(?:(?<=[\u0600-\u06ff]\s)\()?"
    rf"|(?P<east>{'|'.join(_EAST)})\s*+)(?={_NUMBER})"
    rf"|(?:(?<![一-鿿])|(?<=[{_HAN_BEFORE}]))(?P<han>图|図|圖|表|照片|写真)\s*+(?={_HAN})",
    re.IGNORECASE,
)
# A fast first test: every label has a numeral.
_NUMERAL = re.compile(rf"[\d{_HAN_DIGITS}十]|[IVX](?!\w)", re.IGNORECASE)
# "3. ábra", "a 3. és 4. ábrán"; in Latvian, Basque and Turkish likewise.
_NUMBER_FIRST = re.compile(
    r"(?<!\w)(\d+\.(?:\s*(?:,|és|un|eta|ve)\s*\d+\.){0,30}+)\s*(?:ábr|attēl|att\.|irudi|şekil|şekl)\w*", re.IGNORECASE
)
_NUMBERED = re.compile(rf"(?P<number>{_NUMBER}|{_HAN})(?P<part>{_PART})?")
_OTHER_AND = (  # not English
    r"und|et|ed?|y|en|o|ou|oder|i|și|şi|és|un|eta|og|och|eller|ja|tai|ve|veya|dan|và|hoặc|lub|nebo|alebo|и|или|і|й|та|або|και|ή|और|तथा|या"
)
_JOIN = re.compile(
    r"\s*(?P<range>-|‐|–|—|to\b|through\b|bis\b|à\b|a\b|～|~|إلى\b|до\b|(?:至|到|から)[图図圖]?)\s*"
    rf"|\s*(?:[,;、]\s*(?:and|&|or|{_OTHER_AND})?|(?:and|&|or|{_OTHER_AND})(?!\w)|[和と،و과와]|及び?|및|และ|ו-?)\s*",
    re.IGNORECASE,
)
# "Figur 3 og 4": a list after a noun in the singular, but not "Figure 3 and 4 people".
_LISTED = re.compile(
    rf"(?:{_NUMBER})(?:\s*,\s*(?:{_NUMBER}))*+(?:\s+(?:{_OTHER_AND}|และ|및)\s+|\s+(?:ו-?|و)\s*|[과와]\s*)(?={_NUMBER})",
    re.IGNORECASE,
)
# "le Figure 3-5": the word is English in the singular, and Italian in the plural.
_ARTICLE_IT = re.compile(r"(?<!\w)(?:(?:[dn]e|d?a|su)l)?le\s$", re.IGNORECASE)
# 'Figure 3 of [12]', 'Fig. 3 in Smith et al.', 'Figure 3 in Chapter 2': a figure of another document.
_ELSEWHERE_AFTER = re.compile(
    r"[\s,]*\(?(?:of|in|from|by|aus|von|de|dans|en|di|da|из|в)\s+(?:the\s+|their\s+|his\s+|her\s+|its\s+|our\s+)?"
    r"(?:\[|\(?(?-i:[A-ZÀ-Þ])[\w’'-]+(?:,?\s+(?:(?:and|&|und|et|y)\s+)?(?-i:[A-Z])[\w’'-]+)*\s*"
    r"(?:et al|\(?(?:1[89]|20)\d\d)"
    r"|ref(?:s?\.|erences?)|(?:(?:previous|original|earlier|companion|first|second|online|supplementary)\s+)*"
    r"(?:chapter|appendix|volume|vol\.|supplement|supporting|paper|article|book|textbook|report|thesis|study)\b)",
    re.IGNORECASE,
)
_ELSEWHERE_BEFORE = re.compile(
    r"(?:\[\d+[,;:]\s*|\b(?:1[89]|20)\d\d[a-z]?\)?[,;:]\s*|\bet al\.?[,;:]?\s*|(?-i:[A-Z])\w+[’']s\s+"
    r"|\b(?:their|his|her|whose)\s+)$",
    re.IGNORECASE,
)
# 'we figure 3 people', 'a figure 8 knot': after one of these words, 'figure' in lower case is no label.
_VERB_BEFORE = re.compile(r"\b(?:a|an|to|go|can|could|i|we|you|they|let’s|let's|should|would|of)\s+$", re.IGNORECASE)
BEFORE = 100
"""Number of characters before a label that are searched for the words of the two patterns above."""
_LONGEST_RANGE = 30  # figures; a longer one is no range, and "Figures 1-99999999" must not fill the memory
_BEFORE_LABEL = " *_([#>\t\u00a0"
_COLON = re.compile(r"\s*(?:[:.|—–：]|-\s)(?!\d)\s*\S")


@of_texts
def own_labels(text: str) -> tuple[Label, ...]:
    """Return the labels at the beginning of a caption; empty without any."""
    return tuple(_leading(text)[0])


def unlabelled(text: str) -> str:
    """Return a caption without the labels at its beginning."""
    rest = _leading(text)[1]
    return text if rest is None else rest.lstrip(" :.|—–：．。-*_)]")


def is_caption(text: str) -> bool:
    """Return whether a text begins like a caption: with a label and a colon, a point or a dash."""
    return _COLON.match(_leading(text)[1] or "") is not None


def _leading(text: str) -> tuple[list[Label], str | None]:
    """Return the labels at the beginning of a text, and what comes after them; None if there are none."""
    start = _START.match(_number_last(text.lstrip(_BEFORE_LABEL)))
    if start is None:
        return [], None
    labels, end = _numbers(start.string, start)
    return labels, start.string[end:]


def _number_last(text: str) -> str:
    return _NUMBER_FIRST.sub(lambda match: f"ábra {match[1].replace('.', '')}", text)


def cited_labels(text: str, *, doubtful: bool = False) -> tuple[Label, ...]:
    """Return the labels that a sentence cites, in order, with ranges and lists spelled out.

    Args:
        doubtful: Whether to return also figures of other documents ('Figure 3 of [12]'), and words that may be
            verbs ('we figure 3 people').
    """
    return tuple(_cited(text, doubtful)) if _NUMERAL.search(text) else ()


def _cited(text: str, doubtful: bool) -> Iterator[Label]:
    at = 0
    text = _number_last(text)
    while (start := _START.search(text, at)) is not None:
        labels, end = _numbers(text, start)
        at = max(end, start.end())
        before = text[max(0, start.start() - BEFORE) : start.start()]
        is_verb = start.group("figure") in ("figure", "figures") and _VERB_BEFORE.search(before)  # not "a figura 3"
        if doubtful or not (is_verb or _ELSEWHERE_BEFORE.search(before) or _ELSEWHERE_AFTER.match(text, at)):
            yield from labels


def _numbers(text: str, start: re.Match[str]) -> tuple[list[Label], int]:
    word = start.group().strip()
    east = start.group("east") or start.group("han")
    family = _EAST[east] if east else next(family for family in _FAMILIES if start.group(family))
    if start.group("more"):
        family = f"supplementary {family}"
        word = word.split()[-1]
    plural = _PLURAL.match(re.sub(r"(?:no\.|nr\.|№|#)$", "", word, flags=re.IGNORECASE).rstrip()) is not None
    plural = plural or _ARTICLE_IT.search(text, max(0, start.start() - 6), start.start()) is not None
    listed = plural or _LISTED.match(text, start.end()) is not None
    item = _NUMBERED.match(text, start.end())
    if item is None:  # the look-ahead ignores case, and a Roman numeral in lower case is no number
        return [], start.end()
    labels = _spell(family, item, plural=plural)
    end = item.end()
    while listed and (join := _JOIN.match(text, end)) is not None:
        item = _NUMBERED.match(text, join.end())
        if item is None:
            break
        following = _spell(family, item, plural=plural)
        # In "Figuras 3 a 5" it means "to", in "obr. 3 a 5" it means "and".
        is_range = join.group("range") and (join.group("range").lower() != "a" or word.endswith("s"))
        if is_range and labels[-1].number.isdigit() and following[0].number.isdigit():
            first, last = int(labels[-1].number), int(following[0].number)
            if not first < last <= first + _LONGEST_RANGE:
                break
            labels.extend(Label(family, str(n)) for n in range(first + 1, last))
        labels.extend(following)
        end = item.end()
    return labels, end


def _spell(family: str, item: re.Match[str], *, plural: bool) -> list[Label]:
    """Spell out a number: 'Figures 2-4' are three labels, 'Figure 2-4' is the fourth figure of chapter two."""
    written = unicodedata.normalize("NFKC", item.group("number").lower())
    number = "".join(str(unicodedata.decimal(c, c)) for c in re.sub(r"[\-‐‑–]", ".", written))
    if re.fullmatch(_HAN, number):
        tens, ten, ones = number.rpartition("十")
        number = str((10 * (_HAN_DIGITS.find(tens) or 1) if ten else 0) + _HAN_DIGITS.find(ones))
    parts = re.findall(r"[a-h]", item.group("part") or "")
    numbers = re.split(r"[\-‐‑–]", item.group("number"))
    if plural and len(numbers) == 2 and all(part.isdigit() for part in numbers):
        first, last = int(numbers[0]), int(numbers[1])
        if first < last <= first + _LONGEST_RANGE:
            return [Label(family, str(n)) for n in range(first, last + 1)]
    if len(parts) == 2 and re.search(r"[-–]", item.group("part") or ""):
        parts = [chr(c) for c in range(ord(parts[0]), ord(parts[1]) + 1)]
    return [Label(family, number, part) for part in parts] or [Label(family, number)]


Direction = Literal["above", "below", "near"]


class Pointer(NamedTuple):
    """A deictic reference.

    Attributes:
        direction: The side of the image; 'near' for either side.
        plural: Whether it speaks of several pictures ('the photos below').
    """

    direction: Direction
    plural: bool


_EN = (
    r"(?:photo(?:graph)?|picture|image|figure|illustration|diagram|drawing|screenshot|painting|sketch|pic|map|chart"
    r"|graph|excerpt|snapshot|plot|schematic|engraving)"
)
_DE = r"(?:bild|foto|abbildung|grafik|aufnahme|zeichnung|karte|screenshot|skizze)"
_FR = r"(?:photo(?:graphie)?|image|figure|illustration|schéma|carte|dessin|graphique)"
_ES = r"(?:foto(?:grafía)?|im[aá]gen|figura|ilustración|dibujo|mapa|gráfico)"
_PT = r"(?:fotos?|fotografias?|imagem|imagens|figuras?|ilustraç(?:ão|ões)|desenhos?|gráficos?|diagramas?|mapas?)"
_IT = r"(?:foto|fotografi[ae]|immagin[ei]|figur[ae]|illustrazion[ei]|disegn[oi]|schem[ai]|grafic[oi]|mapp[ae])"
_NL = r"(?:foto(?:['’]?s)?|afbeelding(?:en)?|figu(?:ur|ren)|illustraties?|tekening(?:en)?|plaatjes?|grafiek(?:en)?)"
_RU = (
    r"(?:фото|фотографи[а-я]+|рисунок|рисунк[а-я]+|изображени[а-я]+|картин[а-я]+|снимок|снимк[а-я]+|схем[а-я]+"
    r"|иллюстраци[а-я]+|скриншот[а-я]*|график[а-я]*|диаграмм[а-я]+)"
)
_PL = r"(?:zdjęci\w+|rysun\w+|obraz\w*|fotografi\w+|ilustracj\w+|schema\w+|wykres\w*|diagram\w*|map\w+)"
_CS = r"(?:obráz\w+|fotk\w+|fotografi\w+|snímek|snímk\w+|schém\w+|graf\w*|map\w+)"
_EL = r"(?:εικόν\w+|φωτογραφί\w+|σχήμα\w*|σχέδι\w+|διάγραμμα|χάρτη\w*)"
_HI = r"(?:चित्र|तस्वीर|फोटो|आकृति|मानचित्र)"
_TR = r"(?:resim|resm|resiml|fotoğraf|görsel|şek[i]?l|görüntü|çizim|grafi[kğ]|diyagram|harita)\w*"
_AR = rf"(?:{_THE_AR})?(?:صور[ةه]?|شكل|رسم|مخطط|خريطة|لقطة)"
_JA = r"(?:写真|図|画像|絵|イラスト|グラフ|地図|スクリーンショット)"
_ZH = r"(?:照片|图片|圖片|插图|插圖|截图|截圖|示意图|示意圖|地图|地圖|[图圖](?![书書形案像标]))"
_KO = r"(?:그림|사진|이미지|도표|그래프|스크린샷|삽화|지도)"
_VI = r"(?:hình(?: ảnh| vẽ| minh họa)?|ảnh|biểu đồ|sơ đồ|đồ thị|bản đồ)"
_SHOWN = r"(?:pictured|shown|seen|depicted|illustrated)"
_QUANTITY = r"(?:(?:two|three|four|five|six|few|several|\d)\s+)?"

_DEICTIC: tuple[tuple[Direction, str], ...] = (
    ("above", rf"\b{_EN}(?P<s>s)?\s+(?:(?:just|shown|seen|directly|right)\s+)*above\b(?!\s+(?:all|\d))"),
    ("above", rf"\b(?:above|preceding|previous)[\s-]+{_QUANTITY}{_EN}(?P<s>s)?\b"),
    ("above", rf"\b{_SHOWN}\s+(?:just\s+|directly\s+)?above\b"),
    ("above", r"\bsee\s+(?:just\s+)?above\s+(?:photo|picture|image)"),
    ("below", rf"\b{_EN}(?P<s>s)?\s+(?:(?:just|shown|seen|directly|right)\s+)*below\b(?!\s+\d)"),
    ("below", rf"\b{_QUANTITY}(?:following|below|next)[\s-]+{_QUANTITY}{_EN}(?P<s>s)?\b"),
    ("below", rf"\b{_SHOWN}\s+(?:just\s+|directly\s+)?below\b"),
    ("near", rf"\b(?:adjacent|accompanying|opposite)\s+{_EN}(?P<s>s)?\b"),
    ("near", rf"\b(?:in|on|from)\s+(?:this|these)\s+{_EN}(?P<s>s)?\b"),
    (
        "near",
        rf"\b(?:see|can see|look at|as in|shown in)\s+(?:it\s+)?(?:(?:in|on)\s+)?(?:the|this|these)\s+{_EN}(?P<s>s)?\b",
    ),
    (
        "near",
        rf"\(\s*(?:see\s+)?(?:{_EN}(?P<s>s)?|{_SHOWN})(?:\s+(?:here|at (?:left|right)|on the (?:left|right)))?\s*\)",
    ),
    ("near", rf"\b(?:{_EN}(?P<s>s)?|{_SHOWN})\s+(?:here|(?:at|on|to the|on the|at the) (?:left|right))\b"),
    ("above", rf"\b{_DE}(?P<s>e?r|s|en)?\s+(?:weiter\s+)?oben\b"),
    ("above", rf"\b(?:obige|obenstehende|vorherige|vorige)[nrms]?\s+{_DE}(?P<s>er|s|en)?\b"),
    ("below", rf"\b{_DE}(?P<s>e?r|s|en)?\s+(?:weiter\s+)?unten\b"),
    ("below", rf"\b(?:folgende|nachfolgende|unten\s?stehende|nächste)[nrms]?\s+{_DE}(?P<s>er|s|en)?\b"),
    ("near", rf"\b(?:auf|in|im|siehe)\s+(?:dem|diesem|der|dieser|nebenstehende[nrm])\s+{_DE}\b"),
    ("near", rf"\b{_DE}(?P<s>e?r|s|en)?\s+(?:links|rechts)\b"),
    ("above", rf"\b{_FR}(?P<s>s)?\s+(?:ci-dessus|précédente?s?)"),
    ("below", rf"\b{_FR}(?P<s>s)?\s+(?:ci-dessous|suivante?s?)"),
    ("near", rf"\b{_FR}(?P<s>s)?\s+(?:ci-(?:contre|après|jointe?s?)|(?:à|de)\s+(?:gauche|droite)\b)"),
    ("above", rf"\b{_ES}(?P<s>(?:e?s)?)\s+(?:de\s+arriba|anterior(?:es)?)\b"),
    ("below", rf"\b{_ES}(?P<s>(?:e?s)?)\s+(?:de\s+abajo|siguientes?)\b"),
    ("below", rf"\b(?:las?|los?|el)\s+siguientes?\s+{_ES}(?P<s>s)?\b"),
    ("above", rf"\b(?:las?|los?|el)\s+anterior(?:es)?\s+{_ES}(?P<s>s)?\b"),
    ("near", rf"\b{_ES}(?P<s>(?:e?s)?)\s+(?:de|a)\s+la\s+(?:izquierda|derecha)\b"),
    ("above", rf"\b{_PT}\s+(?:logo\s+)?(?:acima|anterior(?:es)?)\b"),
    ("below", rf"\b{_PT}\s+(?:logo\s+)?(?:abaixo|a\s+seguir|seguintes?)\b"),
    ("below", rf"\b(?:seguintes?|próximas?)\s+{_PT}\b"),
    ("near", rf"\b{_PT}\s+(?:(?:à|da)\s+(?:esquerda|direita)|ao\s+lado)\b"),
    ("near", rf"\b(?:nesta|neste|nestas|nestes)\s+{_PT}\b"),
    ("above", rf"\b{_IT}\s+(?:(?:qui|riportat[aeio])\s+)?(?:sopra|precedent[ei])\b"),
    ("below", rf"\b{_IT}\s+(?:(?:qui|riportat[aeio])\s+)?(?:sotto|seguent[ei])\b"),
    ("below", rf"\bseguent[ei]\s+{_IT}\b"),
    ("near", rf"\b{_IT}\s+(?:(?:a|sulla)\s+(?:sinistra|destra)|(?:qui\s+)?accanto|a\s+(?:fianco|lato))\b"),
    ("near", rf"\bin\s+(?:quest[aeio]\s+|quest['’]){_IT}\b"),
    ("above", rf"\b(?:bovenstaande|voorgaande|vorige)\s+{_NL}|\b{_NL}\s+hierboven\b"),
    ("below", rf"\b(?:onderstaande|volgende)\s+{_NL}|\b{_NL}\s+hieronder\b"),
    ("near", rf"\b(?:nevenstaande\s+{_NL}|{_NL}\s+(?:hiernaast|links|rechts)|op\s+(?:deze|dit)\s+{_NL})"),
    ("above", rf"\b(?:{_RU}\s+выше|(?:предыдущ|вышеприведённ|вышеприведенн)\w+\s+{_RU})\b"),
    ("below", rf"\b(?:{_RU}\s+ниже|(?:следующ|нижеприведённ|нижеприведенн)\w+\s+{_RU})\b"),
    ("near", rf"\b(?:{_RU}\s+(?:слева|справа)|на\s+(?:этом|этой|этих)\s+{_RU})\b"),
    ("above", rf"\b(?:{_PL}\s+powyżej|(?:powyższ|poprzedni)\w+\s+{_PL})\b"),
    ("below", rf"\b(?:{_PL}\s+poniżej|(?:poniższ|następn|kolejn)\w+\s+{_PL})\b"),
    ("near", rf"\b(?:{_PL}\s+(?:obok|po\s+(?:lewej|prawej))|na\s+(?:tym|tej|tych)\s+{_PL})\b"),
    ("above", rf"\b(?:{_CS}\s+(?:výše|nahoře)|(?:předchozí\w*|předešl\w+|výše\s+uveden\w+)\s+{_CS})\b"),
    ("below", rf"\b(?:{_CS}\s+(?:níže|dole)|(?:následující\w*|níže\s+uveden\w+)\s+{_CS})\b"),
    ("near", rf"\b(?:{_CS}\s+(?:vlevo|vpravo|vedle)|na\s+(?:tomto|této|těchto)\s+{_CS})\b"),
    ("above", rf"\b(?:{_EL}\s+(?:πιο\s+πάνω|παραπάνω)|(?:παραπάνω|προηγούμεν\w+)\s+{_EL})\b"),
    ("below", rf"\b(?:{_EL}\s+(?:πιο\s+κάτω|παρακάτω)|(?:παρακάτω|επόμεν\w+|ακόλουθ\w+)\s+{_EL})\b"),
    ("near", rf"\b(?:{_EL}\s+(?:αριστερά|δεξιά)|αυτ(?:ήν?|ό)\s+τ(?:ην?|ο)\s+{_EL})\b"),
    ("above", rf"(?<!\w)ऊपर\s+(?:\S+\s+){{0,2}}{_HI}"),
    ("below", rf"(?<!\w)(?:नीचे|निम्नलिखित)\s+(?:\S+\s+){{0,2}}{_HI}"),
    ("near", rf"(?<!\w)इस\s+{_HI}"),
    ("above", rf"\b(?:yukarıdaki|üstteki|önceki)\s+(?:\w+\s+)?{_TR}"),
    ("below", rf"\b(?:aşağıdaki|alttaki|sonraki)\s+(?:\w+\s+)?{_TR}"),
    ("near", rf"\b(?:soldaki|sağdaki|yandaki|bu)\s+{_TR}"),
    ("above", rf"(?<!\w){_AR}\s+(?:أعلاه|السابقة?)\b"),
    ("below", rf"(?<!\w){_AR}\s+(?:أدناه|التالية?|الآتية?)\b"),
    ("near", rf"\b(?:هذه|هذا)\s+{_AR}\b"),
    ("above", rf"(?:上|前|上記|上述)の{_JA}|上図"),
    ("below", rf"(?:下|次|以下|下記)の{_JA}|下図"),
    ("near", rf"(?:左|右|横|隣)の{_JA}|この{_JA}|[左右本]図"),
    # Not after a noun: 网上图片 are pictures on the net.
    (
        "above",
        rf"(?:(?<![网網线線纸紙以之墙牆身街路])上面?|上方|前面)[的述]?(?:[这這那]?[一两兩三几幾\d]?[张張幅个個])?{_ZH}",
    ),
    ("below", rf"(?:下面?|下方|下列|以下)的?(?:[这這那]?[一两兩三几幾\d]?[张張幅个個])?{_ZH}"),
    ("near", rf"(?:[左右][边邊侧側]?的?|[此本]|[这這][张張幅个個]){_ZH}"),
    ("above", rf"(?<!\w)(?:위|앞|이전)(?:의|에\s*있는|쪽)?\s*{_KO}"),
    ("below", rf"(?<!\w)(?:아래|다음|하단)(?:의|에\s*있는|쪽)?\s*{_KO}"),
    ("near", rf"(?<!\w)(?:왼쪽|오른쪽|옆)(?:의)?\s*{_KO}|(?<!\w)이\s+{_KO}"),
    ("above", rf"\b{_VI}\s+(?:(?:ở\s+)?(?:bên|phía)\s+trên|trên\s+đây|trên(?=\s*[,.;:)]|\s*$)|trước(?!\s+khi))"),
    ("below", rf"\b{_VI}\s+(?:(?:ở\s+)?(?:bên|phía)\s+dưới|(?:dưới|sau)\s+đây|(?:dưới|sau)(?=\s*[,.;:)]|\s*$))"),
    ("near", rf"\b{_VI}\s+(?:này|bên\s+(?:trái|phải|cạnh))\b"),
)
# The nouns of each language; every pattern contains a noun, or a word of "shown below". In languages with spaces a noun
# must begin a word, which makes the search three times as fast.
_SPACED = (f"{_EN}|{_SHOWN}", _DE, _FR, _ES, _PT, _IT, _NL, _RU, _PL, _CS, _EL, _HI, _TR, _VI, _AR)
_UNSPACED = (_JA, _ZH, _KO)
_ANY = re.compile(rf"(?<!\w)(?:{'|'.join(_SPACED)})")
_ANY_UNSPACED = re.compile("|".join(_UNSPACED))
_BY_NOUN = tuple(
    (
        re.compile(nouns),
        tuple(
            (direction, re.compile(pattern, re.IGNORECASE))
            for direction, pattern in _DEICTIC
            if any(noun in pattern for noun in ((_EN, _SHOWN, "photo|picture") if _EN in nouns else (nouns,)))
        ),
    )
    for nouns in (*_SPACED, *_UNSPACED)
)


def pointer(text: str) -> Pointer | None:
    """Return the first deictic reference of a sentence, 'above' and 'below' before 'near'; None without any."""
    small = text.lower()
    if not _ANY.search(small) and (text.isascii() or not _ANY_UNSPACED.search(small)):
        return None
    for nouns, patterns in _BY_NOUN:
        for direction, pattern in patterns if nouns.search(small) else ():
            if match := pattern.search(text):
                plural = "s" in pattern.groupindex and bool(match.group("s"))
                return Pointer(direction, plural)
    return None
