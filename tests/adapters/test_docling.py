"""Documents of the real docling-core: read, linked, written back, loaded again."""

from __future__ import annotations

import importlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image as Pillow
from pydantic import AnyUrl, BaseModel

from iconotext.errors import DocumentError, MissingPackageError
from iconotext.linked import LinkedDocument
from iconotext.linker import Linker
from iconotext.types import Link
from tests.support.linked import photograph

pytest.importorskip("docling_core", reason="docling-core is not installed")

from docling_core.types.doc import (
    BoundingBox,
    CoordOrigin,
    DocItemLabel,
    DoclingDocument,
    ImageRef,
    ImageRefMode,
    ProvenanceItem,
    RefItem,
    Size,
    TableCell,
    TableData,
)

from iconotext.adapters.docling import DescribeInContext, add_links, document

ADAPTERS = (Path(__file__).parents[2] / "docs/adapters.md").read_text(encoding="utf-8")


def image(seed: int, size: tuple[int, int] = (96, 80)) -> ImageRef:
    return ImageRef.from_pil(Pillow.open(io.BytesIO(photograph(seed, size))), dpi=72)


def on_page(left: float, top: float, right: float, bottom: float, origin=CoordOrigin.TOPLEFT) -> ProvenanceItem:
    return ProvenanceItem(
        page_no=1, bbox=BoundingBox(l=left, t=top, r=right, b=bottom, coord_origin=origin), charspan=(0, 0)
    )


@pytest.fixture
def given() -> DoclingDocument:
    made = DoclingDocument(name="depot")
    made.add_page(1, Size(width=400, height=800))
    made.add_title("The depot")
    made.add_heading("Mornings", level=1)
    made.add_text(DocItemLabel.TEXT, "A red tram waits at the stop. The driver drinks coffee.")
    caption = made.add_text(DocItemLabel.CAPTION, "Figure 1: A red tram.")
    made.add_picture(image=image(1), caption=caption, prov=on_page(100, 600, 300, 200, CoordOrigin.BOTTOMLEFT))
    items = made.add_list_group()
    made.add_list_item("Milk", parent=items)
    line = made.add_inline_group()
    made.add_text(DocItemLabel.TEXT, "At night the depot", parent=line)
    made.add_text(DocItemLabel.TEXT, "belongs to the cat.", parent=line)
    made.add_picture(image=image(2))
    made.add_text(DocItemLabel.TEXT, "Figure 2: The cat.")  # docling took it for running text
    cell = TableCell(
        text="17 trams", start_row_offset_idx=0, end_row_offset_idx=1, start_col_offset_idx=0, end_col_offset_idx=1
    )
    words = made.add_text(DocItemLabel.CAPTION, "Table 1: How many.")
    made.add_table(TableData(table_cells=[cell], num_rows=1, num_cols=1), caption=words)
    made.add_code("print('no sentence')")
    made.add_picture()
    return made


def links_of(made, *pairs) -> LinkedDocument:
    links = [Link(s, i, c, c, (1 + c) / 2, {}, relations={"Visible": 0.75}) for s, i, c in pairs]
    return LinkedDocument(made, tuple(links), np.zeros((len(made.sentences), len(made.images)), np.float32), "default")


def test_what_is_read(given, tmp_path):
    made = document(given, tmp_path / "depot.json")
    assert (made.id, made.title, made.language) == ("depot", "The depot", "en")
    assert [(s.text, s.kind, s.level) for s in made.sentences] == [
        ("The depot", "heading", 1),
        ("Mornings", "heading", 2),
        ("A red tram waits at the stop.", "paragraph", None),
        ("The driver drinks coffee.", "paragraph", None),
        ("Milk", "item", None),
        ("At night the depot belongs to the cat.", "paragraph", None),
        ("Table 1: How many.", "paragraph", None),
        ("17 trams", "cell", None),
    ]
    tram, cat, nothing = made.images
    assert (tram.caption, tram.position, tram.page) == ("Figure 1: A red tram.", 4, 1)
    assert tram.box == (0.25, 0.25, 0.75, 0.75)
    assert (cat.caption, cat.position, cat.problem) == ("Figure 2: The cat.", 6, None)
    assert nothing.problem == "the document names no image for it, and no image of its page"
    assert all(not s.targets for s in made.sentences)
    assert made.meta["docling"]["sentences"][5] == ["#/texts/5", "#/texts/6"]


