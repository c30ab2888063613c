"""Parses the text of a template: first to text, `{{ expression }}` and `{% statement %}` pieces, then to nodes.

In: the text of a template. Out: `Template`. Invariant: the first fault in the block structure ends the parsing; faults
inside expressions are collected and all reported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Literal, TypeAlias

from penstock.errors import did_you_mean
from penstock.model.quick_dataclass import dataclass
from penstock.template.errors import Fault
from penstock.template.expressions import (
    Expression,
    ExpressionCompiler,
    Target,
    read_expression,
    read_loop,
    read_target,
)
from penstock.template.nodes import (
    Attempt,
    Branch,
    BranchArm,
    Interpolation,
    Jump,
    Loop,
    Template,
    TemplateNode,
    Verbatim,
    array_parameter_types,
)
from penstock.template.statements import read_set_statement

MAX_DEPTH = 30
"""The deepest nesting of blocks."""
MAX_EXPRESSIONS = 5_000
"""The most expressions and statements of one template."""
_FORBIDDEN = (
    "extends",
    "include",
    "import",
    "from",
    "autoescape",
    "raw",
    "module",
    "apply",
    "block",
)
_CAUGHT = re.compile(r"[\w.,\s()]*")
"""What follows `except`: kinds of errors, which make no difference here, and a name for the error."""
_WORDS = (
    "try",
    "except",
    "finally",
    "if",
    "elif",
    "else",
    "for",
    "while",
    "set",
    "end",
    "break",
    "continue",
    "comment",
    "whitespace",
)


def is_template(text: str) -> bool:
    """Whether a text is a template: its first character is `%`."""
    return text.lstrip().startswith("%")


@lru_cache(maxsize=2048)
def read_template(text: str) -> Template:
    """The parsed template of a project, with its faults; cached for the next call."""
    return parse_template(text)


def parse_template(text: str) -> Template:
    """The parsed template of a text that is not expected again, such as the SQL of a request; not cached."""
    return _Parser(text).template()


@dataclass(slots=True)
class _Block:
    """A block that is being read."""

    word: str
    """The keyword that opened it."""
    offset: int
    steps: list[TemplateNode] = field(default_factory=list)
    """The nodes of the branch that is being read."""
    arms: list[BranchArm] = field(default_factory=list)
    """The branches that are complete."""
    test: tuple[Expression, ast.expr] | None = None
    """The condition of the branch that is being read."""
    loop: tuple[Target | None, Expression] | None = None
    passed: list[ast.expr] = field(default_factory=list)
    """The conditions of the branches before."""
    body: tuple[TemplateNode, ...] | None = None
    """The body of a loop whose `else` is being read."""
    parts: dict[str, tuple[TemplateNode, ...]] = field(default_factory=dict)
    """The parts of a `try` that are complete, by keyword."""
    part: str = "try"
    """The part of a `try` that is being read."""
    name: str | None = None
    """The variable of an `except`."""


class _Parser:
    """Builds nodes from pieces."""

    def __init__(self, text: str):
        self._text = text
        self._faults: list[Fault] = []
        self._trees: list[ast.AST] = []
        self._arms: list[BranchArm] = []
        self._made = self._read = 0
        self._blocks = [_Block("", 0)]

    def template(self) -> Template:
        try:
            for piece in split_pieces(self._text, self._text.index("%") + 1):
                self._piece(piece)
            if len(self._blocks) > 1:
                open_block = self._blocks[-1]
                message = f"`{{% {open_block.word} %}}` is not closed"
                raise Fault("template-syntax", message, open_block.offset, "write `{% end %}` at its end")
        except Fault as fault:
            self._faults.append(fault)
        steps = tuple(self._blocks[0].steps)
        trees, arrays = tuple(self._trees), array_parameter_types(self._text, self._trees)
        return Template(self._text, steps, tuple(self._faults), trees, tuple(self._arms), arrays)

    def _piece(self, piece: Piece) -> None:
        if piece.kind == "text":
            self._add(Verbatim(piece.text, piece.offset))
            return
        self._read += 1
        if self._read > MAX_EXPRESSIONS:
            raise Fault("template-limit", f"more than {MAX_EXPRESSIONS:,} expressions and statements", piece.start)
        if piece.kind == "expression":
            found = self._expression(piece.text, piece.offset)
            self._add(Interpolation(found[0], piece.text, piece.start))
            return
        word, _, rest = piece.text.partition(" ")
        handler = _HANDLERS.get(word)
        if handler is None:
            raise self._unknown(word, piece)
        rest_offset = piece.offset + len(piece.text) - len(rest.lstrip())
        handler(self, piece, rest.strip(), rest_offset)

    def _unknown(self, word: str, piece: Piece) -> Fault:
        bare = word.split("(")[0]
        if bare in _FORBIDDEN:
            message = f"`{{% {bare} %}}` is not allowed in a template"
            hint = f"a template has no files and modules, only: {', '.join(_WORDS)}"
            return Fault("template-forbidden", message, piece.start, hint)
        near = "blocks end with `{% end %}`" if bare.startswith("end") else did_you_mean(bare, _WORDS)
        return Fault("template-syntax", f"unknown statement `{bare[:60]}`", piece.start, near)

    def _add(self, step: TemplateNode) -> None:
        self._blocks[-1].steps.append(step)

    def _expression(self, text: str, offset: int) -> tuple[Expression, ast.expr]:
        """The compiled expression. Its faults are collected, and parsing continues."""
        tree: ast.expr = ast.Constant(value=None)
        try:
            tree, source = read_expression(text, offset)
            made = ExpressionCompiler(source).compile(tree)
        except Fault as fault:
            self._faults.append(fault)
            return (lambda frame: None), tree
        self._trees.append(tree)
        return made, tree

    def _open(self, block: _Block) -> None:
        if len(self._blocks) > MAX_DEPTH:
            raise Fault("template-syntax", "blocks are nested too deep", block.offset)
        self._blocks.append(block)

    def if_(self, piece: Piece, rest: str, offset: int) -> None:
        self._needs(rest, piece)
        self._open(_Block("if", piece.start, test=self._expression(rest, offset)))

    def elif_(self, piece: Piece, rest: str, offset: int) -> None:
        block = self._inside(piece, "elif", ("if",))
        self._needs(rest, piece)
        self._end_arm(block)
        block.test = self._expression(rest, offset)

    def else_(self, piece: Piece, rest: str, offset: int) -> None:
        block = self._inside(piece, "else", ("if", "for", "while", "try"))
        if block.word == "try":
            self._next_part(block, "else", piece)
        elif block.word == "if":
            self._end_arm(block)
            block.test = None
        else:
            block.body, block.steps = tuple(block.steps), []

    def try_(self, piece: Piece, rest: str, offset: int) -> None:
        self._open(_Block("try", piece.start))

    def except_(self, piece: Piece, rest: str, offset: int) -> None:
        block = self._inside(piece, "except", ("try",))
        if not _CAUGHT.fullmatch(rest):
            raise Fault("template-syntax", f"`except {rest[:60]}` is not understood", piece.start, "write `except`")
        self._next_part(block, "except", piece)
        kinds = rest.split()
        block.name = kinds[-1] if len(kinds) > 2 and kinds[-2] == "as" and kinds[-1].isidentifier() else None

    def finally_(self, piece: Piece, rest: str, offset: int) -> None:
        self._next_part(self._inside(piece, "finally", ("try",)), "finally", piece)

    def _next_part(self, block: _Block, word: str, piece: Piece) -> None:
        """Begin the next part of a `try`; the parts come in one order, each once."""
        order = ("try", "except", "else", "finally")
        if order.index(word) <= order.index(block.part) or (word == "else" and block.part == "try"):
            raise Fault("template-syntax", f"`{{% {word} %}}` stands in the wrong place", piece.start)
        block.parts[block.part] = tuple(block.steps)
        block.part, block.steps = word, []

    def _inside(self, piece: Piece, word: str, allowed: Sequence[str]) -> _Block:
        block = self._blocks[-1]
        ended = block.body is not None or (block.word == "if" and block.test is None)
        if block.word not in allowed or ended:
            raise Fault("template-syntax", f"`{{% {word} %}}` stands alone", piece.start, "it belongs to an `{% if %}`")
        return block

    def _end_arm(self, block: _Block) -> None:
        conditions = [(each, False) for each in block.passed]
        if block.test is not None:
            conditions.append((block.test[1], True))
            block.passed.append(block.test[1])
        self._made += 1
        test = block.test[0] if block.test is not None else None
        outer = [(each, wanted) for parent in self._blocks[:-1] for each, wanted in _leading_conditions(parent)]
        block.arms.append(BranchArm(self._made, test, (*outer, *conditions), tuple(block.steps)))
        self._arms.append(block.arms[-1])
        block.steps = []

    def for_(self, piece: Piece, rest: str, offset: int) -> None:
        self._needs(rest, piece)
        try:
            tree, source = read_loop(piece.text, piece.offset)
            loop = read_target(tree.target, source), ExpressionCompiler(source).compile(tree.iter)
            self._trees.append(tree)
        except Fault as fault:
            self._faults.append(fault)
            loop = (lambda frame, value: None), (lambda frame: None)
        self._open(_Block("for", piece.start, loop=loop))

    def while_(self, piece: Piece, rest: str, offset: int) -> None:
        self._needs(rest, piece)
        self._open(_Block("while", piece.start, loop=(None, self._expression(rest, offset)[0])))

    def end(self, piece: Piece, rest: str, offset: int) -> None:
        if len(self._blocks) == 1:
            raise Fault("template-syntax", "`{% end %}` without a block", piece.start, "remove it")
        block = self._blocks[-1]
        if block.word == "if":
            self._end_arm(block)
        self._blocks.pop()
        if block.word == "try":
            self._add(_attempt_of(block))
            return
        if block.loop is None:
            self._add(Branch(tuple(block.arms)))
            return
        body, rest_steps = (block.steps, ()) if block.body is None else (block.body, block.steps)
        self._add(Loop(block.loop[0], block.loop[1], tuple(body), tuple(rest_steps), block.offset))

    def set_(self, piece: Piece, rest: str, offset: int) -> None:
        self._needs(rest, piece)
        try:
            change, tree = read_set_statement(rest, offset)
        except Fault as fault:
            self._faults.append(fault)
            return
        self._trees.append(tree)
        self._add(change)

    def jump(self, piece: Piece, rest: str, offset: int) -> None:
        if not any(block.loop is not None and block.body is None for block in self._blocks):
            raise Fault("template-syntax", f"`{{% {piece.text} %}}` outside of a loop", piece.start, "remove it")
        self._add(Jump(piece.text.split()[0]))

    def comment(self, piece: Piece, rest: str, offset: int) -> None:
        """A comment adds no node, nor does `whitespace`, which would only change the spaces between the others."""

    def _needs(self, rest: str, piece: Piece) -> None:
        if not rest:
            raise Fault("template-syntax", f"`{{% {piece.text} %}}` needs an expression", piece.start)


def _attempt_of(block: _Block) -> Attempt:
    parts = {**block.parts, block.part: tuple(block.steps)}
    rest, final = parts.get("else", ()), parts.get("finally", ())
    return Attempt(parts["try"], parts.get("except"), block.name, rest, final)


def _leading_conditions(block: _Block) -> list[tuple[ast.expr, bool]]:
    """The conditions that lead into the branch that is being read."""
    before = [(each, False) for each in block.passed]
    return [*before, (block.test[1], True)] if block.test is not None else before


_HANDLERS = {
    "if": _Parser.if_,
    "elif": _Parser.elif_,
    "else": _Parser.else_,
    "try": _Parser.try_,
    "except": _Parser.except_,
    "finally": _Parser.finally_,
    "for": _Parser.for_,
    "while": _Parser.while_,
    "end": _Parser.end,
    "set": _Parser.set_,
    "break": _Parser.jump,
    "continue": _Parser.jump,
    "comment": _Parser.comment,
    "whitespace": _Parser.comment,
}


PieceKind: TypeAlias = Literal["text", "expression", "statement"]

_CLOSING = {"{{": "}}", "{%": "%}", "{#": "#}"}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the text of a template."""

    kind: PieceKind
    text: str
    offset: int
    """The offset of the piece's own text."""
    start: int
    """The offset of its opening brace."""


