"""LaTeX that pandoc refuses is repaired, or read without what it refuses."""

from __future__ import annotations

from importlib import import_module

import pytest

from iconotext import read
from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.evidence.reference import reference_evidence
from iconotext.read import ReadSettings
from iconotext.read.pandoc import convert
from iconotext.read.pandoc import readers as pandoc_readers
from iconotext.read.pandoc.convert import RefusedError
from iconotext.read.pandoc.latex import join_files, refused_command, refused_section, repaired, structural_repairs
from tests.support.reading import read_as, texts

MAIN = r"""\documentclass{report}
\usepackage{graphicx}
\begin{document}
\chapter{Start}
The first sentence. See Figure~\ref{fig:a}.
\begin{figure}
\includegraphics{a.png}
\caption{The old tram.}\label{fig:a}
\end{figure}
\input{parts/two}

\section{The end}
Last words. Look at Figure~\ref{fig:b}.
\begin{figure}
\includegraphics{b.png}
\caption{The new tram.}\label{fig:b}
\end{figure}
\end{document}
"""

BROKEN = {
    "brace": ("Words.\nThis is {\\bf strong.\n", 2, r"{\bf strong."),
    "closing brace": ("Words.\nThis is strong} here.\n", 2, "} here."),
    "end": ("Words.\n\\end{nonsense}\n", 2, r"\end{nonsense}"),
    "verbatim": ("A \\verb|odd thing.\nNext line.\n", 1, r"\verb|odd thing."),
    "command": ("Words.\n\\newcommand\\odd[1]{#1 and #2}\n\\odd{b} \\newcommand*\\x[1]\n", 3, r"\newcommand*\x[1]"),
    "def": ("\\def\\bad#1.#2{#1 #2\nWords.\n", 1, "{#1 #2"),
    "bare def": ("Words. \\def\n", 1, r"\def"),
    "formula": ("Here $x is no formula.\n\nWords.\n", 1, "$x is no formula."),
    "display": ("Here \\[x is no formula.\n\nWords.\n", 1, r"\[x is no formula."),
    "environment": ("\\begin{itemize}\n\\item One thing.\n", 1, r"\begin{itemize}"),
    "equation": ("\\begin{equation} a = b\n\nWords.\n", 1, r"\begin{equation} a = b"),
    "begin": ("\\begin\nWords.\n", 1, r"\begin"),
    "options": ("\\lstinputlisting[caption={A},\n\n label={x}]{code.c}\nWords.\n", 1, r"\lstinputlisting[caption={A},"),
}
"""For each kind of breakage a chapter, and its line and the text that are to blame."""


@pytest.fixture
def thesis(tmp_path, picture):
    for seed, name in enumerate("ab"):
        picture(f"{name}.png", seed=seed)
    (tmp_path / "parts").mkdir()

    def make(chapter: str | bytes, main: str = MAIN):
        (tmp_path / "parts/two.tex").write_bytes(chapter.encode() if isinstance(chapter, str) else chapter)
        (tmp_path / "main.tex").write_text(main)
        return read(tmp_path / "main.tex")

    return make


def assert_whole(document) -> None:
    """Headings, sentences, figures and references of the main file are all there."""
    words = texts(document)
    assert words[:3] == ["Start", "The first sentence.", "See Figure 1."]
    assert words[-3:] == ["The end", "Last words.", "Look at Figure 2."]
    assert [image.caption for image in document.images] == ["The old tram.", "The new tram."]
    evidence = reference_evidence(document)
    assert evidence[2, 0] == evidence[len(words) - 1, 1] == 1


@pytest.mark.parametrize("kind", BROKEN)
def test_a_thesis_outlives_a_broken_chapter(thesis, caplog, kind):
    chapter, line, blamed = BROKEN[kind]
    document = thesis(chapter)
    assert_whole(document)
    assert {"Words.", "One thing.", "Next line."} & {*texts(document)}
    assert f'main.tex: parts/two.tex line {line}, "{blamed}": ' in caplog.text


@pytest.mark.parametrize("comment", ["% the language", "% and ] with [ brackets {"])
def test_comments_among_options_do_no_harm(thesis, caplog, comment):
    listing = f"\\lstinputlisting[language=C,{comment}\n{comment}\n]{{code.c}}\nWords.\n"
    assert_whole(thesis(listing))
    assert [record.getMessage().split(": ", 1)[1] for record in caplog.records] == [
        "code.c is not read (parts/two.tex line 1): not a text file in or below the document's folder"
    ]


