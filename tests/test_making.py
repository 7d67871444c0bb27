"""``python -m fitting`` makes what ships: every file has a step, every step starts, and a record says what it made."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name

import fitting.__main__ as making
import pytest
from fitting import PACKAGE, ROOT
from fitting.__main__ import RECORDS, STEPS, Step, main

from iconotext.errors import CorpusError

MADE = {".safetensors", ".onnx", ".npy", ".json", ".csv"}
OF_OTHERS = {"models/minilm/tokenizer.json"}


def test_every_file_of_weights_and_figures_is_made_by_a_step():
    shipped = {
        path.relative_to(PACKAGE).as_posix()
        for folder in ("models", "decide", "evidence", "networks")
        for path in (PACKAGE / folder).rglob("*")
        if path.suffix in MADE
    }
    assert shipped - OF_OTHERS - {name for step in STEPS for name in step.files} == set()
    assert [name for step in STEPS for name in step.files if not (PACKAGE / name).exists()] == []


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS, ids=[step.name for step in STEPS])
def test_every_step_starts(step):
    assert list(signature(resolve_name(step.function)).parameters) == ["data", "work"]


def test_records_are_of_what_ships_or_say_why_not():
    last = {name: step.name for step in STEPS for name in step.files}  # several write weights into one file
    for path in RECORDS.glob("*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        made = {name: digest for name, digest in record["made"].items() if last.get(name) == record["step"]}
        shipped = {name: hashlib.sha256((PACKAGE / name).read_bytes()).hexdigest() for name in made}
        assert {name for name in made if made[name] != shipped[name]} == made.keys() & record.get("differs", {}).keys()


def refused(data, work):
    raise CorpusError("cited.jsonl: no such file")


def counted(data, work):
    (data / "made.txt").write_text("2")
    return {"words": 2}


def test_a_step_writes_its_record_and_is_listed_with_it(tmp_path, monkeypatch, capsys):
    steps = [Step(name, f"{__name__}:counted", ("made.txt",)) for name in ("first", "second")]
    for name, value in {"STEPS": steps, "PACKAGE": tmp_path, "RECORDS": tmp_path / "records"}.items():
        monkeypatch.setattr(making, name, value)
    main(["second", "--data", str(tmp_path)])
    record = json.loads((tmp_path / "records/second.json").read_text())
    assert record["made"] == {"made.txt": hashlib.sha256(b"2").hexdigest()}
    assert record["figures"] == {"words": 2}
    capsys.readouterr()
    main([])
    first, second = capsys.readouterr().out.splitlines()
    assert "no record yet" in first
    assert record["date"] in second
    main(["all", "--data", str(tmp_path)])
    assert (tmp_path / "records/first.json").exists()
    monkeypatch.setattr(making, "STEPS", [Step("first", f"{__name__}:refused", ())])
    with pytest.raises(SystemExit):
        main(["all"])
    assert capsys.readouterr().err == "first: cited.jsonl: no such file\n"
    with pytest.raises(SystemExit):
        main(["third"])
    assert "third: no such step; there are first" in capsys.readouterr().err


def test_a_reader_that_has_seen_enough_of_the_list_gets_no_traceback():
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as pipe:
        done = subprocess.run([sys.executable, "-m", "fitting"], stdout=pipe, stderr=subprocess.PIPE, cwd=ROOT)
    assert done.stderr == b""


def test_words_are_counted_in_the_sections_of_open_textbooks(tmp_path, monkeypatch):
    evidence = pytest.importorskip("fitting.evidence")
    monkeypatch.setattr(evidence, "EVIDENCE", tmp_path)
    for number, name in enumerate(evidence.FILES):
        path = tmp_path / "documents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [{"id": f"{number}-{n}", "sentences": ["Trams wait."], "images": []} for n in range(3)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert evidence.count_words(tmp_path, Path()) == {"words": 2, "sections": 9}
    assert (tmp_path / "word_counts.txt").read_text().splitlines()[0] == "9"


@pytest.mark.slow
def test_labelled_pairs_are_built_by_the_command_of_the_papers(tmp_path, monkeypatch):
    made = pytest.importorskip("fitting.relation_model")
    monkeypatch.setattr(made, "LABELLED", {"cite": "cite.csv"})
    head = (
        "|Index|q10_resp|q1_resp|q2_resp|q3_resp|q4_resp|q5_resp|q6_resp|q7_resp|q8_resp|q9_resp|qimg|stim_id|stim_txt|"
    )
    rows = [f"{n}|{n}|||True|True|False|True|False|True|True||cake_{n}_0.jpg|{n}_1|Bake cake {n}.|" for n in range(20)]
    table = tmp_path / "coherence" / "cite.csv"
    table.parent.mkdir()
    table.write_text("\n".join([head + "complement", *rows]) + "\n")
    corpus = made.labelled("cite", tmp_path, tmp_path)
    assert len(corpus.read_text().splitlines()) == 20


@pytest.mark.slow
def test_the_graphs_that_ship_are_those_of_the_weights(tmp_path, monkeypatch):
    encoders = pytest.importorskip("fitting.encoders")
    names = ("TEXT", "IMAGES", "GRAPH")
    shipped = [getattr(encoders, name) for name in names]
    for name, path in zip(names, shipped, strict=True):
        made = tmp_path / path.name
        monkeypatch.setattr(encoders, name, made)
        if path.is_dir():
            made.mkdir()
            (made / "weights.safetensors").symlink_to(path / "weights.safetensors")
    encoders.write_graphs(tmp_path, tmp_path)
    files = [file.relative_to(tmp_path) for file in tmp_path.rglob("*.onnx")]
    folders = {path.name: path.parent for path in shipped}
    assert len(files) == 4
    for file in files:
        assert (tmp_path / file).read_bytes() == (folders[file.parts[0]] / file).read_bytes()


def test_translated_captions_say_the_same_in_the_order_of_each_language():
    captions = pytest.importorskip("fitting.translated_captions")
    languages = [path.stem for path in captions.FOLDER.iterdir()]
    for language in languages:
        of_kind = captions.phrases(language)[1]
        assert [len(some) for some in of_kind.values()] == [*captions.KINDS.values()], language
        assert all(text.count("|") == (kind == "V") for kind, some in of_kind.items() for text in some), language
    drawn = [[("S", 18), ("V", 0), ("W", 18)], [("P", 1), ("V", 0)], [("N", 0)]]
    assert {language: captions._written(language, drawn) for language in ("en", "hu")} == {
        "en": ["A boy in a striped t-shirt rides a bicycle on a bridge", "Two women ride bicycles", "Ball"],
        "hu": ["Egy csíkos pólós fiú egy hídon biciklizik", "Két nő biciklizik", "Labda"],
    }
    texts, english = captions.translated_captions({"en", "da", "fi", "fr"}, 50)
    assert len(texts) == 100
    assert english[:50] == english[50:] == captions.translated_captions({"cs"}, 50)[1]
