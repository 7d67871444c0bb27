"""Mutants of documents: the same number and seed give the same bytes on every machine."""

from __future__ import annotations

import io
import random
import re
import zipfile

from tests.fuzz.seeds import packed

MAX_BYTES = 300_000
"""A mutant is cut there: what only grows is for the benchmark of growth."""
_TOKENS = {
    "markdown": "---\n¦+++\n¦![¦](¦[[¦]]¦![[¦{{<¦>}}¦{%¦%}¦{{¦}}¦`¦```¦~~¦**¦_¦<¦>¦<!--¦-->¦<?¦&¦&#¦[^1]:¦:   ¦!!! ¦> ¦- ¦1. ¦#¦\\¦\t¦\n\n"
    '¦: ¦&a ¦*a¦<<: ¦!!int ¦0x¦0b_¦-¦? ¦[¦{¦\'¦"¦\x00¦\ufeff¦“¦।¦:::¦:::{a}¦```{figure} ¦```{r a, ¦fig.cap=¦{numref}`¦`<a>`¦@fig-¦\\@ref(fig:¦(a)=\n¦#\\¦ ¦:name: a¦{#fig-¦c("',
    "asciidoc": "= ¦== ¦* ¦. ¦.T¦[[a]]¦[#a]¦<<a>>¦<<a,¦xref:¦image::¦image:¦[¦]¦====¦----¦....¦____¦****¦++++¦--¦====\\n¦;;¦a:: ¦{a}¦:a: ¦:!a:¦include::¦ifdef::a[]"
    "¦endif::[]¦ifeval::[¦((¦(((¦pass:[¦+++¦*¦_¦`¦+¦^¦~¦#¦\\¦//¦////¦NOTE: ¦[quote]¦[cols=a]¦,===¦stem:[¦footnote:[¦\n\n¦+¦'''",
    "rst": ".. ¦::¦:¦`¦``¦*¦**¦_¦__¦.. _a:¦:ref:`¦<a>`¦.. figure:: ¦.. image:: ¦.. ¦x¦ replace:: ¦.. include:: ¦.. only:: ¦.. list-table::¦.. csv-table::¦.. role:: a"
    "¦.. default-role:: ¦.. class:: ¦.. raw:: html¦.. math::¦.. code::¦.. unicode:: 0x¦.. date::¦.. contents::¦.. sectnum::¦.. target-notes::¦.. parsed-literal::"
    "¦.. header::¦.. meta::¦=====¦-----¦+---+¦===  ===¦[1]_¦[#]_¦[*]_¦\\¦\t¦\n\n¦   ¦- ¦1. ¦#. ¦(a) ¦>>> ¦:: ¦--¦:name: a¦:file: a",
    "html": "<¦>¦</¦<!--¦-->¦<p>¦<div>¦</div>¦<table>¦<img src=a.png>¦<a href=#x>¦<figure>¦<figcaption>¦<picture>¦<source srcset='¦<svg>¦<nav>"
    "¦<main>¦<header>¦<noscript>¦<base>¦<body>¦<html>¦<br>¦ id=x¦ class=¦ hidden¦ srcset=¦charset=hex¦charset=utf-7¦charset=idna¦charset=punycode"
    "¦charset=undefined¦charset=utf-16¦&#0;¦&#x110000;¦&lt¦\x00¦\ufffe¦<![CDATA[¦<?xml encoding='zip'?>¦<!DOCTYPE¦“¦।",
    "docx": "<w:p>¦</w:p>¦<w:r>¦<w:t>¦<w:tbl/>¦<w:tc>¦<w:sdt>¦<w:drawing>¦<mc:AlternateContent/>¦<mc:Choice/>¦<mc:Fallback/>¦<!-- x -->¦<?x y?>¦&x;¦&#0;"
    '¦&#xD800;¦<w:fldChar w:fldCharType="begin"/>¦<w:fldChar w:fldCharType="end"/>¦<w:txbxContent/>¦<w:pict/>¦<w:basedOn w:val="a"/>¦<w:vMerge/>'
    '¦ w:val=""¦ r:embed="x"¦ r:id=""¦<!DOCTYPE a [<!ENTITY b "c">]>¦<![CDATA[¦]]>¦\x00¦\\l "¦REF ',
    "epub": "<nav>¦<a href=¦<itemref/>¦<item/>¦<spine/>¦<svg>¦<image/>¦ epub:type='toc'¦ hidden=''¦encoding='hex'¦encoding='idna'¦encoding='utf-16'¦../../¦#¦%00"
    '¦%¦<!-- -->¦<?x?>¦&x;¦&#0;¦<!DOCTYPE a [<!ENTITY b "c">]>¦\x00¦<html>¦</body>¦<title>¦<navPoint>¦full-path=""¦<![CDATA[¦]]>',
    "pptx": '<p:sp>¦</p:sp>¦<p:pic>¦<p:grpSp>¦<p:ph type="title"/>¦<a:p>¦<a:r>¦<a:t>¦<a:br/>¦<a:tbl/>¦<a:tc>¦<mc:AlternateContent/>¦ show="0"'
    '¦<a:fld type="slidenum"/>¦ r:embed="x"¦ r:id=""¦ descr="a"¦&x;¦&#0;¦<!-- x -->¦<!DOCTYPE a [<!ENTITY b "c">]>¦<![CDATA[¦\x00',
    "notebook": '{¦}¦[¦]¦,¦:¦"¦null¦true¦1e999¦-1¦"cells"¦"source"¦"outputs"¦"data"¦"image/png"¦"text/html"¦"text/markdown"¦"attachments"¦"metadata"'
    '¦"tags"¦"worksheets"¦\\u0000¦\\ud800¦\\n¦attachment:¦<img src=¦label: ',
    "latex": r"\begin{figure}¦\end{figure}¦\begin{¦\end{¦\includegraphics{¦\caption{¦\label{¦\ref{¦\cref{a,b}¦\input{/etc/passwd}¦\newcommand{\a}{\a}¦\a¦#1"
    r"¦\def\b#1{¦{¦}¦[¦]¦$¦$$¦\[¦%¦\\¦&¦~¦^¦_¦\verb+¦\begin{tabular}{ll}¦\item ¦\footnote{¦\subfloat[¦\graphicspath{{¦\catcode`¦\let\b\a¦\if¦\fi",
    "org": "* ¦** ¦#+CAPTION: ¦#+NAME: a¦#+BEGIN_SRC¦#+END_SRC¦#+INCLUDE: a¦#+HTML: <p>¦[[¦]]¦][¦[fn:1]¦:¦:PROPERTIES:¦:END:¦#+TITLE: ¦- ¦1. ¦*¦/¦=¦~¦_"
    "¦+¦ref:a¦<2026-11-22>¦#+BEGIN_QUOTE¦\\ref{a}¦\t¦\n\n",
    "odt": '<text:p>¦</text:p>¦<text:h text:outline-level="1">¦<draw:frame>¦<draw:image xlink:href="a"/>¦<text:list>¦<text:a xlink:href="#x">¦<text:note>'
    '¦<table:table>¦<text:s text:c="999999999"/>¦ table:number-columns-repeated="99999999"¦&x;¦&#0;¦<!DOCTYPE a [<!ENTITY b "c">]>¦\x00',
    "rtf": r"{¦}¦\par ¦\pard ¦\b ¦\i0 ¦\pict ¦\pngblip ¦\bin999999999 ¦\'e4¦\u8364?¦\uc99¦\trowd ¦\cell ¦\row ¦\field¦\*¦\ansicpg65001¦\fonttbl ¦\s1¦\*\fldinst ",
    "docbook": '<para>¦</para>¦<figure>¦</figure>¦<xref linkend="a"/>¦<section>¦<imagedata fileref="a.png"/>¦<table>¦<entry>¦<programlisting>¦&a;¦&#0;¦<!--'
    '¦<!DOCTYPE a [<!ENTITY a SYSTEM "/etc/passwd">]>¦<xi:include href="/etc/passwd"/>¦<![CDATA[¦]]>¦<?a?>',
    "jats": '<p>¦</p>¦<fig>¦</fig>¦<label>¦<caption>¦<graphic xlink:href="a"/>¦<alternatives>¦<xref rid="a b">¦<sec>¦<alt-text>¦<table-wrap>¦&a;¦&#0;¦<!--'
    '¦<ref-list>¦<inline-formula>¦<![CDATA[¦<!DOCTYPE a [<!ENTITY a "b">]>',
    "mediawiki": "==¦[[¦]]¦[[File:¦|¦{{¦}}¦{|¦|}¦|-¦!¦''¦'''¦<gallery>¦</gallery>¦<ref>¦</ref>¦<nowiki>¦<math>¦<div id=a>¦* ¦# ¦----¦<!--¦<pre>",
    "typst": '#¦{¦}¦(¦)¦[¦]¦$¦"¦= ¦#figure(¦image("a.png")¦caption: ¦<a>¦@a¦#ref(<a>)¦#include "/etc/passwd"¦#import "@preview/a:1.0.0"¦#let f(x) = f(x)¦#f(1)'
    "¦#for i in range(99) [x]¦#while true {}¦#set ¦#show: ¦/*¦*/¦//¦`",
}
TOKENS = {name: tokens.split("¦") for name, tokens in _TOKENS.items()}


