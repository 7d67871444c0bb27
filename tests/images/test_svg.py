from __future__ import annotations

import base64
import io
from importlib import import_module

import pytest
from PIL import Image as Pillow

from iconotext.errors import ImageError
from iconotext.images import decode, inspect
from iconotext.images.svg import svg_size
from iconotext.system.worker import LimitError
from iconotext.types import Image

RED = (255, 0, 0)
WHITE = (255, 255, 255)


def svg(inside: str, attributes: str = 'width="120" height="80"') -> bytes:
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f"<svg {names} {attributes}>{inside}</svg>".encode()


SQUARE = '<rect x="60" width="60" height="80" fill="red"/>'


def problem(data: bytes) -> str | None:
    return inspect([Image("a.svg", data)])[0].problem


def test_a_drawing_is_a_picture_whose_text_is_the_same_on_every_machine():
    picture = decode(svg(SQUARE), at_least=64)
    assert (picture.mode, picture.size) == ("RGB", (1024, 683))
    assert (picture.getpixel((100, 300)), picture.getpixel((900, 300))) == (WHITE, RED)
    assert problem(svg(SQUARE)) is None
    picture = decode(svg('<text x="10" y="60" font-size="40" font-family="Nowhere, serif">Tram</text>'))
    assert len(picture.getcolors(10_000)) > 10
    assert picture.getpixel((3, 3)) == WHITE


@pytest.mark.parametrize(
    ("attributes", "size", "drawn"),
    [
        ('width="460.8pt" height="345.6pt" viewBox="0 0 460.8 345.6"', (614, 461), (1024, 769)),  # matplotlib, cairo
        ('width="460.8pt" height="345.6pt"', (614, 461), (1024, 769)),
        ('width="100mm" height="5cm"', (378, 189), (1024, 512)),
        ('width="400Q" height="12.5rem"', (378, 200), (1024, 542)),
        ('width="2in" height="192px"', (192, 192), (1024, 1024)),
        ('width="50%" height="100%" viewBox="0 0 200 100"', (200, 100), (1024, 512)),
        ('width="1200pt" height="100%" viewBox="0 0 100 100"', (1600, 1600), (1024, 1024)),
        ('width="300pt"', (400, 200), (1024, 512)),
        ('viewBox="0 0 200 100"', (200, 100), (1024, 512)),
        ('width="90" height="20"', (90, 20), None),
        ('viewBox="0 0 24 24"', (24, 24), None),
        ('width="1cm" height="2in"', (38, 192), None),
        ('width="100%" height="100%" viewBox="0,0,16,16"', (16, 16), None),
        ('width="32" viewBox="0 0 10 20"', (32, 64), None),
        ('height="-5" viewBox="0 0 48 64"', (48, 64), None),
    ],
)
def test_drawings_have_the_shape_that_they_declare(attributes, size, drawn):
    icon = f"smaller than 64 px ({size[0]} × {size[1]}): an icon or a spacer" if min(size) < 64 else None
    nested = f'<svg x="10%" width="50%" height="100%" viewBox="0 0 120 80">{SQUARE}</svg>'
    for inside in (SQUARE, nested):
        data = svg(inside, attributes)
        assert problem(data) == icon
        assert svg_size(data) == size
        assert drawn is None or decode(data).size == drawn


def test_drawings_that_do_not_say_how_large_they_are():
    for attributes in ("", 'width="wide" height="auto"', 'viewBox="nonsense"', 'width="1e99" height="1e99"'):
        assert problem(svg(SQUARE, attributes)) is None
        decode(svg(SQUARE, attributes)) if "e99" not in attributes else None


def test_nothing_outside_the_file_is_read(tmp_path, monkeypatch):
    Pillow.new("RGB", (50, 50), "red").save(tmp_path / "a.png")
    (tmp_path / "a.svg").write_bytes(svg('<rect id="r" width="120" height="80" fill="red"/>'))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a.png"
    places = [str(file), file.as_uri(), "a.png", "./a.png", "a.svg", "http://127.0.0.1:9/a.png"]
    nested = base64.b64encode(svg(f'<image href="{tmp_path}/a.png" width="120" height="80"/>')).decode()
    places += [f"data:image/svg+xml;base64,{nested}", f"data:text/html,{tmp_path}"]
    for place in places:
        drawn = "".join(
            f'<{element} {name}="{place}" width="120" height="80"/>'
            for element in ("image", "use", "feImage", "a", "script")
            for name in ("href", "xlink:href")
        )
        assert decode(svg(drawn + '<circle r="2" fill="blue"/>')).getpixel((500, 300)) == WHITE, place
    style = f"<style>@import url('{tmp_path}/a.css'); rect {{fill: url('{tmp_path}/a.png')}}</style>"
    assert decode(svg(style + '<rect width="120" height="80"/>')).getpixel((500, 300)) != RED


def test_a_picture_in_the_drawing_is_drawn():
    buffer = io.BytesIO()
    Pillow.new("RGB", (50, 50), "red").save(buffer, "PNG")
    uri = f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
    picture = decode(svg(f'<image xlink:href="{uri}" width="120" height="80"/>'))
    assert picture.getpixel((512, 300)) == RED
    named = SQUARE.replace("<rect", '<rect id="r"')
    assert decode(svg(f'<defs>{named}</defs><use href="#r"/>')).getpixel((900, 300)) == RED