def test_bytes_that_are_no_utf_8(thesis):
    document = thesis("Ein Café für jeden, der über Straßen läuft.\n".encode("latin-1"))
    assert_whole(document)
    assert "Ein Café für jeden, der über Straßen läuft." in texts(document)


def test_a_figure_that_is_never_ended_ends_before_what_follows(thesis):
    document = thesis("\\begin{figure}\n\\includegraphics{b.png}\n\\caption{Open.\n\nWords.\n\n")
    assert texts(document)[3:5] == ["Words.", "The end"]
    assert [image.caption for image in document.images] == ["The old tram.", "Open.", "The new tram."]


def refusing(is_refused, tries):
    """In place of pandoc: it refuses the first line with what ``is_refused``, and else gives the text as a paragraph."""

    def to_html(source, *_given, **_options):
        tries.append(source)
        for number, line in enumerate(source.decode().split("\n"), 1):
            if is_refused(line):
                raise RefusedError("no", line=number, column=1, reason="no")
        return f"<html><body><p>{source.decode()}</p></body></html>", ()

    return to_html


@pytest.mark.usefixtures("in_this_process")
def test_a_section_that_is_refused_again_and_again_is_left_out(thesis, caplog, monkeypatch):
    tries: list[bytes] = []
    monkeypatch.setattr(pandoc_readers, "to_html", refusing(lambda line: "odd" in line, tries))
    odd = "".join(f"\\odd{{{n}}}\n" for n in range(30))
    document = thesis("Words.\n", MAIN.replace("Last words.", f"{odd} Last words."))
    assert len(tries) == pandoc_readers.MAX_COMMANDS + 2
    words = " ".join(texts(document))
    assert "The first sentence." in words
    assert "Words." in words
    assert "Last words" not in words
    assert 'main.tex: line 12, "\\section{The end}": left out up to the next heading' in caplog.text


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("seconds", [50, 0.5])
def test_pandoc_is_tried_until_its_time_is_over(thesis, caplog, monkeypatch, seconds):
    tries: list[bytes] = []
    monkeypatch.setattr(pandoc_readers, "to_html", refusing(lambda line: "odd" in line, tries))
    monkeypatch.setattr(pandoc_readers, "_work_of_pandoc", lambda: len(tries) / 40)  # each try takes a fortieth second
    monkeypatch.setattr(convert, "MAX_SECONDS", seconds)
    odd = "".join(f"\\section{{odd {n}}}\n\\odd\n" for n in range(30))
    main = MAIN.replace("Last words.", f"{odd} Last words.")
    if seconds == 50:
        assert "The first sentence." in " ".join(texts(thesis("Words.\n", main)))
        assert "odd" not in tries[-1].decode()
        assert "more places were repaired" in caplog.text
    else:
        with pytest.raises(DocumentError, match=r"main.tex: line \d+: pandoc cannot read it \(no\): mend it there"):
            thesis("Words.\n", main)
        assert len(tries) == 20


@pytest.mark.usefixtures("in_this_process")
def test_too_much_work_is_refused_as_before(thesis, monkeypatch):
    def too_much(*_given, **_options):
        raise HostileDocumentError("too much")

    monkeypatch.setattr(pandoc_readers, "to_html", too_much)
    with pytest.raises(HostileDocumentError, match="too much"):
        thesis("Words.\n")


def test_lines_lead_to_their_files(tmp_path):
    (tmp_path / "a.tex").write_text("One.\n% a comment\nThree. \\input{b} After.\n")
    (tmp_path / "b.tex").write_text("\\documentclass{article}\n\\begin{document}\nWithin.\n\\end{document}\n")
    source = join_files("% \\input{c}\nBegin.\n\\include{a}\n\\input{b}\nEnd.", tmp_path / "m.tex", ReadSettings())
    places = {line: place for line, place in zip(source.text.split("\n"), source.places, strict=True) if line.strip()}
    assert places == {
        "Begin.": ("", 2),
        "One.": ("a.tex", 1),
        "Three.": ("a.tex", 3),
        "Within.": ("b.tex", 3),
        " After.": ("a.tex", 3),
        "End.": ("", 5),
    }
    assert source.unread == ("b is taken in once: not again at line 4",)


