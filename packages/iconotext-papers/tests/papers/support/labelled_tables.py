"""Tables of CITE and Clue with the quirks of the published ones."""

from __future__ import annotations

CITE_HEAD = "|Index|q10_resp|q1_resp|q2_resp|q3_resp|q4_resp|q5_resp|q6_resp|q7_resp|q8_resp|q9_resp|qimg|stim_id|stim_txt|complement"


CLUE_HEAD = "caption\turl\tVisible\tSubjective\tAction\tStory\tMeta\tIrrelevant\tOther\tWhen\tWhere\tHow\tComment"


def cite_row(
    number, *, answers=("True",) * 7, image="cake_1_0.jpg", name=None, text="Bake the cake.", q9="", q10="", **more
):
    name = f"{number}_1" if name is None else name
    return "|".join(
        [str(number), "7", q10, more.get("q1", "the cake"), *answers, q9, image, name, text, more.get("complement", "")]
    )


def clue_row(caption, url, labels="100000", other="0000", comment=""):
    return "\t".join([caption, url, *labels, *other, comment])


def table(tmp_path, name, *lines):
    path = tmp_path / name
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines) + b"\n")
    return path


def cite(tmp_path, *lines, name="cite.csv"):
    return table(tmp_path, name, CITE_HEAD, *lines)


def clue(tmp_path, *lines, name="clue.tsv"):
    return table(tmp_path, name, CLUE_HEAD, *lines)