def test_entities():
    names = '<!DOCTYPE svg [<!ENTITY ns "http://www.w3.org/2000/svg">]><svg xmlns="&ns;" width="90" height="90">'
    assert decode(f"{names}{SQUARE}</svg>".encode()).getpixel((900, 300)) == RED  # as older programs write them
    for system in ('SYSTEM "file:///etc/passwd"', 'PUBLIC "x" "http://127.0.0.1:9/"'):
        data = b"<!DOCTYPE svg [<!ENTITY x " + system.encode() + b">]>" + svg(SQUARE + "<text>&x;</text>")
        with pytest.raises(ImageError):
            decode(data)
    laughs = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    with pytest.raises(ImageError, match="damaged SVG"):
        decode(f'<!DOCTYPE svg [<!ENTITY a0 "ha">{laughs}]>'.encode() + svg(SQUARE + "<text>&a9;</text>"))


def filtered(steps: str) -> str:
    return f'<filter id="f">{steps}</filter><g filter="url(#f)">{SQUARE}</g>'


BOMBS = {
    "uses": "".join(f'<g id="a{n}">' + f'<use xlink:href="#a{n - 1}"/>' * 10 + "</g>" for n in range(1, 10)) + SQUARE,
    "itself": '<g id="a"><use xlink:href="#a"/></g>',
    "deep": "<g>" * 100_000 + "</g>" * 100_000,
    "filters": filtered('<feGaussianBlur stdDeviation="50"/>' * 20_000),
    "octaves": filtered('<feTurbulence baseFrequency="1" numOctaves="99999"/>'),
    "curves": '<path stroke="red" stroke-width="30" d="' + "M0 0 C 1 1 2 2 100 100 " * 200_000 + '"/>',
    "texts": "<text>" + "<tspan>" * 5_000 + "x" + "</tspan>" * 5_000 + "</text>",
}


@pytest.mark.slow
@pytest.mark.parametrize("bomb", BOMBS)
def test_what_would_take_for_ever_is_refused(bomb, monkeypatch):
    monkeypatch.setattr(import_module("iconotext.images"), "SVG_SECONDS", 1.0)
    with pytest.raises(ImageError) as error:
        decode(svg(BOMBS[bomb]))
    assert "\n" not in str(error.value)
    monkeypatch.undo()
    decode(svg(SQUARE))  # the next one is drawn


def test_what_is_no_svg():
    for data, message in [
        (b"<svg", "damaged SVG"),
        (b"<?xml version='1.0'?><p><svg/></p>", "outermost"),
        (b"<svg width='90' height='90'><circle r='9'/></svg>", "namespace"),
        (svg(""), "nothing to be seen"),
        (svg("<rect width='0' height='9'/>"), "nothing to be seen"),
        (b"<svg>" + b" " * (20 * 2**20), "more than 20 MiB"),
    ]:
        with pytest.raises(ImageError, match=message):
            decode(data)


def drawings(*seconds: float | str) -> list[Image]:
    """Different drawings, to be drawn in so many seconds; a text is why one cannot be drawn."""
    contents = (f"<!--{cost}--><rect x='{n}' width='9' height='9'/>" for n, cost in enumerate(seconds))
    return [Image(f"{n}.svg", svg(content)) for n, content in enumerate(contents)]


@pytest.fixture
def drawn(monkeypatch) -> list[str]:
    """The order in which drawings are drawn; each takes the seconds that its comment says."""
    module, order = import_module("iconotext.images"), list[str]()
    isolated = module.run_isolated

    def fake(function, memory, limit, file, kind, *given):
        if function.__name__ != "drawing_time":
            return isolated(function, memory, limit, file, kind, *given)
        order.append(file.decode().partition("<!--")[2].partition("-->")[0])
        if order[-1] == "endless":
            raise LimitError
        return (0.1, order[-1]) if order[-1].isalpha() else (float(order[-1]), None)

    monkeypatch.setattr(module, "run_isolated", fake)
    return order


def test_all_drawings_of_a_document_have_one_budget(drawn):
    images = inspect(drawings(4, 4, 4, 0.1, 0.2))
    assert drawn == ["4", "4", "4"]
    beyond = "not drawn: the drawings of the document take more than 10 seconds: convert it to PNG"
    assert [image.problem for image in images] == [None, None, beyond, beyond, beyond]


def test_a_drawing_that_is_ended_has_used_its_time_and_a_broken_one_hardly_any(drawn):
    images = inspect(drawings(0, "broken", "endless", 1))
    assert drawn == ["0", "broken", "endless"]
    starts = ["None", "broken", "takes more than 768 MiB", "not drawn: the drawings"]
    assert all(str(image.problem).startswith(start) for image, start in zip(images, starts, strict=True))


def test_one_drawing_and_icons_are_not_drawn_to_see_how_long_they_take(drawn):
    icons = [Image(f"{n}.svg", svg(f"<!--9{n}-->", 'width="9" height="9"')) for n in range(3)]
    assert inspect([*drawings(4), *icons, *drawings(4)])[0].problem is None
    assert drawn == []


def test_many_ordinary_drawings_are_drawn():
    assert [image.problem for image in inspect(drawings(*range(5)))] == [None] * 5