def mutant(format_: str, seeds: list[bytes], chance: random.Random) -> bytes:
    """One mutant of one of the seeds. Of a zip file mostly a member is changed, so that the container still opens."""
    data = chance.choice(seeds)
    if format_ in ("docx", "epub", "odt", "pptx") and chance.random() < 0.9:
        return _mutated_zip(data, format_, chance)
    return _mutated(data, seeds, TOKENS[format_], chance)


def _mutated(data: bytes, others: list[bytes], tokens: list[str], chance: random.Random) -> bytes:
    for _ in range(chance.choice((1, 1, 2, 3, 6, 12))):
        at = chance.randrange(len(data) + 1)
        length = min(chance.choice((1, 2, 8, 40, 300, 2_000)), len(data) - at)
        piece = data[at : at + length]
        match chance.randrange(9):
            case 0:  # flip bits
                data = (
                    data[:at]
                    + bytes(byte ^ (1 << chance.randrange(8)) for byte in piece[:8])
                    + data[at + len(piece[:8]) :]
                )
            case 1:  # any bytes
                data = data[:at] + chance.randbytes(chance.choice((1, 2, 4, 16))) + data[at:]
            case 2:  # cut out
                data = data[:at] + data[at + length :]
            case 3:  # cut off
                data = data[:at] if chance.random() < 0.3 else data
            case 4:  # repeat
                data = data[:at] + piece * chance.choice((2, 3, 20, 200)) + data[at:]
            case 5:  # put somewhere else
                to = chance.randrange(len(data) + 1)
                data = data[:to] + piece + data[to:]
            case 6:  # from another document
                other = chance.choice(others)
                start = chance.randrange(len(other) + 1)
                data = data[:at] + other[start : start + length] + data[at + length :]
            case 7:  # another number
                numbers = list(re.finditer(rb"\d+", data))
                if numbers:
                    start, end = chance.choice(numbers).span()
                    value = chance.choice((b"0", b"-1", b"65536", b"4294967296", b"1e999", b"\xd9\xa3", b"9" * 400))
                    data = data[:start] + value + data[end:]
            case _:  # a word of the format
                token = chance.choice(tokens).encode("utf-8") * chance.choice((1, 1, 1, 2, 50))
                data = data[:at] + token + data[at + chance.choice((0, length)) :]
        data = data[:MAX_BYTES]
    return data


def _mutated_zip(data: bytes, format_: str, chance: random.Random) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    markup = [name for name in members if name.endswith(("ml", ".rels", ".opf", ".ncx"))]
    read = [
        name
        for name in markup
        if re.search(
            r"document\.xml|content\.xml|slide1\.xml|styles\.xml|/_rels/document|\.xhtml|\.opf|core\.xml", name
        )
    ]
    for _ in range(chance.choice((1, 1, 2))):
        name = chance.choice(read if chance.random() < 0.8 else list(members))
        if chance.random() < 0.03:
            members.pop(name)
            break
        members[name] = _mutated(members[name], [members[n] for n in markup if n in members], TOKENS[format_], chance)
    return packed(members)
