"""Members that an Enum of Python gets for new labels of a column.

In: a field, and the type of its column before and after. Out: the class, and its new members as Python writes them.
Invariant: only a class whose members are the labels of this one field is changed; any other field gets a type of its
own.
"""

from __future__ import annotations

import ast
import keyword
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from penstock.api.source_edits.column_types import plain_type, text_literal
from penstock.api.source_edits.source_text import SourceText
from penstock.model import types as t

_WORD = re.compile(r"\w+")
_TAKEN = frozenset({*dir(str), *dir(int), "mro", "name", "value"})
"""Names in lower case that mean something in a class of this kind."""


@dataclass(frozen=True, slots=True)
class NewLabels:
    """Labels that an Enum lacks, as members."""

    owner: ast.ClassDef
    last: ast.Assign
    """The member behind which they stand."""
    texts: tuple[str, ...]


NewMembers: TypeAlias = Callable[[SourceText, ast.AnnAssign, t.Type, t.Type], "NewLabels | None"]
"""Says which members a field's Enum gets as the type of its column changes."""


def no_labels(source: SourceText, field: ast.AnnAssign, before: t.Type, after: t.Type) -> NewLabels | None:
    """No members: the field says its labels itself."""
    return None


def new_labels(source: SourceText, field: ast.AnnAssign, before: t.Type, after: t.Type) -> NewLabels | None:
    """The members for labels that are added at the end of the field's Enum; None if more than that changes, or if the
    Enum is no plain class of this module that only this field names."""
    (old, was_nullable), (new, is_nullable) = plain_type(before), plain_type(after)
    if not isinstance(old, t.Enum) or not isinstance(new, t.Enum) or was_nullable != is_nullable:
        return None
    count = len(old.values)
    owner = _own_class(source, field)
    if owner is None or new.values[:count] != old.values:
        return None
    members = dict(_members(owner))
    values = {name: each.value.value for name, each in members.items() if isinstance(each.value, ast.Constant)}
    is_of_texts = all(isinstance(each, str) for each in values.values())
    labels = [(each, at) for at, each in enumerate(values.values(), 1)] if is_of_texts else [*values.items()]
    if tuple(labels) != old.values:
        return None
    taken = {*values, *_bound_names(owner)}
    texts: list[str] = []
    for label, number in new.values[count:]:
        name = _member_name(label, number, values, taken) if is_of_texts else label
        if name in taken or not _is_name(name) or name.startswith("_") or (name in _TAKEN and not is_of_texts):
            return None
        taken.add(name)
        texts.append(f"{name} = {text_literal(label) if is_of_texts else number}")
    return NewLabels(owner, [*members.values()][-1], tuple(texts)) if texts else None


def _own_class(source: SourceText, field: ast.AnnAssign) -> ast.ClassDef | None:
    """The Enum of this module that the field's annotation names; None if it names several, or another field names it
    too."""
    written = source.segment(field.annotation)
    found = [each for each in source.tree.body if _is_enum(each) and _names(written, each.name)]
    if len(found) != 1:
        return None
    others = [each for each in ast.walk(source.tree) if isinstance(each, ast.AnnAssign) and each is not field]
    is_shared = any(_names(source.segment(each.annotation), found[0].name) for each in others)
    return None if is_shared else found[0]


def _is_enum(statement: ast.stmt) -> TypeGuard[ast.ClassDef]:
    bases = statement.bases if isinstance(statement, ast.ClassDef) else []
    return any(isinstance(each, (ast.Name, ast.Attribute)) and _last_name(each).endswith("Enum") for each in bases)


def _last_name(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _names(written: str, name: str) -> bool:
    return name in _WORD.findall(written)


def _members(owner: ast.ClassDef) -> Iterator[tuple[str, ast.Assign]]:
    for each in owner.body:
        if isinstance(each, ast.Assign) and len(each.targets) == 1 and isinstance(each.targets[0], ast.Name):
            yield each.targets[0].id, each


def _bound_names(owner: ast.ClassDef) -> Iterator[str]:
    """The names that the class defines."""
    for each in ast.walk(owner):
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield each.name
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id


def _is_name(text: str) -> bool:
    """Whether Python reads it as this name, and no other one."""
    return text.isidentifier() and not keyword.iskeyword(text) and unicodedata.normalize("NFKC", text) == text


def _member_name(label: str, number: int, members: Collection[str], taken: Collection[str]) -> str:
    """A name for a text, in the case of the members that are there."""
    word = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", label)).strip("_")
    is_lower = all(each.islower() for each in members)
    name = word.lower() if is_lower else word.upper()
    if not _is_name(name):
        name = f"label_{number}" if is_lower else f"LABEL_{number}"
    return f"{name}_{number}" if name in taken or name in _TAKEN else name