@pytest.mark.parametrize(
    "text",
    [
        r"\newcommand{\be}{\begin{equation}}\newcommand{\ee}{\end{equation}} \be x \end{equation} $a$ \[b\] \(c\)",
        "\\begin{verbatim}\n{ $ \\end{x}\n\\end{verbatim}\n\\verb+{+ \\{ \\$ % } {\n{a}",
        r"\newenvironment{x}[1][a]{\begin{figure}}{\end{figure}}\begin{x} $\text{if $a$}$ \end{x}",
        "\\def\\x#1{a}\n\\let\\y=\\x \\DeclareMathOperator{\\z}{z}",
    ],
)
def test_what_is_in_order_is_not_repaired(text):
    assert structural_repairs(text) == []


def test_repairs_keep_the_number_of_lines():
    text = "a\n\\odd[x,\ny]{z\n} b\n"
    repair = refused_command(text, 3, 1)
    assert repair is not None
    assert repaired(text, [repair]) == "a\n%\n%\n b\n"
    assert refused_command("\\end{document}\n", 1, 3) is None


def test_the_section_of_a_line_is_removed():
    text = "\\begin{document}\n1\n\\section{2}\n3\n\\section{4}\n5\n\\end{document}\n"
    for line, kept in ((4, "145"), (1, "2345"), (6, "123"), (7, "145"), (99, "145")):
        left = repaired(text, [refused_section(text, line, lambda part: "3" not in part)])
        assert "".join(filter(str.isdigit, left)) == kept
        assert left.endswith("\\end{document}\n")
        assert left.count("\n") == text.count("\n")
    assert refused_section("a\n", 1, bool) is None
    assert refused_section(text, 0, bool) is None  # pandoc does not say where
    assert refused_section("\\begin{document}\n%\n\n\\end{document}", 2, bool) is None


def test_what_is_never_closed_costs_its_own_section_alone(tmp_path, caplog):
    sections = [f"\\section{{S{n}}}\nWords {n}.\n" for n in range(9)]
    sections[3] = "\\section{S3}\n\\includegraphics[width=\n\nWords 3.\n"
    document = read_as(tmp_path / "a.tex", "".join(["\\begin{document}\n", *sections, "\\end{document}\n"]))
    assert texts(document) == [words for n in range(9) if n != 3 for words in (f"S{n}", f"Words {n}.")]
    assert 'line 8, "\\section{S3}": left out up to the next heading' in caplog.text


def test_citations_leave_no_space_before_what_closes_a_sentence(tmp_path):
    words = r"Trams run \cite{a}. As \citet{b} says~\cite[p.~3]{a,b}, they stop (late \citep{c})."
    document = read_as(tmp_path / "a.tex", f"\\begin{{document}}\n{words}\n\n\\end{{document}}\n")
    assert texts(document) == ["Trams run.", "As says, they stop (late)."]


def test_pictures_in_the_latex_that_pandoc_writes(tmp_path, picture):
    picture("cat.jpg")
    (tmp_path / "cats.md").write_text("A cat sits.\n\n![A cat](cat.jpg)\n\nAnother ![](cat.jpg){height=2cm} sits.\n")
    import_module("pypandoc").convert_file(
        tmp_path / "cats.md", "latex", outputfile=tmp_path / "cats.tex", extra_args=["-s"]
    )
    assert "\\sbox\\pandoc@box{#1}" in (tmp_path / "cats.tex").read_text()
    document = read(tmp_path / "cats.tex")
    assert [(image.source, image.caption) for image in document.images] == [("cat.jpg", "A cat"), ("cat.jpg", None)]
    assert texts(document) == ["A cat sits.", "Another sits."]


def test_graphics_in_pdf_files_are_pictures_with_their_captions(thesis):
    document = thesis(
        "\\begin{figure}\n\\includegraphics{plot.pdf}\n\\caption{The load.}\\label{fig:load}\n\\end{figure}\nWords.\n"
    )
    assert [(image.source, image.caption) for image in document.images][1] == ("plot.pdf", "The load.")
