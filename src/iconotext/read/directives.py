r"""The additions of MyST, Quarto, bookdown and d2lbook to Markdown: directives, roles, divs, labels, references.

Each is recognised by its syntax: ``{figure}`` after a fence, ``{numref}`` before code, ``::: {#fig-a}``, ``@fig-a``,
``\@ref(fig:a)``, ``(label)=``, ``:label:`` before code. Text without any of these is parsed as plain Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from iconotext.read.code_cells import Cell, cell_figure, parse_cell, yaml_options
from iconotext.read.cross_references import TITLED, anchors, figure, made_by_code, numref_text, picture, reference
from iconotext.read.formulas import FORMULA as FORMULA_SYNTAX
from iconotext.read.formulas import readable, shown

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.ruler import RuleOptionsType
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

HEAD = re.compile(r"\{([^{}\n]++)\}[ \t]*+(.*)", re.DOTALL)
"""The text after a fence: a name in braces, and the argument."""
LABELLED = re.compile(r"[\w-]{1,50}+\[([^\[\]]{0,300}+)\]")
"""The name and title of a frame: ``note[Take care]``."""
COLONS = re.compile(r"(:{3,})[ \t]*+(.*?)[ \t]*+:*")
OPTION_LINE = re.compile(r":([\w.-]+):(?:[ \t]+(.*))?")
ATTRIBUTE = re.compile(r"""(?<![\w-])([\w-]{1,50}+)=(?:"([^"]*+)(?:"|\Z)|'([^']*+)(?:'|\Z)|([^\s"'}]++))""")
IDENTIFIER = re.compile(r"#([\w:.-]++)")
TARGET_LINE = re.compile(r"\(([^()\n]{1,200})\)=[ \t]*+")
ROLE = re.compile(r"\{(?:std:)?([a-zA-Z][\w:+.-]{0,60})\}(`{1,3})(?!`)([^`]{1,2000})\2(?!`)")
FIGURE_KEY = re.compile(r"@(?i:fig|tbl|tab)[-:]\w[\w.:/-]*(?<![.:/-])")
FIGURE_REFERENCE = re.compile(rf"(?<![@\\/])(?<![^\W_])-?{FIGURE_KEY.pattern}")  # but no part of an address or a word
BOOKDOWN = re.compile(r"\\@ref\((?:fig|tab):[^()\n]{1,200}\)")
FORMULA = re.compile(FORMULA_SYNTAX)
EMPTY_LINK = re.compile(r"\[\]\((?:#[^()\s]{1,200}|[\w:-]{1,200})\)")

COLON_ROLE = re.compile(
    r":(label|eqlabel|width|height|numref|ref|eqref|cite|citet|citep|bibliography):`([^`\n]{1,500})`"
    r"|:begin_tab:(?:`[^`\n]{0,200}`|[a-z]{1,20})|:end_tab:"
)
"""Markup of d2lbook; ``:label:`` stands behind the labelled element."""

INLINE_R = re.compile(r"r[ \t#]|\{(?:r|python|julia)\}")  # code in a sentence, which its result replaces

REFERENCE = "|".join(
    (
        r"\{[a-zA-Z][\w:+.-]{0,60}\}`[^`]{1,2000}`",
        COLON_ROLE.pattern,
        "-?" + FIGURE_KEY.pattern,
        BOOKDOWN.pattern,
        EMPTY_LINK.pattern,
    )
)
"""References in the source, for the search for the positions of sentences."""

NO_TEXT = frozenset(
    "code code-block sourcecode math toctree tableofcontents literalinclude bibliography eval-rst raw index glue "
    "glue:math glue:text mermaid-code exercise-end solution-end video iframe youtube latex embed contents list-of "
    "autosummary automodule autoclass autofunction tikz-code".split()
)
"""Directives without prose; their content is left out."""
DRAWN = frozenset("mermaid graphviz plantuml uml plot altair-plot tikz".split())
"""Directives that become a picture when the document is rendered."""
FRAME = ":::"  # the name that a ``:::`` block gets if it is no directive
MAX_DEPTH = 30  # maximum depth of directives within directives


def directives_plugin(parser: MarkdownIt) -> None:
    """Add the rules of this module to a Markdown parser."""
    starts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("fence", "framed", _framed, starts)
    parser.block.ruler.before("fence", "target", _target, starts)
    for before, name, first, pattern, html in INLINE_RULES:
        parser.inline.ruler.before(before, name, _inline_rule(first, pattern, html))
    parser.inline.ruler.before("escape", "formula", _formula)
    rules: dict[str, Any] = parser.renderer.rules  # type: ignore[attr-defined]  # every renderer but the protocol has it
    plain_code, plain_fence = rules["code_inline"], rules["fence"]

    def fence(tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        head = HEAD.match(tokens[index].info.strip())
        if not head:
            return str(plain_fence(tokens, index, options, env))
        return directive(parser, head[1].strip(), head[2].strip(), tokens[index].content, env)

    def code(tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        if INLINE_R.match(tokens[index].content) and env.get("knitr"):  # it is run if the document has cells of R
            return ""
        return str(plain_code(tokens, index, options, env))

    rules["code_inline"] = code
    rules["fence"] = fence
    rules["ready"] = lambda tokens, index, _options, _env: tokens[index].content
    rules["framed"] = lambda tokens, index, _options, env: _frame(parser, tokens[index], env)


def directive(parser: MarkdownIt, name: str, argument: str, body: str, env: Any) -> str:
    """Return the HTML of what stands after a fence: a directive, a cell of code, or a listing of pandoc."""
    depth = env.get("depth", 0)
    if depth >= MAX_DEPTH:
        return ""
    # Line numbers in its body are not those of the file, so that no picture in it gets a place in the file.
    env = {key: value for key, value in env.items() if key != "original"} | {"depth": depth + 1}

    def inline(text: str) -> str:
        return str(parser.renderInline(env.get("captions", {}).get(text.strip(), text), env))

    def blocks(text: str) -> str:
        return str(parser.render(text, env))

    cell = _cell(name, body)
    if cell is not None:
        return cell_figure(cell, env.get("stem", ""), inline)
    if name == FRAME:
        return blocks(body)
    if name.startswith((".", "#", "=")):  # a listing of pandoc: {.python}, {=html}
        return f"\n{body}\n" if name == "=html" else ""  # HTML as such; a listing has no text
    return "" if name in NO_TEXT else _directive_html(name, argument, body, inline, blocks)


def _cell(name: str, body: str) -> Cell | None:
    """Return the cell of code that a fenced block is; None if it is none."""
    cell = parse_cell(name, body)
    if cell is None or name.split()[0] != "code-cell":
        return cell
    # In MyST, the options of a cell are written like those of a directive.
    options, code = split_options(body)
    label = options.get("label") or options.get("name") or ""
    captioned = {"fig-cap": options["caption"]} if "caption" in options else {}
    return Cell(label=label, name=label, options=captioned, code=code)


def _directive_html(
    name: str, argument: str, body: str, inline: Callable[[str], str], blocks: Callable[[str], str]
) -> str:
    """Return the HTML of a directive; ``inline`` converts Markdown within a paragraph, ``blocks`` whole paragraphs."""
    options, text = split_options(body)
    label, alt = options.get("name") or options.get("label") or "", options.get("alt")
    if name == "glue:figure":  # the argument is the name under which code of the notebook keeps the picture
        caption = " ".join(text.split("\n\n", 1)[0].split())
        return figure([made_by_code(argument, alt)], inline(caption), names=[label])
    if name in DRAWN:
        image = made_by_code(label or argument or name, alt)
        return figure([image], inline(options.get("caption", "")), names=[label])
    if name in ("figure", "image") and argument:
        caption, _, rest = text.strip().partition("\n\n") if name == "figure" else ("", "", "")
        return figure([picture(argument, alt or None)], inline(caption), names=[label]) + blocks(rest)
    if name in ("figure", "image"):  # with its pictures, and at last their caption, in its text
        return f'<figure id="{escape(label)}" data-caption="last">{blocks(text)}</figure>'
    if name == "figure-md":
        images, _, caption = text.strip().partition("\n\n")
        return figure([inline(images)], inline(caption), names=[label or argument])
    if name in ("list-table", "table", "csv-table"):
        rows = "" if name == "csv-table" else text  # the rows of csv-table are no Markdown
        return f'<div id="{escape(label)}"><p>{inline(argument)}</p></div>' + blocks(rows)
    title = f"<p>{inline(argument)}</p>" if argument else ""
    return f"<div>{title}{blocks(text)}</div>"


def split_options(body: str) -> tuple[dict[str, str], str]:
    """Return the options of a directive (``:name: value`` lines, or YAML between ``---``), and the text after them."""
    lines = body.split("\n")
    options: dict[str, str] = {}
    if lines and lines[0].strip() == "---" and "---" in (rest := [line.strip() for line in lines[1:]]):
        end = rest.index("---") + 1
        values = yaml_options("\n".join(lines[1:end]))
        return {name: value for name, value in values.items() if isinstance(value, str)}, "\n".join(lines[end + 1 :])
    at = 0
    while at < len(lines) and (option := OPTION_LINE.fullmatch(lines[at].rstrip())):
        options[option[1]] = (option[2] or "").strip().strip('"')
        at += 1
    return options, "\n".join(lines[at:])


def _framed(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read ``::: name`` up to its ``:::``; frames may stand within frames, with as many colons or with fewer."""
    opening = None if state.is_code_block(first) else COLONS.fullmatch(_line(state, first))
    if opening is None or not opening[2]:
        return False
    if silent:
        return True
    depth, at, fence = 1, first, ""
    while depth and (at := at + 1) < last:
        line = _line(state, at).strip()
        if fence:  # a block of code, in which colons are no frames
            fence = "" if line.startswith(fence) and not line.strip(fence[0]) else fence
        elif line.startswith(("```", "~~~")):
            fence = line[:3]
        elif colons := COLONS.fullmatch(line):
            depth += 1 if colons[2] else -1
    token = state.push("framed", "div", 0)
    token.info = opening[2]
    token.content = state.getLines(first + 1, at, state.blkIndent, False)
    token.map = [first, at]
    state.line = min(at + 1, last)
    return True


def _frame(parser: MarkdownIt, token: Token, env: Any) -> str:
    head = HEAD.fullmatch(token.info)
    # ``{.class #name key=value}`` are attributes, anything else in braces is a directive.
    if head and head[1][:1] not in ".#" and "=" not in head[1]:
        return directive(parser, head[1].strip(), head[2].strip(), token.content, env)
    attributes = head[1] if head else ""
    names = IDENTIFIER.findall(attributes)
    values = {name: a or b or c for name, a, b, c in ATTRIBUTE.findall(attributes)}
    labelled = LABELLED.match(token.info)  # Docusaurus, Starlight
    title = labelled[1] if labelled else "" if head else " ".join(token.info.split()[1:])
    title = values.get("title") or values.get("caption") or title
    before = f"<p>{escape(title)}</p>" if title else ""
    inner = directive(parser, FRAME, "", token.content, env)
    if names and names[0].lower().startswith(("fig-", "fig:")):
        return f'<figure id="{escape(names[0])}" data-caption="last">{before}{inner}</figure>'
    return f"<div>{before}{inner}</div>"


def _target(state: StateBlock, first: int, _last: int, silent: bool) -> bool:
    """Read ``(label)=``, which names the element after it."""
    match = TARGET_LINE.fullmatch(_line(state, first)) if state.sCount[first] - state.blkIndent < 4 else None
    if not match:
        return False
    if not silent:
        token = state.push("ready", "span", 0)
        token.content = anchors([match[1].strip()])
        state.line = first + 1
    return True


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _inline_rule(
    first: str, pattern: re.Pattern[str], html: Callable[[re.Match[str]], str]
) -> Callable[[StateInline, bool], bool]:
    """Return a rule for text that begins with one of the characters ``first`` and matches a pattern."""

    def rule(state: StateInline, silent: bool) -> bool:
        match = pattern.match(state.src, state.pos) if state.src[state.pos] in first else None
        if match is None:
            return False
        if not silent:
            state.push("ready", "", 0).content = html(match)  # HTML that is shown as it is
        state.pos = match.end()
        return True

    return rule


def _formula(state: StateInline, silent: bool) -> bool:
    """Read a formula, as text, so that alternative texts have it, too."""
    match = FORMULA.match(state.src, state.pos) if state.src[state.pos] in "$\\" else None
    formula = shown(match[0]) if match else None
    if match is None or formula is None:
        return False
    if not silent:
        state.push("text", "", 0).content = formula
    state.pos = match.end()
    return True


def _colon_role(match: re.Match[str]) -> str:
    label = match[2]
    match match[1]:
        case "label":
            return f'<span id="{escape(label)}" data-label=""></span>'
        case "numref" | "ref":
            kind = label.partition("_")[0].partition("-")[0]
            link_text = {"fig": "Fig. %s", "tab": "Table %s"}.get(kind, "")
            return reference(label, link_text, label, match[0])
    return ""


def role_html(name: str, text: str, raw: str) -> str:
    """Return the HTML of a role."""
    titled = TITLED.fullmatch(text)
    title, label = (titled[1], titled[2].strip()) if titled else ("", text)
    if name == "numref":
        return reference(label.lstrip("#"), numref_text(title), label, raw)
    if name in ("ref", "any"):
        return reference(label.lstrip("#"), title, title or label, raw)
    if name == "math":
        return escape(readable(text) or f"${text}$")
    if name in ("eq", "cite", "cite:p", "cite:t", "footcite", "index"):
        return ""
    return escape(title or label)


def _figure_key(match: re.Match[str]) -> str:
    """Read ``@fig-a``, which shows "Figure 1", or ``-@fig-a``, which shows its number alone."""
    bare, _, name = match[0].partition("@")
    word = "Figure" if name[:3].lower() == "fig" else "Table"
    return reference(name[0].lower() + name[1:], "%s" if bare else f"{word} %s", name, match[0])


def _bookdown(match: re.Match[str]) -> str:
    r"""Read ``\@ref(fig:a)``. bookdown puts ``fig:`` before every label; ``Cell.name`` does not before ``fig-``."""
    name = match[0].removeprefix("\\@ref(").removesuffix(")")
    return reference(name.replace("fig:fig-", "fig-", 1), "%s", name, match[0])


def _empty_link(match: re.Match[str]) -> str:
    """Read ``[](#label)`` or ``[](label)`` of MyST, which shows the number or the heading of the labelled element."""
    label = match[0].removeprefix("[](").removeprefix("#").removesuffix(")")
    return reference(label, "", label, match[0])


INLINE_RULES: tuple[tuple[str, str, str, re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    ("escape", "bookdown", "\\", BOOKDOWN, _bookdown),
    ("backticks", "role", "{", ROLE, lambda match: role_html(match[1].lower(), match[3].strip(), match[0])),
    ("backticks", "colon_role", ":", COLON_ROLE, _colon_role),
    ("link", "figure_key", "@-", FIGURE_REFERENCE, _figure_key),
    ("link", "empty_link", "[", EMPTY_LINK, _empty_link),
)
"""For each rule: the one that it goes before, its name, the first characters, the syntax, and the HTML for it."""
