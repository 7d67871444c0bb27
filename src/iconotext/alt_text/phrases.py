"""Phrases that people write instead of an alternative text, in the languages of most documents."""

from __future__ import annotations

import re

_THINGS = (
    "image images img picture pictures pic photo photos photograph graphic graphics figure fig screenshot screen-shot "
    "diagram chart graph illustration drawing icon logo banner thumbnail thumb avatar "  # English
    "bild bilder foto fotos grafik abbildung abb illustration diagramm bildschirmfoto "  # German
    "imagen fotografía figura gráfico captura ilustración "  # Spanish
    "photographie capture graphique schéma dessin "  # French
    "immagine fotografia grafico figura disegno "  # Italian
    "imagem gráfico captura ilustração "  # Portuguese
    "afbeelding plaatje grafiek figuur schermafbeelding "  # Dutch
    "bilde billede kuva obraz obrázek zdjęcie rysunek kép изображение картинка фото рисунок "
    "画像 写真 图片 圖片 照片 그림 사진"
).split()

PLACEHOLDER = re.compile(
    rf"(?:an? |the )?(?:{'|'.join(map(re.escape, _THINGS))})\W*(?:\d+(?:[.\-–]\d+)*[a-z]?)?"
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