def test_a_round_trip_through_docling(given, tmp_path):
    given.save_as_json(tmp_path / "depot.json")
    loaded = DoclingDocument.load_from_json(tmp_path / "depot.json")
    tram = loaded.pictures[0]
    tram.references = [RefItem(cref="#/texts/0")]
    made = document(loaded, tmp_path / "depot.json")
    add_links(loaded, links_of(made, (2, 0, 0.9), (3, 0, 0.4), (5, 1, 0.8), (6, 1, 0.1)))
    loaded.save_as_json(tmp_path / "linked.json")
    again = DoclingDocument.load_from_json(tmp_path / "linked.json")
    tram, cat, nothing = again.pictures
    assert [ref.cref for ref in tram.references] == ["#/texts/0", "#/texts/2"]  # two sentences of one text
    assert [ref.resolve(again).text for ref in cat.references][:2] == ["At night the depot", "belongs to the cat."]
    assert tram.caption_text(again) == "Figure 1: A red tram."
    assert cat.caption_text(again) == "Figure 2: The cat."
    assert cat.captions[0].resolve(again).label == DocItemLabel.CAPTION
    assert tram.meta.get_custom_part()["iconotext__links"] == [
        {
            "text": "A red tram waits at the stop.",
            "refs": ["#/texts/2"],
            "confidence": 0.9,
            "paragraph_confidence": 0.95,
            "relations": {"Visible": 0.75},
        },
        {
            "text": "The driver drinks coffee.",
            "refs": ["#/texts/2"],
            "confidence": 0.4,
            "paragraph_confidence": 0.7,
            "relations": {"Visible": 0.75},
        },
    ]
    assert (nothing.references, nothing.meta) == ([], None)
    assert len(again.texts) == len(given.texts)
    made = document(again, tmp_path / "linked.json")  # once more: what was written before is replaced
    add_links(again, links_of(made, (3, 1, 0.8)))
    assert [ref.cref for ref in again.pictures[0].references] == ["#/texts/0"]
    assert [ref.cref for ref in again.pictures[1].references] == ["#/texts/2"]
    assert DoclingDocument.model_validate(again.model_dump(mode="json", by_alias=True)) == again


def test_pictures_beside_the_file_and_on_their_page(given, tmp_path):
    given.pages[1].image = image(3, (400, 800))
    given.pictures[2].prov = [on_page(0, 0, 200, 200)]
    folder = tmp_path / "out"
    folder.mkdir()
    given.save_as_json(folder / "depot.json", image_mode=ImageRefMode.REFERENCED)
    loaded = DoclingDocument.load_from_json(folder / "depot.json")
    loaded.pictures[2].image = None  # docling's own cut
    made = document(loaded, folder / "depot.json")
    assert isinstance(made.images[0].file, Path)
    assert [each.problem for each in made.images] == [None, None, None]
    cut = Pillow.open(io.BytesIO(made.images[2].file))
    assert cut.size == (200, 200)
    (folder.parent / "secret.png").write_bytes(photograph(4))
    for uri in (folder.parent / "secret.png", Path("../secret.png"), AnyUrl(f"file://{folder.parent}/secret.png")):
        loaded.pictures[0].image.uri = uri
        assert document(loaded, folder / "depot.json").images[0].problem.startswith("outside the folder out/")


@pytest.mark.slow
def test_hostile_references(given, tmp_path):
    given.body.children.append(RefItem(cref="#/texts/99"))
    with pytest.raises(DocumentError, match=r"depot\.json: its references lead nowhere"):
        document(given, tmp_path / "depot.json")
    given.body.children[-1] = RefItem(cref="#/body")
    with pytest.raises(DocumentError, match="in a circle"):
        document(given, tmp_path / "depot.json")
    given.body.children.pop()
    other = links_of(document(given, tmp_path / "depot.json"))
    with pytest.raises(DocumentError, match="not made of this document"):
        add_links(DoclingDocument(name="another"), other)


