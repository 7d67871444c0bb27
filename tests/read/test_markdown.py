from __future__ import annotations

import pytest

from iconotext.evidence.reference import reference_evidence
from iconotext.read.markdown import expand_site_tags, split_front_matter
from iconotext.read.positions import EditedText
from iconotext.report.source_offsets import source_spans
from tests.support.reading import read_as


@pytest.fixture
def document(tmp_path):
    return lambda text, name="a.md": read_as(tmp_path / name, text)


def test_markdown_with_everything(document, picture):
    for number, name in enumerate("abcd"):
        picture(f"img/{name}.png", seed=number)
    found = document(
        "---\ntitle: Trams\nlang: en-GB\n---\n\n# Heading one\n\nFirst *sentence*. Second [link](http://x.example) here.\n\n"
        "![A tram](img/a.png)\n*The old tram.*\n\n- item one\n- item two\n\n> Quoted text.\n\n"
        "![ref alt][pic]\n\n<figure><img src='img/c.png'><figcaption>In HTML.</figcaption></figure>\n\n"
        "<!-- ![hidden](img/d.png) and hidden text -->\n\n| a | b |\n|---|---|\n| c one | d two |\n\n```\ncode here\n```\n\n"
        "Text[^1].\n\n[^1]: A footnote.\n\n[pic]: img/b.png 'Title'\n"
    )
    assert found.title == "Trams"
    assert found.language == "en"
    assert [(i.source, i.alt, i.caption, i.problem) for i in found.images] == [
        ("img/a.png", "A tram", "The old tram.", None),
        ("img/b.png", "ref alt", "Title", None),
        ("img/c.png", None, "In HTML.", None),
    ]
    assert [s.text for s in found.sentences][:6] == [
        "Heading one", "First sentence.", "Second link here.", "item one", "item two", "Quoted text.",
    ]  # fmt: skip
    assert [s.kind for s in found.sentences if s.text in ("a", "c one")] == ["cell", "cell"]
    assert not any("hidden" in s.text or "code" in s.text for s in found.sentences)
    assert [i.position for i in found.images] == [3, 6, 6]


@pytest.mark.parametrize(
    ("source", "address", "alt", "caption"),
    [
        ("![x]({{ site.baseurl }}/img/a.png)", "/img/a.png", "x", None),
        ("![x]({{ '/img/a.png' | relative_url }})", "/img/a.png", "x", None),
        ("![x]({% link img/a.png %})", "/img/a.png", "x", None),
        ('{% include image.html url="/img/a.png" description="A tram" %}', "/img/a.png", None, "A tram"),
        ('{% include figure image_path="img/a.png" alt="this" caption="that" %}', "img/a.png", "this", "that"),
        ('{{< figure src="img/a.png" title="That \\"tram\\"" >}}', "img/a.png", None, 'That "tram"'),
        ('{{% figure src="img/a.png" alt="x" /%}}', "img/a.png", "x", None),
        (
            '{{< fig-res res="img/a.png" alt="An alt." caption="Not much left..." >}}',
            "img/a.png",
            "An alt.",
            "Not much left...",
        ),
        ("{% asset_img img/a.png A red tram %}", "img/a.png", "A red tram", None),
        ("{% img left /img/a.png 300 200 %}", "/img/a.png", None, None),
        ("![[img/a.png|A tram]]", "img/a.png", "A tram", None),
        ("![[img/a.png|300]]", "img/a.png", None, None),
        ("![x](<img/a.png>)", "img/a.png", "x", None),
        ("![x](img/a.png){: .center #fig-a width=300}", "img/a.png", "x", None),
        ("![](img/a.png){alt='Tram #3'}", "img/a.png", "Tram #3", None),  # pandoc and the Carpentries
        ('![A caption.](img/a.png){ alt="A tram" width=50% }', "img/a.png", "A tram", "A caption."),
        ('![x](img/a.png){: alt="A tram"}', "img/a.png", "x", None),  # kramdown
        ('![A tram](img/a.png "fig:A caption.")', "img/a.png", "A tram", "A caption."),  # pandoc writes "fig:"
    ],
)
def test_picture_tags_of_site_generators(document, picture, source, address, alt, caption):
    picture("img/a.png")
    found = document(f"Words before.\n\n{source}\n\nWords after.\n")
    (image,) = found.images
    assert (image.source, image.alt, image.caption, image.problem) == (address, alt, caption, None)
    assert [s.text for s in found.sentences] == ["Words before.", "Words after."]
    assert image.position == 1
    assert image.anchors == (("fig-a",) if "#fig-a" in source else ())


@pytest.mark.slow
@pytest.mark.parametrize("title", ["", ' "A caption."'])
@pytest.mark.parametrize("name", ["my red tram.png", "صورة 1.png", "img two/a b.PNG"])
def test_spaces_in_addresses(document, picture, name, title):
    picture(name)
    (image,) = document(f"Words before.\n\n![A tram]({name}{title})\n\nSee ![x](gone.png) (or a b.png).\n").images[:1]
    assert (image.source, image.alt, image.problem) == (name, "A tram", None)
    assert image.caption == ("A caption." if title else None)


