from __future__ import annotations

import base64
import io
import unicodedata
from importlib import import_module
from pathlib import Path

import pytest
from PIL import Image as PillowImage

from iconotext.errors import ImageError, OutsideError
from iconotext.read import ReadSettings, read, read_all
from iconotext.read.address import Addresses, open_address, site_folder

looking_up = import_module("iconotext.read.address")


@pytest.fixture
def site(tmp_path, picture):
    picture("secret.png", seed=9)
    picture("site/img/a b.png")
    picture("site/docs/local.png", seed=1)
    (tmp_path / "site" / "mkdocs.yml").touch()
    return tmp_path / "site" / "docs" / "page.md"


def opened(address: str, page: Path, **settings: object) -> Path | bytes:
    chosen = ReadSettings.model_validate(settings)
    within = chosen.root or page.parent
    return open_address(address, page, within, chosen, site_folder(page, within, chosen))


def test_relative_and_site_addresses(site):
    assert opened("local.png?v=3#x", site) == site.parent / "local.png"
    assert opened("./local.png", site) == site.parent / "local.png"
    # the nearest parent folder in which it exists
    assert opened("/img/a%20b.png", site) == site.parent.parent / "img" / "a b.png"
    assert opened("/img//a b.png", site) == site.parent.parent / "img" / "a b.png"
    assert opened("//img/a b.png", site) == site.parent.parent / "img" / "a b.png"
    assert opened("/docs/local.png", site, root=site.parent.parent) == site.parent / "local.png"


