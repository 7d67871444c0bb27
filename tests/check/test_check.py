"""Documents in, findings out."""

from __future__ import annotations

import pytest

from iconotext.check.audit import check, check_page
from iconotext.check.language import other_language
from iconotext.check.rules import CheckSettings
from iconotext.errors import DocumentError
from iconotext.read import ReadSettings

LONG = "a red kite over the hills in the evening " * 10


def found(tmp_path, text, name="a.md", **settings):
    (tmp_path / name).write_text(text)
    checked = check([tmp_path / name], CheckSettings(**{"rules": ("alt",)} | settings))
    assert not checked.failures
    return [(finding.rule, finding.place.line) for finding in checked.findings]


@pytest.mark.parametrize(
    ("markup", "rule"),
    [
        ('<img src="a.png">', "alt-missing"),
        ('<img src="a.png" alt="">', None),
        ('<a href="b.html"><img src="a.png" alt=""></a>', "alt-link"),
        ('<a href="b.html"><img src="a.png"></a>', "alt-missing"),
        ('<a href="b.html"><img src="a.png" alt=""> To the map</a>', None),
        ('<a href="b.html"><img src="a.png" alt=""><img src="b.png" alt="To the market"></a>', None),
        ('<a href="b.html" title="The map"><img src="a.png" alt=""></a>', None),
        ('<button><img src="a.png" alt=""></button>', "alt-link"),
        ('<button><img src="a.png"></button>', "alt-missing"),
        ('<button><img src="a.png" alt=""> Search</button>', None),
        ('<button aria-label="Search"><img src="a.png" alt=""></button>', None),
        ('<input type="image" src="a.png">', "alt-missing"),
        ('<input type="image" src="a.png" alt="">', "alt-link"),
        ('<input type="image" src="a.png" aria-label="Search">', None),
        ('<p id="fox">A fox</p><img src="a.png" aria-labelledby="fox">', None),
        ('<input type="image" src="a.png" title="Search">', None),
        ('<img src="a.png" title="A fox">', None),
        ('<img src="a.png" title="">', "alt-missing"),
        ('<img src="a.png" role="presentation">', None),
        ('<img src="a.png" aria-hidden="true">', None),
        ('<img src="a.png" role="none" alt="A fox in the snow">', "alt-decorative"),
        ('<img src="a.png" alt="" width="400" height="300">', "alt-empty"),
        ('<img src="a.png" alt="" width="400" height="20">', None),
        ('<figure><img src="a.png" alt=""><figcaption>A fox.</figcaption></figure>', "alt-empty"),
        ("![A fox in the snow](a.png)", None),
        ("![](a.png)", "alt-empty"),
        ("![](https://example.org/a.png)", "alt-empty"),
        ("[![](a.png) To the map](b.html)", "alt-empty"),
        ('![](a.png){#fox width=50% fig-alt="A fox"}', None),
        ('![](a.png){role="presentation"}', None),
        ("![](a.png){width=50%}", "alt-empty"),
        ('<img src="https://example.org/a.png" alt="">', None),
        ("![IMG_2216](a.png)", "alt-file-name"),
        ("![fox-2.png](a.png)", "alt-file-name"),
        ("![red-fox](red-fox.png)", "alt-file-name"),
        ("![fox](fox.png)", None),
        ("![T-shirt](a.png)", None),
        ("![image](a.png)", "alt-placeholder"),
        ("![Figure 3.2](a.png)", "alt-placeholder"),
        ("![TODO: describe](a.png)", "alt-placeholder"),
        ("![...](a.png)", "alt-placeholder"),
        ("![Bild](a.png)", "alt-placeholder"),
        ("![図1](a.png)", "alt-placeholder"),
        ("![图 1](a.png)", "alt-placeholder"),
        ("![Imagem ilustrativa](a.png)", "alt-placeholder"),
        ("![صورة ٢](a.png)", "alt-placeholder"),
        ("![ekran görüntüsü](a.png)", "alt-placeholder"),
        ("![Step 1](a.png)", "alt-placeholder"),
        ("![Schritt 12](a.png)", "alt-placeholder"),
        ("![day9](a.png)", "alt-placeholder"),
        ("![Keyboard Photo 1](a.png)", "alt-placeholder"),
        ("![sample image](a.png)", "alt-placeholder"),
        ("![datasheet](a.png)", "alt-placeholder"),
        ("![captura de pantalla](a.png)", "alt-placeholder"),
        ("![Capture d’écran 2](a.png)", "alt-placeholder"),
        ("![captura de pantalla del menú Archivo](a.png)", None),
        ("![logo text](a.png)", "alt-placeholder"),
        ("![Datenblatt](a.png)", "alt-placeholder"),
        ("![fiche technique](a.png)", "alt-placeholder"),
        ("![Step 1: fold the dough in half](a.png)", None),
        ("![Day 9 of the expedition: the camp at dusk](a.png)", None),
        ("![The datasheet's pin table](a.png)", None),
        ("![Soil sample 3](a.png)", None),
        ("![Map of Spain](a.png)", None),
        ("![Stepladder](a.png)", None),
        ("![ceiling 3](ceiling-3.jpg)", "alt-file-name"),
        ("![water tank 2](water%20tank%202.jpg)", "alt-file-name"),
        ("![Apollo 11](apollo-11.jpg)", None),
        ("![3DSense](3DSense.jpg)", None),
        ("![Image of a fox](a.png)", "alt-image-of"),
        ("![Une image d'un renard](a.png)", "alt-image-of"),
        ("![Abbildung eines Fuchses](a.png)", "alt-image-of"),
        ("![Imagen de un zorro](a.png)", "alt-image-of"),
        ("![Photograph of a fox](a.png)", None),
        ("![Photo of a fox](a.png)", None),
        ("![IMAGE front panel](a.png)", "alt-image-of"),
        ("![Image: the front panel](a.png)", "alt-image-of"),
        ("![front panel image](a.png)", "alt-image-of"),
        ("![A satellite image](a.png)", None),
        ("![Docker image](a.png)", None),
        ("![Image classification in three steps](a.png)", None),
        ("![IMAGE CLASSIFICATION](a.png)", None),
        ("![Imaging of the brain](a.png)", None),
        ("![Photographers at work](a.png)", None),
        (f"![{LONG}](a.png)", None),
        (f"![{LONG * 3}](a.png)", "alt-long"),
        ("![fox, foxes, wild animals, buy fox prints, snow, winter pictures](a.png)", "alt-keywords"),
        ("![A fox in the snow — fox, wild animals, nature prints, winter, snow, best foxes](a.png)", "alt-keywords"),
        ("![Fuchs, Füchse, Wildtiere, Naturfotos kaufen, Schnee, Winter](a.png)", "alt-keywords"),
        ("![Flour, water, salt, yeast, sugar, oil, and butter](a.png)", None),
        ("![On the table: flour, water, salt, yeast, sugar, oil](a.png)", None),
        ("![A sign: “No skating, littering, busking, loitering, cycling, spitting.”](a.png)", None),
        ("![A fox, a hare, an owl, a mouse, a badger are asleep.](a.png)", None),
        ("![Decorative line](a.png)", "alt-decorative"),
        ("![Trennlinie](a.png)", "alt-decorative"),
        ("![Decorative tiles](a.png)", None),
        ("[![Foxes logo](a.png)](b.html)", "alt-function"),
        ("[![Read more](a.png)](b.html)", "alt-function"),
        ("[![Foxes, start page](a.png)](b.html)", None),
        ("![Foxes logo](a.png)", None),
        ('<button><img src="a.png" alt="Magnifying glass"></button>', "alt-function"),
        ('<button><img src="a.png" alt="Ein Zahnrad"></button>', "alt-function"),
        ('<button><img src="a.png" alt="Zahnrad"></button>', "alt-function"),
        ('<button><img src="a.png" alt="Search"></button>', None),
        ('<input type="image" src="a.png" alt="Printer">', "alt-function"),
        ('<a href="b.html"><img src="a.png" alt="Printer"></a>', None),
        ("![Figure 3](a.png)\n\nFigure 3: A fox in the deep snow.", None),
        ("![Figure 2](a.png)\n\nFigure 3: A fox in the deep snow.", "alt-placeholder"),
        ("![Bar chart](a.png)", "alt-placeholder"),
        ("![foxDen](img/foxDen.jpg)", "alt-file-name"),
        ("![Fox rot blau final 256](Fox_rot_blau_final_256.png)", "alt-file-name"),
        ("![Fox rot blau final 256](a.png)", None),
        ("![GitHub](GitHub.png)", None),
        ("![macOS](macOS.png)", None),
        ("![red fox](red-fox.png)", None),
        ("![A fox in the deep snow](a.png)\n\n*A fox in the deep snow.*", "alt-caption"),
        ("![A fox in the deep snow](a.png)\n\nFigure 3: A fox in the deep snow.", "alt-caption"),
        ("![雪の中の狐](a.png)\n\n図1　雪の中の狐", "alt-caption"),
        ("![A fox in the deep snow](a.png)\n\nIt was cold. A fox, in the deep snow! We left.", "alt-sentence"),
        (
            "A fox stands in the very deep snow of the hill.\n\n![A fox stands in the deep snow of the hill](a.png)",
            "alt-sentence",
        ),
        ("A fox.\n\n![A fox in the deep snow](a.png)", None),
        ("![Der Fuchs ist mit einem Hasen auf dem Feld](a.png)", "alt-language"),
        ("![Лиса бежит по снегу](a.png)", "alt-language"),
        ("![青いランプの隣に古い時計がある](a.png)", "alt-language"),
        ("![Das Boot (1981)](a.png)", None),
    ],
)
def test_each_rule(tmp_path, markup, rule):
    text = "The first thing that we saw on this day was the road to the farm, and it was there for all of us.\n\n"
    lines = text.count("\n") + 1
    expected = (
        [] if rule is None else [(rule, lines + markup[: markup.find("![") if "![" in markup else 0].count("\n"))]
    )
    assert found(tmp_path, text + markup) == expected


