"""MDX: Markdown with JSX, as sites write it."""

from __future__ import annotations

from importlib import import_module

import pytest

from iconotext.read import read
from iconotext.read.jsx import Source, holds_jsx, jsx_to_html

jsx = import_module("iconotext.read.jsx")  # ``iconotext.read`` is a function, too


@pytest.fixture
def page(tmp_path):
    def write(text: str, name: str = "a.mdx"):
        (tmp_path / name).write_text(text)
        return read(tmp_path / name)

    return write


def texts(document):
    return [sentence.text for sentence in document.sentences]


@pytest.mark.parametrize(
    ("markup", "source"),
    [
        ("![A fox](./fox.png)", "./fox.png"),
        ("![A fox](@site/static/img/fox.png)", "@site/static/img/fox.png"),
        ('<img src="/img/fox.png" alt="A fox" />', "/img/fox.png"),
        ("<img src={fox} alt='A fox'/>", "./img/fox.png"),
        ("<img src={fox.src} alt={'A fox'}></img>", "./img/fox.png"),
        ("<Image src={fox} alt={`A fox`} width={300} {...more} />", "./img/fox.png"),
        ('<img src={require("./img/fox.png").default} alt="A fox"/>', "./img/fox.png"),
        (
            "<img\n  className='wide'\n  style={{zoom: '50%'}}\n  src={useBaseUrl('img/fox.png')}\n  alt='A fox'\n/>",
            "/img/fox.png",
        ),
        ("<Zoom src={withBase('/img/fox.png')} alt='A fox' />", "/img/fox.png"),
        ("<img src={address} alt='A fox'/>", "/constant.png"),
        (
            "<ThemedImage alt='A fox' sources={{light: useBaseUrl('/day.svg'), dark: useBaseUrl('/night.svg')}} />",
            "/day.svg",
        ),
        ("<Card title='Foxes' img='/img/fox.png' alt='A fox'>\n  They live here.\n</Card>", "/img/fox.png"),
        ("<Image src='https://pictures.example/1?w=3' alt='A fox' />", "https://pictures.example/1?w=3"),
        ("Text {isOpen && <img src='/img/fox.png' alt='A fox' />} more.", "/img/fox.png"),
        ("<img src={animal.picture} alt='A fox' />", "code:animal.picture"),
        ("<p>![A fox](./fox.png)</p>", "./fox.png"),
        ("<Frame>\n    ![A fox](./fox.png)\n</Frame>", "./fox.png"),
        (
            "<Tabs>\n  <TabItem value='a'>\n    <div>\n      ![A fox](./fox.png)\n    </div>\n  </TabItem>\n</Tabs>",
            "./fox.png",
        ),
        ("1. One\n   <Frame>\n     ![A fox](./fox.png)\n   </Frame>\n2. Two", "./fox.png"),
        ("> Quoted\n> <Frame>\n> ![A fox](./fox.png)\n> </Frame>", "./fox.png"),
        ("| a | b |\n|---|---|\n| <img src={fox} alt='A fox'/> | c |", "./img/fox.png"),
        ("<picture>\n  <source srcSet='/fox.webp' />\n  <img src='/fox.png' alt='A fox' />\n</picture>", "/fox.webp"),
    ],
)
def test_pictures(page, tmp_path, markup, source):
    head = "import fox from './img/fox.png';\n\nexport const address = '/constant.png'\n\n# Foxes\n\n"
    document = page(f"{head}{markup}\n\nThe end of it.\n")
    assert [(image.source, image.alt) for image in document.images] == [(source, "A fox")]
    assert (head + markup)[document.images[0].at :].startswith(("<", "!", "{"))
    assert texts(document)[-1] == "The end of it."