@pytest.mark.parametrize(("form", "written"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_a_name_is_the_same_however_its_accents_are_written(site, picture, form, written):
    picture(f"site/docs/{unicodedata.normalize(form, 'été.png')}")
    for address in ("été.png", "%C3%A9t%C3%A9.png"):
        found = opened(unicodedata.normalize(written, address), site)
        assert found == site.parent / unicodedata.normalize(form, "été.png")


CLIMBING = ("../../secret.png", "../img/a%20b.png", "%2e%2e/img/a%20b.png", "..\\img\\a b.png")
NOWHERE = ("gone.png", "/gone.png", "a\x00b.png", "x" * 5000, "javascript:alert(1)", "ftp://x.example/a.png", "")


@pytest.mark.parametrize("address", [*CLIMBING, *NOWHERE, "/../secret.png", "/img/../../secret.png"])
def test_what_lies_outside_the_folder_or_nowhere_is_refused(site, address):
    with pytest.raises(ImageError):
        opened(address, site)


def test_outside_names_the_way_out(site):
    with pytest.raises(OutsideError, match="the option root names a wider one, and allow-outside"):
        opened("../../secret.png", site)
    assert opened("../img/a%20b.png", site, root=site.parent.parent)
    assert opened("../../secret.png", site, allow_outside=True)
    with pytest.raises(OutsideError):
        opened("../../secret.png", site, root=site.parent.parent)


def test_absolute_addresses(site, tmp_path):
    secret = tmp_path / "secret.png"
    for address in (secret.as_uri(), f"file:{secret}", "C:\\pictures\\a.png"):
        with pytest.raises(OutsideError):
            opened(address, site)
    assert opened(secret.as_uri(), site, allow_outside=True) == secret
    assert opened(str(secret), site, allow_outside=True) == secret
    with pytest.raises(ImageError, match="not found"):
        opened(str(secret), site)  # a site path, and never the root of the machine


PRIVATE = (
    *("/private/a.png", "//private/a.png", "///private/a.png", "/a/../private/a.png", "/./private/a.png"),
    *("\\private\\a.png", "\\\\private\\a.png", "/private\\a.png", "%2Fprivate/a.png", "%5cprivate%5ca.png"),
    *("/%2e%2e/private/a.png", "/private%2fa.png", "../private/a.png", "..%2Fprivate/a.png", "..\\private\\a.png"),
    *("file:/private/a.png", "file:///private/a.png", "FILE:private/a.png", "C:/private/a.png", "C:\\private\\a.png"),
    *("/link/a.png", "link/a.png", "a.png", "/a.png", "/static/a.png", "static/a.png"),
)
"""Addresses that may mean ``private/a.png``, ``static/private/a.png`` or ``static/a.png`` beside a document's folder."""


@pytest.fixture
def home(tmp_path, picture, monkeypatch):
    """A user's folder with a document in ``content/`` and private pictures beside that."""
    for name in ("private/a.png", "static/a.png", "static/private/a.png", "public/page/a.png"):
        picture(f"home/{name}")
    page = tmp_path / "home" / "content" / "page.md"
    page.parent.mkdir()
    (page.parent / "link").symlink_to(tmp_path / "home" / "private")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    return page


@pytest.mark.parametrize("address", PRIVATE)
def test_no_address_leads_out_of_the_folder_of_a_document_that_is_in_no_site(home, address):
    with pytest.raises(ImageError):
        opened(address, home)
    (home.parents[1] / ".git").mkdir()  # settings that are kept with git make no site of a user's folder
    with pytest.raises(ImageError):
        opened(address, home)


@pytest.mark.parametrize("marker", [".git", "mkdocs.yml", "conf.py", "_config.yml", "_quarto.yml", "book.toml"])
def test_a_site_ends_where_the_settings_of_its_generator_are(tmp_path, picture, marker):
    wanted = picture("site/img/a.png")
    picture("img/b.png", seed=1)
    page = tmp_path / "site" / "docs" / "guide" / "page.md"
    page.parent.mkdir(parents=True)
    with pytest.raises(ImageError, match="not found between the document's folder and its site's"):
        opened("/img/a.png", page)
    (tmp_path / "site" / marker).touch()
    (tmp_path / "mkdocs.yml").touch()  # the nearest one counts
    assert opened("/img/a.png", page) == wanted
    with pytest.raises(ImageError):
        opened("/img/b.png", page)
    with pytest.raises(ImageError):
        opened("/img/a.png", page, root=page.parent)  # a folder that was named is never left


def test_a_folder_that_was_named_is_searched_up_to_its_top(tmp_path, picture):
    wanted = picture("many/img/a.png")
    picture("img/b.png", seed=1)
    page = tmp_path / "many" / "docs" / "page.md"
    page.parent.mkdir()
    (page.parent / "conf.py").touch()
    page.write_text("Text.\n\n![a](/img/a.png)\n\nText.\n\n![b](/img/b.png)")
    (document,) = read_all([tmp_path / "many"])
    assert [image.file for image in document.images] == [wanted, None]


def test_a_folder_named_by_way_of_another_one_is_where_it_is(tmp_path, picture, monkeypatch):
    picture("private/img/a.png")
    (tmp_path / "docs").mkdir()
    page = Path("..", "docs", "page.md")
    monkeypatch.chdir(tmp_path / "private")
    (tmp_path / "docs" / "mkdocs.yml").touch()
    with pytest.raises(ImageError):
        opened("/img/a.png", page)  # "private" is above the document in its name alone


SOURCES = {
    "a.html": "<p>Text.</p><img src='{}'>",
    "a.md": "Text.\n\n![a]({})",
    "a.rst": "Text.\n\n.. image:: {}\n",
    "a.adoc": "Text.\n\nimage::{}[a]\n",
    "a.org": "Text.\n\n[[file:{}]]\n",
    "a.tex": "\\documentclass{{article}}\\begin{{document}}Text.\n\n\\includegraphics{{{}}}\\end{{document}}",
    "a.typ": 'Text.\n\n#image("{}")\n',
    "a.ipynb": '{{"nbformat": 4, "metadata": {{}}, "cells": [{{"cell_type": "markdown", "source": "Text. ![a]({})"}}]}}',
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_no_format_leads_out(home, name):
    for address in ("/private/a.png", "../private/a.png", "/../private/a.png", "/link/a.png"):
        file = home.with_name(name)
        file.write_text(SOURCES[name].format(address))
        images = read(file).images
        assert [image.file for image in images] == [None], address
        assert images[0].problem is not None


def test_symbolic_links_do_not_lead_out(site, tmp_path):
    (site.parent / "link.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(OutsideError):
        opened("link.png", site)
    (site.parent / "loop.png").symlink_to(site.parent / "loop.png")
    with pytest.raises(ImageError):
        opened("loop.png", site)


def test_an_address_longer_than_any_path_is_not_looked_up(site, monkeypatch):
    looked_up: list[Path] = []
    resolve = Path.resolve

    def recording(path: Path, *given: bool) -> Path:
        looked_up.append(path)
        return resolve(path, *given)

    addresses = Addresses(site, site.parent, ReadSettings())
    monkeypatch.setattr(Path, "resolve", recording)
    for address in ("a/" * 2_100 + "x.png", "/" + "a/" * 2_100 + "x.png", "//" + "a/" * 2_100 + "x.png"):
        with pytest.raises(ImageError, match=r"an address of 4,20\d characters: more than 4,096 are not looked up"):
            addresses.open(address)
    assert looked_up == []


@pytest.mark.slow
def test_a_document_has_only_so_many_addresses_looked_up(site, monkeypatch):
    monkeypatch.setattr(looking_up, "MAX_LOOKED_UP", 4)
    page = site.with_suffix(".html")
    sets = "".join(f"<p>Text.</p><img srcset='{n}a.png 2w, {n}b.png 1w'>" for n in range(4))
    others = "<img src=0a.png><p>Text.</p><img src=local.png><p>Text.</p><img src=https://pictures.example/a.png>"
    page.write_text(f"<html><body>{sets}{others}</body></html>")
    missing = "not found beside the document"
    too_many = "not looked up: the document names more than 4 addresses: split it"
    web = "a picture on the web: the option fetch fetches it"
    assert [i.problem for i in read(page).images] == [missing] * 2 + [too_many] * 2 + [missing, too_many, web]


@pytest.mark.slow
def test_an_address_is_looked_up_once_in_a_document(site, monkeypatch):
    looked_up: list[str] = []
    inside = looking_up.inside

    def recording(path: Path, *given: object) -> Path | None:
        looked_up.append(path.name)
        return inside(path, *given)

    monkeypatch.setattr(looking_up, "inside", recording)
    page = site.with_suffix(".html")
    page.write_text("<p>Text.</p><img src=gone.png><p>Text.</p><img src=local.png>" * 5)
    assert [i.problem for i in read(page).images][:2] == ["not found beside the document", None]
    assert looked_up == ["gone.png", "local.png"]


def test_inline_pictures(site):
    buffer = io.BytesIO()
    PillowImage.new("RGB", (70, 70), "red").save(buffer, "PNG")
    address = "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
    assert opened(address, site) == buffer.getvalue()
    with pytest.raises(ImageError, match="broken data"):
        opened("data:image/png;base64,@@@", site)
    site.write_text(f"Text.\n\n![x]({address})")
    assert [(i.source, i.problem) for i in read(site).images] == [("data:image/png;base64,...", None)]


@pytest.mark.parametrize(
    ("address", "file"),
    [
        ("/wiki/img/hero.png", "docs/img/hero.png"),  # the site is served from example.org/wiki/
        ("/wiki/old/img/hero.png", None),  # only the first folder may be that of the site
        ("/hero.png", "docs/.vuepress/public/hero.png"),
        ("/hero.png", "website/static/hero.png"),
        ("@site/static/img/hero.png", "static/img/hero.png"),
        ("@site/docs/hero.png", "docs/hero.png"),
        ("~/assets/hero.png", "src/assets/hero.png"),
        ("@/assets/hero.png", "src/assets/hero.png"),
        ("~@/hero.png", "hero.png"),
        ("@site/../../secret.png", None),
    ],
)
def test_addresses_from_the_folder_of_a_site(tmp_path, picture, address, file):
    picture("secret.png", seed=9)
    page = tmp_path / "site" / "docs" / "guide" / "page.md"
    page.parent.mkdir(parents=True)
    (tmp_path / "site" / ".git").mkdir()
    picture("site/img/hero.png", seed=8)
    if file is None:
        with pytest.raises(ImageError):
            opened(address, page)
        return
    there = picture(f"site/{file}")
    assert opened(address, page) == there


@pytest.mark.parametrize(
    ("address", "module"),
    [("shots/hero.png", "ROOT"), ("image$shots/hero.png", "ROOT"), ("app:shots/hero.png", "app"), ("..:a.png", None)],
)
def test_pictures_of_an_antora_site_lie_beside_its_pages(tmp_path, picture, address, module):
    picture("site/images/a.png", seed=9)
    picture("site/modules/other/images/shots/hero.png", seed=8)
    page = tmp_path / "site" / "modules" / "ROOT" / "pages" / "tour" / "page.adoc"
    page.parent.mkdir(parents=True)
    (tmp_path / "site" / "antora.yml").touch()
    if module is None:
        with pytest.raises(ImageError):
            opened(address, page)
        return
    there = picture(f"site/modules/{module}/images/shots/hero.png")
    found = opened(address, page)
    assert isinstance(found, Path)
    assert found.resolve() == there.resolve()
    with pytest.raises(ImageError, match="outside the folder pages/"):
        opened(address, page, root=page.parent.parent)


def test_remote_pictures_stay_where_they_are(site):
    for address in ("https://pictures.example/a.png", "//pictures.example/a.png", "HTTP://pictures.example/a.png"):
        with pytest.raises(ImageError, match="the option fetch"):
            opened(address, site)


@pytest.mark.parametrize("served", ["static", "assets", "public"])
def test_what_a_site_serves_is_found_without_its_root_being_named(tmp_path, picture, served):
    picture(f"site/{served}/img/a.png")
    picture(f"site/{served}/post/trip/b.png", seed=1)
    picture("site/content/post/bundle/c.png", seed=2)
    picture("site/content/post/bundle/img/a.png", seed=3)
    (tmp_path / "site" / "hugo.toml").touch()
    page = tmp_path / "site" / "content" / "post" / "trip.md"
    assert opened("/img/a.png", page) == tmp_path / "site" / served / "img" / "a.png"
    assert opened("img/a.png", page) == tmp_path / "site" / served / "img" / "a.png"
    assert opened("b.png", page) == tmp_path / "site" / served / "post" / "trip" / "b.png"
    assert opened("/img/a.png", page, root=tmp_path / "site") == tmp_path / "site" / served / "img" / "a.png"
    bundle = tmp_path / "site" / "content" / "post" / "bundle" / "index.md"
    assert opened("c.png", bundle) == bundle.parent / "c.png"
    assert opened("img/a.png", bundle) == bundle.parent / "img" / "a.png"  # its own goes first
    docusaurus = tmp_path / "site" / "docs" / "intro.md"
    assert opened("/img/a.png", docusaurus) == tmp_path / "site" / served / "img" / "a.png"
    with pytest.raises(ImageError, match="beside the document"):
        opened("img/a.png", docusaurus)  # there, as in a browser, it starts from the page
    with pytest.raises(OutsideError):
        opened("img/a.png", page, root=page.parent)  # the folder that was named is not left either
    picture("secret.png")
    (tmp_path / "site" / served / "link.png").symlink_to(tmp_path / "secret.png")
    for address in ("../../../secret.png", "/../secret.png", "/../../../secret.png", "link.png", "/link.png"):
        with pytest.raises(ImageError):
            opened(address, page)