@pytest.mark.parametrize(
    ("alt", "rules"),
    [
        ("雪の中の狐の画像", [("alt-image-of", 1)]),
        ("صورة ثعلب في الثلج", [("alt-image-of", 1)]),
        ("صورة جوية للمدينة", []),
    ],
)
def test_a_picture_of_something_in_other_scripts(tmp_path, alt, rules):
    assert found(tmp_path, f"![{alt}](a.png)") == rules


def test_letters_of_another_script_are_no_language():
    assert other_language("Ein roter Fuchs", "ja") == "Latin letters"
    assert other_language("雪の中の狐がいる", "en") == "Chinese or Japanese characters"


def test_the_same_text_on_another_picture(tmp_path):
    text = "![A fox](a.png) and\n![A fox.](b.png) and\n![A fox](a.png) and\n![Two foxes](c.png)\n"
    assert found(tmp_path, text) == [("alt-duplicate", 2)]


def test_texts_that_differ_in_their_number_alone(tmp_path):
    counted = "![Prototype 1](a.png) and\n![Prototype 2](b.png) and\n![prototype3](c.png) and\n![A fox](d.png)\n"
    assert found(tmp_path, counted) == [("alt-series", 1), ("alt-series", 2), ("alt-series", 3)]
    apart = "![Apollo 11](a.png) and ![Apollo 12](b.png) and ![Ariane 1](c.png) and ![Ariane 5](d.png)\n"
    told = "![Step 1: fold the dough](e.png) and ![Step 2: roll the dough](f.png)\n"
    years = "![Population in 1900](g.png) and ![Population in 1901](h.png) and ![Prototype 1](i.png)\n"
    assert found(tmp_path, apart + told + years) == []
    long = "".join(f"![A barn beside the river, month {n}](m{n}.png)\n" for n in range(1, 5))
    assert found(tmp_path, long) == []