def split_pieces(text: str, begin: int) -> Iterator[Piece]:
    """The pieces from an offset on. Raises Fault for braces that are not closed."""
    at = begin
    while True:
        opening = _find_opening(text, at)
        if opening > at:
            yield Piece("text", text[at:opening], at, at)
        if opening == len(text):
            return
        brace = text[opening : opening + 2]
        if text.startswith("!", opening + 2):
            yield Piece("text", brace, opening, opening)
            at = opening + 3
            continue
        end = text.find(_CLOSING[brace], opening + 2)
        if end < 0:
            message = f"`{brace}` is not closed"
            raise Fault("template-syntax", message, opening, f"write `{_CLOSING[brace]}` at its end")
        at = end + 2
        if brace != "{#":
            yield _inner_piece(text, opening, end, "expression" if brace == "{{" else "statement")


def _find_opening(text: str, at: int) -> int:
    """The place where the next braces open. In a run of three or more `{` the last two count."""
    while True:
        at = text.find("{", at)
        if at < 0:
            return len(text)
        after = text[at + 1 : at + 2]
        if after == "{" and text[at + 2 : at + 3] == "{":
            at += 1
            continue
        if after and after in "{%#":
            return at
        at += 1


def _inner_piece(text: str, opening: int, end: int, kind: PieceKind) -> Piece:
    inner = text[opening + 2 : end]
    bare = inner.strip()
    if not bare:
        what = "expression" if kind == "expression" else "statement"
        raise Fault("template-syntax", f"an empty {what}", opening, "write something between the braces")
    return Piece(kind, bare, opening + 2 + inner.index(bare), opening)
