from __future__ import annotations

import base64
import io
from importlib import import_module
from pathlib import Path

import pytest
from PIL import Image as PillowImage

from iconotext.errors import ImageError, OutsideError
from iconotext.read import ReadSettings, read
from iconotext.read.address import open_address

looking_up = import_module("iconotext.read.address")


@pytest.fixture
def site(tmp_path, picture):
    picture("secret.png", seed=9)
    picture("site/img/a b.png")
    picture("site/docs/local.png", seed=1)
    return tmp_path / "site" / "docs" / "page.md"


def opened(address: str, page: Path, **settings: object) -> Path | bytes:
    chosen = ReadSettings.model_validate(settings)
    return open_address(address, page, chosen.root or page.parent, chosen)


def test_relative_and_site_addresses(site):
    assert opened("local.png?v=3#x", site) == site.parent / "local.png"
    assert opened("./local.png", site) == site.parent / "local.png"
    # the nearest parent folder in which it exists
    assert opened("/img/a%20b.png", site) == site.parent.parent / "img" / "a b.png"
    assert opened("/img//a b.png", site) == site.parent.parent / "img" / "a b.png"
    assert opened("//img/a b.png", site) == site.parent.parent / "img" / "a b.png"
    assert opened("/docs/local.png", site, root=site.parent.parent) == site.parent / "local.png"


@pytest.mark.parametrize(
    "address",
    [
        "../../secret.png",
        "../img/a%20b.png",
        "%2e%2e/img/a%20b.png",
        "..\\img\\a b.png",
        "/../secret.png",
        "/img/../../secret.png",
    ],
)
def test_outside_the_folder_is_refused(site, address):
    with pytest.raises(ImageError):
        opened(address, site)


def test_outside_names_the_way_out(site):
    with pytest.raises(OutsideError, match=r"root=.*allow_outside"):
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


def test_symbolic_links_do_not_lead_out(site, tmp_path):
    (site.parent / "link.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(OutsideError):
        opened("link.png", site)
    (site.parent / "loop.png").symlink_to(site.parent / "loop.png")
    with pytest.raises(ImageError):
        opened("loop.png", site)


@pytest.mark.parametrize(
    "address", ["gone.png", "/gone.png", "a\x00b.png", "x" * 5000, "javascript:alert(1)", "ftp://x.example/a.png", ""]
)
def test_addresses_that_lead_nowhere(site, address):
    with pytest.raises(ImageError):
        opened(address, site)


def test_an_address_longer_than_any_path_is_not_looked_up(site, monkeypatch):
    looked_up: list[Path] = []
    resolve = Path.resolve

    def recording(path: Path, *given: bool) -> Path:
        looked_up.append(path)
        return resolve(path, *given)

    monkeypatch.setattr(Path, "resolve", recording)
    for address in ("a/" * 2_100 + "x.png", "/" + "a/" * 2_100 + "x.png", "//" + "a/" * 2_100 + "x.png"):
        with pytest.raises(ImageError, match=r"an address of 4,20\d characters: more than 4,096 are not looked up"):
            opened(address, site)
    assert looked_up == []


@pytest.mark.slow
def test_a_document_has_only_so_many_addresses_looked_up(site, monkeypatch):
    monkeypatch.setattr(looking_up, "MAX_LOOKED_UP", 4)
    page = site.with_suffix(".html")
    sets = "".join(f"<p>Text.</p><img srcset='{n}a.png 2w, {n}b.png 1w'>" for n in range(4))
    others = "<img src=0a.png><p>Text.</p><img src=local.png><p>Text.</p><img src=https://pictures.example/a.png>"
    page.write_text(f"<html><body>{sets}{others}</body></html>")
    missing, too_many = (
        "not found beside the document",
        "not looked up: the document names more than 4 addresses: split it",
    )
    web = "a picture on the web: fetch=True fetches it"
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


def test_remote_pictures_stay_where_they_are(site):
    for address in ("https://pictures.example/a.png", "//pictures.example/a.png", "HTTP://pictures.example/a.png"):
        with pytest.raises(ImageError, match="fetch=True"):
            opened(address, site)


@pytest.mark.parametrize("served", ["static", "assets", "public"])
def test_what_a_site_serves_is_found_without_its_root_being_named(tmp_path, picture, served):
    picture(f"site/{served}/img/a.png")
    picture(f"site/{served}/post/trip/b.png", seed=1)
    picture("site/content/post/bundle/c.png", seed=2)
    picture("site/content/post/bundle/img/a.png", seed=3)
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


def test_a_site_is_not_left(tmp_path, picture):
    picture("secret.png")
    picture("site/static/img/a.png", seed=1)
    page = tmp_path / "site" / "content" / "trip.md"
    (tmp_path / "site" / "static" / "link.png").symlink_to(tmp_path / "secret.png")
    for address in (
        "../../secret.png",
        "/../secret.png",
        "/../../secret.png",
        "/../../../secret.png",
        "link.png",
        "/link.png",
    ):
        with pytest.raises(ImageError):
            opened(address, page)
    with pytest.raises(OutsideError):
        opened("img/a.png", page, root=page.parent)  # the folder that was named is not left either