def test_a_link_to_an_empty_one_makes_it_content(tmp_path):
    text = '<p>See the <a href="#map">map</a>.</p><figure id="map"><img src="a.png" alt=""></figure>'
    assert found(tmp_path, text, "a.html") == [("alt-empty", 1)]
    assert found(tmp_path, text, "a.html", empty="never") == []


def test_a_large_empty_one_is_content(tmp_path, picture):
    picture("large.png", size=(300, 220))
    picture("small.png", size=(300, 40))
    text = "".join(f'<img src="{name}.png" alt=""> and\n' for name in ("large", "small", "nowhere"))
    assert found(tmp_path, text) == [("alt-empty", 1)]
    assert found(tmp_path, text, large=250) == []
    assert found(tmp_path, text, empty="always") == [("alt-empty", 1), ("alt-empty", 2), ("alt-empty", 3)]


def test_a_picture_of_markdown_without_words_is_content_unless_it_is_an_icon(tmp_path, picture):
    picture("pinout.png", size=(190, 120))
    picture("icon.png", size=(32, 32))
    picture("line.png", size=(800, 4))
    text = "".join(f"![]({name}.png) and\n" for name in ("pinout", "icon", "line", "https://example.org/a"))
    assert found(tmp_path, text) == [("alt-empty", 1), ("alt-empty", 4)]
    assert found(tmp_path, text, empty="never") == []