def test_refused_addresses_are_listed(document):
    found = document("Text.\n\n![a](file:///etc/a.png)\n\n![b](javascript:alert(1))\n")
    assert [bool(image.problem) for image in found.images] == [True, True]
    assert [s.text for s in found.sentences] == ["Text."]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('Open [it](https://x.org/){:target="_blank"} now.', "Open [it](https://x.org/) now."),
        ("Open [it](https://x.org/){ target=_blank } now.", "Open [it](https://x.org/) now."),
        ("Open ![it](a.png){width='50%' height=20%} now.", "Open ![it](a.png) now."),
        ('A `block`{:class="a"} here.', "A `block` here."),
        ("# Heading {: .no_toc }", "# Heading "),
        ("# Heading {:#a}", "# Heading "),
        ('A cell.\n\n+++ {"tags": []}\n\nAnother.', "A cell.\n\n\n\nAnother."),
        (r"A sum $\sum_{n=1} f(x){n=1}$.", r"A sum $\sum_{n=1} f(x){n=1}$."),
        ("Call `f`{x} (or g){y}.", "Call `f`{x} (or g){y}."),
    ],
)
def test_lists_of_attributes_are_no_text(text, shown):
    assert expand_site_tags(EditedText(text)).text == shown


def test_other_tags_vanish():
    text = "A{% assign x = 1 %} {{ page.title }}b {{< youtube abc >}}{% highlight py %}code{% endhighlight %}c."
    assert expand_site_tags(EditedText(text)).text == "A b c."
    assert expand_site_tags(EditedText("Press :material-pencil: to edit at 10:30.")).text == "Press  to edit at 10:30."


@pytest.mark.parametrize(
    ("text", "rest", "head"),
    [
        ("---\na: 1\n---\nText", "Text", {"a": "1"}),
        ('+++\ntitle = "T"\n+++\nText', "Text", {"title": "T"}),
        ("---\n: [broken\n---\nText", "Text", {}),
        ("---\nJust a rule\n---\nText", "---\nJust a rule\n---\nText", {}),
        ("No head", "No head", {}),
    ],
)
def test_front_matter(text, rest, head):
    assert split_front_matter(text) == (rest, head)


def test_admonitions_and_line_breaks(document):
    found = document("!!! note\n    Take care here.\n\nOne line\nbroken in two.\n\n> [!TIP]\n> Take tea.\n")
    assert [s.text for s in found.sentences] == ["Note", "Take care here.", "One line broken in two.", "Take tea."]


@pytest.mark.parametrize("piece", ["{{<x ", "{{ a ", "{% a ", "![[a", "![](a ", "!["])
def test_ends_that_never_come_cost_nothing_much(piece):
    text = "{" + piece * 5_000
    assert expand_site_tags(EditedText(text)).text == text  # unbounded searches would take minutes


D2L = """# Convolutions
:label:`sec_conv`

As :numref:`fig_corr` and :numref:`sec_conv` of :citet:`LeCun.1998` show, :numref:`sec_mlp` is first :cite:`A,B`.

![The shaded parts are used.](img/a.png)
:width:`400px`
:label:`fig_corr`

:begin_tab:`mxnet`
A sentence for some.
:end_tab:

Before the other: ![A padded one.](img/b.png)
:label:`fig_pad`

:begin_tab:toc
- [A part](part.md)
:end_tab:

$$a = b$$
:eqlabel:`eq_a`

| a | b |
|---|---|
| 1 | 2 |
:label:`tab_a`

Look at :numref:`fig_pad`, :ref:`tab_a` and :eqref:`eq_a`. The role `:label:` is code; a:b:c is not.
"""


def test_the_markup_of_d2lbook(document, picture):
    for seed, name in enumerate("ab"):
        picture(f"img/{name}.png", seed=seed)
    found = document(D2L)
    assert [s.text for s in found.sentences if s.kind != "cell"] == [
        "Convolutions",
        "As Fig. 1 and Convolutions of show, the section is first .",
        "A sentence for some.",
        "Before the other:",
        "A part",
        "a = b",
        "Look at Fig. 2, the table and .",
        "The role :label: is code; a:b:c is not.",
    ]
    assert [s.text for s in found.sentences if s.kind == "cell"] == ["a", "b", "1", "2"]
    assert [(i.caption, i.anchors, i.problem) for i in found.images] == [
        ("The shaded parts are used.", ("fig_corr",), None),
        ("A padded one.", ("fig_pad",), None),
    ]
    evidence = reference_evidence(found)
    assert [[i for i in range(len(found.sentences)) if evidence[i, j] == 1] for j in range(2)] == [[1], [10]]


def test_sentences_with_markup_of_d2lbook_have_a_place(document):
    found = document(D2L)
    spans = source_spans(found)
    assert spans[1] is not None
    start, end = spans[1]
    assert D2L[start:end].startswith("As :numref:`fig_corr` and")
    assert all(span is not None for sentence, span in zip(found.sentences, spans, strict=True) if " " in sentence.text)


@pytest.mark.parametrize("label", ["<span data-label></span>", "<span data-label id=x></span>", ":label:`x`"])
def test_labels_without_anything_to_name(document, label):
    texts = [s.text for s in document(f"{label}\n\nWords.\n\n<div><td>{label}</td></div>\n\n- {label}\n").sentences]
    assert "Words." in texts
