"""Phrases that people write instead of an alternative text, in the languages of most documents."""

from __future__ import annotations

import re

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