def test_rules_can_be_chosen(tmp_path):
    text = "![](a.png) and\n<img src='b.png'> and\n![image](c.png)\n"
    assert found(tmp_path, text, rules=("alt-placeholder", "alt-missing"), skip=("alt-missing",)) == [
        ("alt-placeholder", 3)
    ]


def test_all_of_a_page_is_checked(tmp_path):
    menu = '<nav><ul><li><a href="/"><img src="logo.png"></a></li></ul></nav>'
    text = f"<html><body>{menu}<main><p>{'Foxes live in the woods. ' * 30}</p></main></body></html>"
    assert found(tmp_path, text, "a.html") == [("alt-missing", 1)]


def test_what_cannot_be_read_is_told_and_the_rest_checked(tmp_path):
    (tmp_path / "a.md").write_text("![](a.png")
    (tmp_path / "b.md").write_bytes(b"<img src=a.png>\x00\x01\xff")
    (tmp_path / "c.md").write_text("<img src='a.png'>")
    (tmp_path / "d.html").write_text("<div>" * 300 + "<img src='a.png'>")
    (tmp_path / "e.md").write_text("")
    (tmp_path / "f.pdf").write_bytes(b"%PDF-1.4")
    checked = check([tmp_path], CheckSettings(rules=("alt",)), formats=("markdown", "html"))
    assert [failure.path.name for failure in checked.failures] == ["b.md", "d.html"]
    assert [(f.rule, f.place.path) for f in checked.findings] == [("alt-missing", (tmp_path / "c.md").as_posix())]
    assert (checked.documents, checked.pictures) == (3, 1)
    (named,) = check([tmp_path / "f.pdf"], formats=("markdown", "html")).failures
    assert "give Markdown or HTML" in str(named.error)


def test_limits_hold(tmp_path):
    (tmp_path / "a.md").write_text("![](a.png)" * 20)
    (failure,) = check([tmp_path], reading=ReadSettings(max_bytes=100)).failures
    assert "max-bytes" in str(failure.error)
    with pytest.raises(DocumentError, match="no documents"):
        check([tmp_path], reading=ReadSettings(exclude=("*.md",)))