@pytest.mark.parametrize(
    "markup",
    [
        "`<img src='no.png'/>`",
        "``a ` <img src='no.png'/>``",
        "```jsx\n<img src='no.png'/>\n\nimport x from 'y.png'\n```",
        "- item\n\n  ~~~\n  <img src='no.png'/>\n  ~~~",
        "{/* <img src='no.png'/> */}",
        "<!-- <img src='no.png'/>\n\n![](no.png) -->",
        "<Device img='no.png' />",
        "<Icon icon='fox' />",
        "\\<img src='no.png'/>",
    ],
)
def test_what_is_no_picture(page, markup):
    assert not page(f"A sentence.\n\n{markup}\n").images


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import A from 'a'\nimport {\n  b,\n  c\n} from 'b'\nimport './s.css';\n\nText here.", ["Text here."]),
        ("export const f = () => {\n  return 1;\n\n}\n\nText here.", ["Text here."]),
        ("export const A = () => (\n  <p>Don't</p>\n)\n\nText here.", ["Text here."]),
        (
            "What grows is the\nimport of cars.\n\nexport of goods falls.",
            ["What grows is the import of cars.", "export of goods falls."],
        ),
        ("The part $\\frac{a}{b} \\le c$ is {x}here.\n\n$$\n\\sqrt{d}\n$$", ["The part a/b ≤ c is here.", "√d"]),
        ("It is{' '}<b>here</b>{x.y}, {'you {} see'}.", ["It is here, you {} see."]),
        ("A <Highlight color='red'>red *word*</Highlight> here.", ["A red word here."]),
        ("A <>fragment</> here.", ["A fragment here."]),
        ("{/* a\n\n comment */}\n\nText {/* here */}here.", ["Text here."]),
        (
            "<Tabs>\n  <TabItem value='a' label='Linux'>\n    Text here.\n\n    - one\n    - two\n  </TabItem>\n</Tabs>",
            ["Linux", "Text here.", "one", "two"],
        ),
        (":::note[Take care]\n\nText here.\n\n:::", ["Take care", "Text here."]),
        (":::tip Title of it\n\nText here.\n\n:::", ["Title of it", "Text here."]),
        ("<details>\n<summary>More</summary>\n\nText here.\n\n</details>", ["More", "Text here."]),
        ("## A heading {#its-name}\n\nText here.", ["A heading", "Text here."]),
        ("    indented text is text.", ["indented text is text."]),
        ("<Steps>\n1. One.\n2. Two.\n</Steps>", ["One.", "Two."]),
        ("<table>\n  <tr>\n    <td>one</td>\n    <td>two</td>\n  </tr>\n</table>", ["one", "two"]),
        ("a < b and {unclosed", ["a < b and {unclosed"]),
        ("<div style={{\n  color: 'red'\n}}>\n  Text here.\n</div>", ["Text here."]),
        ("<a href={x}>A link</a> here.", ["A link here."]),
        ("<span onClick={() => { if (a > b) { c() } }}>Text</span> here.", ["Text here."]),
    ],
)
def test_no_code_is_text(page, text, expected):
    assert texts(page(text)) == expected


def test_a_frame_has_a_caption(page):
    document = page(
        "Text.\n\n<Frame caption='The old {map}.'>\n  <img src='/m.png' alt='A map' />\n</Frame>\n\n<Figure src='/n.png' caption='The new one.' />\n"
    )
    assert [(image.source, image.caption) for image in document.images] == [
        ("/m.png", "The old {map}."),
        ("/n.png", "The new one."),
    ]


def test_a_markdown_file_that_holds_jsx_is_mdx(page):
    required = "<img src={require('./fox.png').default} />"
    assert [image.source for image in page(required, "b.md").images] == ["./fox.png"]
    assert not holds_jsx("`<img src={x} />` and <img src={{ site.url }} />")
    text = "import fox from './fox.png'; import B from 'b';\n\n<Image src={fox} alt='A fox' />\n\nText here.\n"
    assert [image.source for image in page(text, "a.md").images] == ["./fox.png"]
    assert texts(page(text, "a.md")) == ["Text here."]
    assert not holds_jsx("```js\nimport fox from './fox.png'\n```\n\nimport this, from 'the' shop.\n")
    assert not holds_jsx(
        "It is written so:\n\n    const a = 1\n\n    <Fox color={red} />\n\nIn the set {a, b} are two.\n"
    )
    assert holds_jsx("1. One:\n\n    <Fox color={red} />\n")
    assert not holds_jsx("Text\nimport fox from './fox.png' as you like it\n")


@pytest.mark.parametrize(
    "part", ["{", "<a b={", "export const a = {\n\n", "<a ", "{'", "`{", "<A>", "{<a ", "<!-", "'\\", "```"]
)
def test_reading_takes_linear_time(part, monkeypatch):
    steps = {}
    for count in (200, 400):
        seen = 0

        class Counted(Source):
            def tag(self, start):
                nonlocal seen
                found = super().tag(start)
                seen += 1 + ((found.end if found else start) - start)
                return found

            def expression_end(self, start):
                nonlocal seen
                before = self._scanned
                found = super().expression_end(start)
                seen += 1 + max(self._scanned - before, 0)
                return found

        monkeypatch.setattr(jsx, "Source", Counted)
        jsx_to_html(part * count)
        steps[count] = seen
    assert steps[400] <= 2.5 * steps[200] + 1_000
