"""The declaration of a field of a model, written anew where its column changes.

In: the field as it is written, the column that it must be, and what of that must be said. Out: its new text. Invariant:
what the field says besides (Key, descriptions, rules, an alias) stays in it.
"""

from __future__ import annotations

import ast
import keyword
import tokenize
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from io import StringIO
from typing import Literal, TypeAlias

from penstock.api.source_edits.column_types import (
    base_type,
    literal_default,
    marker,
    plain_type,
    text_literal,
    type_markers,
)
from penstock.api.source_edits.module_names import ModuleNames
from penstock.api.source_edits.source_text import CannotEdit, SourceText
from penstock.model.datasource import Column
from penstock.model.json_path import path_of_key

Clause: TypeAlias = Literal["type", "json_path", "default", "codec", "renamed_from"]
CLAUSES: tuple[Clause, ...] = ("type", "json_path", "default", "codec", "renamed_from")
_MARKERS: dict[str, Clause] = {
    "ClickHouseType": "type",
    "ClickHousePrecision": "type",
    "FixedString": "type",
    "AggregateFunction": "type",
    "SimpleAggregateFunction": "type",
    "JsonPath": "json_path",
    "ClickHouseDefault": "default",
    "clickhouse_default": "default",
    "ClickHouseCodec": "codec",
    "RenamedFrom": "renamed_from",
}
"""The markers that say each clause of a column."""
_KEY = "key"
_DIGITS = ("max_digits", "decimal_places")
_ALIASES = ("alias", "validation_alias")
_OPTIONAL = ("Optional", "Union")


def new_field(column: Column, names: ModuleNames, stated: Collection[Clause] = CLAUSES) -> str:
    """The text of a field for a column; of its clauses only these are said. Raises CannotEdit."""
    _check_name(column.name)
    _, is_nullable = plain_type(column.type)
    form = _Form(column.name, base_type(column.type, names), is_nullable)
    value = literal_default(column)
    value = "None" if value is None and is_nullable else value
    writer = _FieldWriter(SourceText("", b""), column, names, frozenset(stated))
    return _joined(form, [*type_markers(column.type, names), *writer.said(value, has_alias=False)], value, names)


def changed_field(
    node: ast.AnnAssign, source: SourceText, column: Column, names: ModuleNames, stated: Collection[Clause]
) -> str:
    """The text of a field that says these clauses anew. Raises CannotEdit."""
    _check_name(column.name)
    if any(each.type == tokenize.COMMENT for each in _tokens(source.segment(node))):
        raise CannotEdit("a comment is within its declaration")
    return _FieldWriter(source, column, names, frozenset(stated)).text(node)


def says_path(node: ast.AnnAssign, source: SourceText) -> bool:
    """Whether a field says where in a row its value is."""
    text = source.segment(node)
    return any(word in text for word in ("JsonPath", *_ALIASES))


