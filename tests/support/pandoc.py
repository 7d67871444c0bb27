"""A small document of each format that pandoc reads: three pictures, with captions and references to them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from iconotext.read.pandoc.convert import _program

LATEX = r"""
\documentclass{article}
\graphicspath{{img/}}
\title{Trams}
\begin{document}
\maketitle
\section{The start}
The first sentence. Figure~\ref{fig:a} and \cref{fig:b} show it.
\begin{figure}
\includegraphics[width=3cm]{a}
\caption{The old tram.}\label{fig:a}
\end{figure}
\begin{wrapfigure}{r}{5cm}
\includegraphics{img/b.png}
\caption{The new tram.}\label{fig:b}
\end{wrapfigure}
Look at Figure \subref{fig:left}.
\begin{figure}
\begin{subfigure}{3cm}\includegraphics{img/c}\caption{Left.}\label{fig:left}\end{subfigure}
\caption{Two depots.}\label{fig:c}
\end{figure}
Last words.
\end{document}
"""
ORG = """
#+TITLE: Trams
* The start
The first sentence. Figure [[fig:a]] and [[fig-b][the new one]] show it.

#+CAPTION: The old tram.
#+NAME: fig:a
[[file:img/a.png]]

#+CAPTION: The new tram.
#+NAME: fig-b
[[file:img/b.png]]

Look at Figure \\ref{fig-c}.

#+CAPTION: A depot.
#+NAME: fig-c
#+ATTR_HTML: :alt A depot
[[file:img/c.png]]

Last words.
"""
DOCBOOK = """<?xml version="1.0"?>
<article xmlns="http://docbook.org/ns/docbook" version="5.0" xml:lang="en"><title>Trams</title>
<section><title>The start</title>
<para>The first sentence. See <xref linkend="fig-a"/> and <link linkend="fig-b">the new one</link>.</para>
<figure xml:id="fig-a"><title>The old tram.</title><mediaobject><imageobject><imagedata fileref="img/a.png"/></imageobject>
<textobject><phrase>A red tram</phrase></textobject></mediaobject></figure>
<figure xml:id="fig-b"><title>The new tram.</title><mediaobject><imageobject><imagedata fileref="img/b.png"/></imageobject>
</mediaobject></figure>
<para>Look at <xref linkend="fig-c"/>.</para>
<figure xml:id="fig-c"><title>A depot.</title><mediaobject><imageobject><imagedata fileref="img/c.png"/></imageobject>
</mediaobject></figure>
<para>Last words.</para></section></article>
"""
JATS = """<?xml version="1.0"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Archiving DTD v1.2//EN" "JATS-archivearticle1.dtd">
<article xmlns:xlink="http://www.w3.org/1999/xlink" xml:lang="en">
<front><article-meta><title-group><article-title>Trams</article-title></title-group></article-meta></front>
<body><sec><title>The start</title>
<p>The first sentence. See <xref ref-type="fig" rid="F1 F2">both</xref>.</p>
<fig id="F1"><label>Figure 1.</label><caption><p>The old tram.</p></caption><alt-text>A red tram</alt-text>
<graphic xlink:href="img/a"/></fig>
<fig id="F2"><label>Figure 2.</label><caption><p>The new tram.</p></caption>
<alternatives><graphic xlink:href="img/b.tif"/><graphic xlink:href="img/b.png"/></alternatives></fig>
<p>Look at <xref ref-type="fig" rid="F3">the third</xref>.</p>
<fig id="F3"><caption><p>A depot.</p></caption><graphic xlink:href="img/c.png"/></fig>
<p>Last words.</p></sec></body></article>
"""
MEDIAWIKI = """
== The start ==
The first sentence. See [[#fig-a|the old one]] below.

<div id="fig-a">[[File:img/a.png|thumb|The old tram.]]</div>

<gallery>
File:img/b.png|The new tram.
File:img/c.png|A depot.
</gallery>

Last words.
"""
TYPST = """
#set document(title: "Trams")
= The start
The first sentence. @fig-a and #ref(<fig-b>) show it.

#figure(image("img/a.png", alt: "A red tram"), caption: [The old tram.]) <fig-a>

#figure(image("img/b.png"), caption: [The new tram.]) <fig-b>

Look at #link(<fig-c>)[the depot].

#figure(image("img/c.png"), caption: [A depot.]) <fig-c>

Last words.
"""

DOCUMENTS = {"latex": LATEX, "org": ORG, "docbook": DOCBOOK, "jats": JATS, "mediawiki": MEDIAWIKI, "typst": TYPST}


def pandoc(text: str, to: str, folder: Path) -> bytes:
    """What pandoc itself makes of Markdown: the documents that cannot be written by hand."""
    made = folder / "made"
    command = [str(_program("rtf")), "--from=markdown", f"--to={to}", "--standalone", f"--output={made}"]
    subprocess.run(command, input=text.encode(), cwd=folder, check=True, capture_output=True)
    return made.read_bytes()