def test_the_model_that_describes_pictures_is_told_what_the_text_says_about_each(given):
    asked, linked = [], []

    class Options(BaseModel):
        prompt: str = "What does it show?"

    class Step:
        elements_batch_size, options = 2, Options()

        def is_processable(self, doc, element):
            return True

        def prepare_element(self, conv_res, element):
            return SimpleNamespace(item=element)

        def __call__(self, doc, element_batch):
            for element in element_batch:
                asked.append(self.options.prompt)
                yield element.item

    class FixedLinks:
        def link(self, made):
            linked.append(links_of(made, (3, 0, 0.9), (5, 1, 0.9)))
            linked[-1].similarity[[3, 5], [0, 1]] = 0.9
            return linked[-1]

    docling_step = Step()
    step = DescribeInContext(docling_step, FixedLinks())
    elements = [step.prepare_element(None, picture) for picture in given.pictures]
    assert step.elements_batch_size == 2
    described = [item for batch in (elements[:2], elements[2:]) for item in step(given, batch)]
    assert described == given.pictures
    about = [json.loads(prompt.removeprefix("What does it show?\n\nContext of the picture: ")) for prompt in asked]
    assert [each.get("caption") for each in about] == ["Figure 1: A red tram.", "Figure 2: The cat.", None]
    assert [each["text about the picture"] for each in about[:2]] == [
        "The driver drinks coffee.",
        "At night the depot belongs to the cat.",
    ]
    assert docling_step.options.prompt == "What does it show?"
    assert len(linked) == 1  # once for both batches
    list(step(given.model_copy(deep=True), elements[:1]))
    assert len(linked) == 2  # another document


@pytest.mark.slow
def test_with_the_default_model(given, tmp_path):
    linked = Linker.load().link(document(given, tmp_path / "depot.json"))
    add_links(given, linked)
    assert given.pictures[0].references[0].resolve(given).text.startswith("A red tram waits")


@pytest.mark.slow
def test_the_lines_of_the_guide_run(given, tmp_path):
    pytest.importorskip("tree_sitter", reason="docling-core[chunking] is not installed")
    given.save_as_json(tmp_path / "paper.json", image_mode=ImageRefMode.EMBEDDED)
    blocks = [block for block in re.findall(r"^```python\n(.*?)^```$", ADAPTERS, re.M | re.S) if "docling" in block]
    blocks = [block for block in blocks if "from docling." not in block]  # docling itself is not at hand
    done = subprocess.run([sys.executable, "-c", "".join(blocks)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert DoclingDocument.load_from_json(tmp_path / "linked.json").pictures[0].references
    assert "#/pictures/0" in done.stdout


def test_chunks_keep_their_pictures(given):
    pytest.importorskip("tree_sitter", reason="docling-core[chunking] is not installed")
    from iconotext.adapters.docling_chunks import PictureChunker, pictures_of

    chunks = list(PictureChunker(words=12).chunk(given))
    placed = [picture.self_ref for chunk in chunks for picture in pictures_of(chunk)]
    assert sorted(set(placed)) == [picture.self_ref for picture in given.pictures]
    for chunk in chunks:
        assert chunk.text
        assert [each["ref"] for each in chunk.meta.pictures] == [each.self_ref for each in pictures_of(chunk)]
    assert "confidence" not in PictureChunker().contextualize(chunks[0])
    tram = next(chunk for chunk in chunks if "red tram waits" in chunk.text)
    assert "#/pictures/0" in [each["ref"] for each in tram.meta.pictures if each["paragraph_confidence"]]


def test_the_chunker_holds_a_limit_in_tokens(given):
    pytest.importorskip("tree_sitter", reason="docling-core[chunking] is not installed")
    from iconotext.adapters.docling_chunks import PictureChunker, pictures_of
    from iconotext.report.length import tokens_ruler

    found = list(PictureChunker(tokens=14, once=True).chunk(given))
    assert max(tokens_ruler(14, "minilm").lengths([chunk.text for chunk in found])) <= 14
    placed = [picture.self_ref for chunk in found for picture in pictures_of(chunk)]
    assert sorted(placed) == sorted({picture.self_ref for picture in given.pictures})


def test_the_chunker_says_what_it_needs():
    if importlib.util.find_spec("tree_sitter") is not None:
        pytest.skip("docling-core[chunking] is installed")
    with pytest.raises(MissingPackageError, match=r'pip install "docling-core\[chunking\]"'):
        importlib.import_module("iconotext.adapters.docling_chunks")
