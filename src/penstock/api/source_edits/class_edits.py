"""Edits of the fields of a class.

In: a class in a file, and fields to change, add or remove. Out: edits of the file's text. Invariant: what is not one of
these fields keeps its text, comments in other lines too.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from penstock.api.source_edits.source_text import CannotEdit, Edit, SourceText


def class_at(source: SourceText, line: int) -> ast.ClassDef | None:
    """The class whose definition is in a line."""
    return next((each for each in _classes(source) if each.lineno == line), None)


def field_at(source: SourceText, line: int, column: int) -> tuple[ast.ClassDef, ast.AnnAssign] | None:
    """The field at a line and column, both from 1, and its class."""
    for owner in _classes(source):
        for each in owner.body:
            if isinstance(each, ast.AnnAssign) and (each.lineno, each.col_offset + 1) == (line, column):
                return owner, each
    return None


def field_called(owner: ast.ClassDef, name: str) -> ast.AnnAssign | None:
    """The field of this name that the class itself declares."""
    fields = (each for each in owner.body if isinstance(each, ast.AnnAssign))
    return next((each for each in fields if isinstance(each.target, ast.Name) and each.target.id == name), None)


def added_fields(source: SourceText, owner: ast.ClassDef, texts: Sequence[str], gone: Collection[ast.stmt]) -> Edit:
    """The edit that adds fields behind the last one that stays. Raises CannotEdit if nothing of the class stays."""
    kept = [each for each in owner.body if each not in gone]
    fields: list[ast.stmt] = [each for each in kept if isinstance(each, ast.AnnAssign)]
    if not kept:
        raise CannotEdit(f"nothing of the class {owner.name} stays behind which a field could stand")
    return added_behind(source, owner, fields[-1] if fields else kept[-1], texts, gone)


def added_behind(
    source: SourceText, owner: ast.ClassDef, last: ast.stmt, texts: Sequence[str], gone: Collection[ast.stmt] = ()
) -> Edit:
    """The edit that adds statements behind one of a class, and behind the text that describes it."""
    following = _following(owner, last)
    if following is not None and _is_text(following) and following not in gone:
        last, following = following, _following(owner, following)
    place = source.end(last)
    is_inline = last.lineno == owner.lineno or (following is not None and following.lineno == last.end_lineno)
    if is_inline:
        return Edit(place, place, "".join(f"; {each}" for each in texts))
    place = source.line_end(place)
    indent = _indent(source, owner)
    return Edit(place, place, "".join(f"{source.newline}{indent}{each}" for each in texts))


def removed_fields(source: SourceText, owner: ast.ClassDef, fields: Collection[ast.AnnAssign]) -> Iterator[Edit]:
    """The edits that remove fields, each with the text that describes it."""
    gone: list[ast.stmt] = []
    for field in fields:
        following = _following(owner, field)
        gone += [field, *([following] if following is not None and _is_text(following) else [])]
    is_empty = all(each in gone for each in owner.body)
    for each in gone:
        edit = _removal(source, owner, each)
        if is_empty and each is gone[0]:
            yield Edit(source.start(each), source.end(each), "pass")
        else:
            yield edit


def _removal(source: SourceText, owner: ast.ClassDef, statement: ast.stmt) -> Edit:
    at = owner.body.index(statement)
    before = owner.body[at - 1] if at else None
    following = _following(owner, statement)
    if following is not None and following.lineno == statement.end_lineno:
        return Edit(source.start(statement), source.start(following), "")
    if before is not None and before.end_lineno == statement.lineno:
        return Edit(source.end(before), source.end(statement), "")
    return Edit(source.line_start(source.start(statement)), source.next_line(source.end(statement)), "")


def _classes(source: SourceText) -> Iterator[ast.ClassDef]:
    return (each for each in ast.walk(source.tree) if isinstance(each, ast.ClassDef))


def _following(owner: ast.ClassDef, statement: ast.stmt) -> ast.stmt | None:
    at = owner.body.index(statement) + 1
    return owner.body[at] if at < len(owner.body) else None


def _is_text(statement: ast.stmt) -> bool:
    """Whether it is a text that describes the field before it."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _indent(source: SourceText, owner: ast.ClassDef) -> str:
    start = source.start(owner.body[0])
    return source.text[source.line_start(start) : start]