@dataclass
class _Form:
    """An annotation in parts."""

    name: str
    base: str = ""
    is_nullable: bool = False
    key: str = ""
    """The word before the brackets of a `Key[…]`."""
    markers: list[ast.expr] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _FieldWriter:
    """Writes one field that is there."""

    source: SourceText
    column: Column
    names: ModuleNames
    stated: frozenset[Clause]

    def text(self, node: ast.AnnAssign) -> str:
        annotation, source = node.annotation, self.source
        is_quoted = isinstance(annotation, ast.Constant) and isinstance(annotation.value, str)
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            source = SourceText(source.path, annotation.value.encode())
            annotation = _expression(source)
        form = _Form(self.column.name)
        _read_annotation(annotation, form, source)
        if "type" in self.stated:
            form.base, form.is_nullable = base_type(self.column.type, self.names), plain_type(self.column.type)[1]
        markers = [text for each in form.markers if (text := self._kept(each, source)) is not None]
        if "type" in self.stated:
            markers = [*type_markers(self.column.type, self.names), *markers]
        value = self._value(node.value, is_nullable=form.is_nullable)
        has_alias = any(_has_alias(each) for each in (*form.markers, node.value))
        markers += self.said(value, has_alias=has_alias)
        if not is_quoted:
            return _joined(form, markers, value, self.names)
        whole = _annotation(form, markers, self.names)
        return f"{form.name}: {text_literal(whole)}{f' = {value}' if value is not None else ''}"

    def _kept(self, written: ast.expr, source: SourceText) -> str | None:
        """A marker that stays; None for one whose clause is said anew."""
        if isinstance(written, ast.Constant) and isinstance(written.value, str):
            return None if written.value != _KEY and "type" in self.stated else source.segment(written)
        if not isinstance(written, ast.Call):
            return source.segment(written)
        name = _last_name(written.func)
        if name == "Field":
            return self._field_call(written, source)
        return None if _MARKERS.get(name) in self.stated else source.segment(written)

    def _field_call(self, call: ast.Call, source: SourceText) -> str | None:
        """A `Field(…)` without what is said anew; its alias is the new key, where the path is one."""
        kept = [] if "default" in self.stated else [source.segment(each) for each in call.args]
        key = _key_of(self.column)
        for each in call.keywords:
            text = source.segment(each.value)
            is_said = (each.arg in _DIGITS and "type" in self.stated) or (
                each.arg == "default" and "default" in self.stated
            )
            if is_said:
                continue
            if each.arg in _ALIASES and "json_path" in self.stated and key is not None:
                text = text_literal(key)
            kept.append(f"{each.arg}={text}" if each.arg else f"**{text}")
        return f"{source.segment(call.func)}({', '.join(kept)})" if kept else None

    def _value(self, value: ast.expr | None, *, is_nullable: bool) -> str | None:
        """What stands behind the `=`."""
        said = literal_default(self.column) if "default" in self.stated else None
        if isinstance(value, ast.Call) and _last_name(value.func) == "Field":
            return self._field_call(value, self.source) or said
        if _is_none(value):
            return said or ("None" if is_nullable else None)
        if value is None or "default" in self.stated:
            return said
        return self.source.segment(value)

    def said(self, value: str | None, *, has_alias: bool) -> Iterator[str]:
        """The markers of the clauses that are said anew."""
        column, names, stated = self.column, self.names, self.stated
        if "json_path" in stated and column.json_path and not (has_alias and _key_of(column)):
            yield marker("JsonPath", column.json_path, names)
        is_value = value is not None and value == literal_default(column)
        if "default" in stated and column.default is not None and not is_value:
            yield marker("ClickHouseDefault", column.default.text, names)
        if "codec" in stated and column.codec is not None:
            yield marker("ClickHouseCodec", column.codec, names)
        if "renamed_from" in stated and column.renamed_from is not None:
            yield marker("RenamedFrom", column.renamed_from, names)


def _expression(source: SourceText) -> ast.expr:
    """The annotation within a text."""
    try:
        (statement,) = source.tree.body
    except (SyntaxError, ValueError):
        raise CannotEdit("its annotation is a text that is no expression") from None
    if not isinstance(statement, ast.Expr):
        raise CannotEdit("its annotation is a text that is no expression")
    return statement.value


def _read_annotation(node: ast.expr, form: _Form, source: SourceText) -> None:
    """Take an annotation apart: markers, Key and NULL around the type in the middle."""
    inner = _inner_annotation(node, form, source)
    if inner is not None:
        _read_annotation(inner, form, source)
    else:
        form.base = source.segment(node)


def _inner_annotation(node: ast.expr, form: _Form, source: SourceText) -> ast.expr | None:
    """What is within one layer of an annotation, whose meaning the form keeps; None for a type itself."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and (_is_none(node.left) or _is_none(node.right)):
        form.is_nullable = True
        return node.left if _is_none(node.right) else node.right
    if not isinstance(node, ast.Subscript):
        return None
    word = _last_name(node.value)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    others = [each for each in parts if not _is_none(each)]
    if word == "Annotated":
        form.markers = [*parts[1:], *form.markers]
        return parts[0]
    if word == "Key" and len(parts) == 1:
        form.key = source.segment(node.value)
        return parts[0]
    if word in _OPTIONAL and len(others) == 1 and (word == "Optional" or len(parts) == 2):
        form.is_nullable = True
        return others[0]
    return None


def _annotation(form: _Form, markers: list[str], names: ModuleNames) -> str:
    text = f"{form.base} | None" if form.is_nullable else form.base
    if markers:
        text = f"{names.name_of('typing', 'Annotated')}[{', '.join([text, *markers])}]"
    return f"{form.key}[{text}]" if form.key else text


def _joined(form: _Form, markers: list[str], value: str | None, names: ModuleNames) -> str:
    return f"{form.name}: {_annotation(form, markers, names)}{f' = {value}' if value is not None else ''}"


def _key_of(column: Column) -> str | None:
    """The key of a path that is one key of the row."""
    path = column.json_path or ""
    key = path.removeprefix("$.")
    return key if path and path_of_key(key) == path else None


def _has_alias(written: ast.expr | None) -> bool:
    if not (isinstance(written, ast.Call) and _last_name(written.func) == "Field"):
        return False
    return any(each.arg in _ALIASES and isinstance(each.value, ast.Constant) for each in written.keywords)


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _check_name(name: str) -> None:
    """Raises CannotEdit for a name that no field of a model can have."""
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise CannotEdit(f"no field of a model can be called `{name}`")


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(StringIO(f"({text}\n)").readline)