def test_fingerprints_outlive_other_changes(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("![image](a.png) and ![image](a.png)\n\n<img src='b.png'>\n")
    before = check([path], CheckSettings(rules=("alt",))).findings
    path.write_text("# New\n\nSome more text.\n\n" + path.read_text().replace(" and ", " or "))
    after = check([path], CheckSettings(rules=("alt",))).findings
    assert [each.fingerprint for each in before] == [each.fingerprint for each in after]
    assert [each.place.line for each in before] != [each.place.line for each in after]
    assert len({each.fingerprint for each in after}) == len(after) == 3


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        (
            "a.rst",
            "A.\n\n.. image:: a.png\n\nB.\n\n.. image:: b.png\n   :alt:\n\nC.\n\n.. image:: c.png\n   :alt: A fox\n",
            [3],
        ),
        ("a.adoc", 'A.\n\nimage::a.png[]\n\nB.\n\nimage::b.png[alt=""]\n\nC.\n\nimage::c.png[A fox]\n', [3]),
    ],
)
def test_missing_texts_for_which_programs_put_the_name_of_the_file(tmp_path, name, text, lines):
    assert found(tmp_path, text, name) == [("alt-missing", line) for line in lines]


@pytest.mark.parametrize("name", ["a.html", "a.md"])
@pytest.mark.parametrize(
    ("markup", "function"),
    [
        ("<button>Look for it: {}</button>", None),
        ("<button>{}</button>", "button"),
        ("<a href='b.html'>{}</a>", "link"),
        ("<a>{}</a>", None),
        ("{}", None),
    ],
)
def test_a_picture_with_a_function_is_a_picture(tmp_path, name, markup, function):
    (tmp_path / name).write_text(markup.format('<img src="a.png" alt="A lens">'))
    page = check_page(tmp_path / name, CheckSettings(), ReadSettings()).page
    assert [(picture.alt, picture.function, picture.place.at) for picture in page.pictures] == [
        ("A lens", function, markup.index("{"))
    ]


def test_a_picture_that_sends_a_form_is_a_picture(tmp_path):
    (tmp_path / "a.html").write_text(
        '<form>Where to? <input name="q"> <input type="IMAGE" src="a.png" alt="Go"></form>'
    )
    page = check_page(tmp_path / "a.html", CheckSettings(), ReadSettings()).page
    assert [(picture.alt, picture.function, picture.place.column) for picture in page.pictures] == [
        ("Go", "button", 34)
    ]
    assert [passage.text for passage in page.passages] == ["Where to?"]


def test_a_text_that_only_code_knows_is_not_missing(tmp_path):
    (tmp_path / "a.mdx").write_text("<img src={user.picture} alt={user.name} />\n\n<img src={animal.picture} />\n")
    found = check([tmp_path / "a.mdx"], CheckSettings()).findings
    assert [(finding.rule, finding.place.line) for finding in found] == [("alt-missing", 3)]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("![BOM.md](./BOM.md)", ["file-other"]),
        ("![](manual.pdf#page=3)", ["file-other"]),
        ("![](https://pictures.example/a/README.md?raw=1)", ["file-other"]),
        ("![](https://pictures.md)", ["alt-empty"]),
    ],
)
def test_a_picture_that_is_a_document(tmp_path, text, rules):
    (tmp_path / "a.md").write_text(text)
    assert [finding.rule for finding in check([tmp_path], CheckSettings()).findings] == rules


def test_pictures_of_directives_are_counted(tmp_path):
    (tmp_path / "a.md").write_text("Text.\n\n```{figure} a.png\n:alt: A fox\n\nA caption.\n```\n")
    assert check([tmp_path], CheckSettings()).pictures == 1


def test_a_path_in_place_of_a_list_is_refused():
    with pytest.raises(TypeError, match="paths are a list"):
        check("abc")
