"""ARRAY JOIN: one row for each element of an array, or of several side by side.

In: an ARRAY JOIN node. Out: a Block with the elements in scope. Called by passes.sources. Invariant: an
empty array gives no row, with LEFT one row of the zero value.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.block import Block
from penstock.sql.scope import Relation
from penstock.sql.spark_types import zero
from penstock.sql.translator import Translator
from penstock.sql.typed import Typed, typed
from penstock.sql.value_types import quoted


def array_join(block: Block, node: exp.Join) -> Block:
    tr = block.translator.at("filter").tracing()
    parts = [each for each in (node.this, *node.expressions) if each is not None]
    arrays = [_array(tr, part) for part in parts]
    names = [_name(tr, part) for part in parts]
    outer = str(node.args.get("side") or "").upper() == "LEFT"
    alias = f"__array{len(block.translator.scope.relations)}"
    shown = ", ".join(quoted(f"e{place}") for place in range(len(names)))
    view = f"LATERAL VIEW {'OUTER ' if outer else ''}inline({_zipped(arrays)}) {quoted(alias)} AS {shown}"
    columns = {}
    for place, (name, array) in enumerate(zip(names, arrays, strict=True)):
        element = typed(f"{quoted(alias)}.{quoted(f'e{place}')}", _element_type(array))
        columns[name] = _zero_if_missing(element) if outer else element
    scope = block.translator.scope
    kept = tuple(_without(relation, parts, columns) for relation in scope.relations)
    relations = (Relation(alias, columns), *kept)
    # The element hides the array of its name, so it is looked up first; `*` gives it in the array's place.
    return replace(
        block,
        source=f"{block.source} {view}",
        unnested=True,
        translator=block.translator.with_scope(replace(scope, relations=relations)),
    )


def _element_type(array: Typed) -> Type:
    return array.bare.of if isinstance(array.bare, t.Array) else array.bare


def _zero_if_missing(value: Typed) -> Typed:
    return value if value.nullable else replace(value, sql=f"coalesce({value.sql}, {zero(value.type)})")


def _without(relation: Relation, parts: list[exp.Expr], columns: dict[str, Typed]) -> Relation:
    """The relation with joined arrays of its own replaced by their elements."""
    own = {part.name for part in parts if isinstance(part, exp.Column)}
    changed = {name: columns.get(name, value) if name in own else value for name, value in relation.columns.items()}
    return relation.with_columns(changed)


def _array(tr: Translator, node: exp.Expr) -> Typed:
    value = tr.translate(node.unalias())
    if not isinstance(value.bare, t.Array):
        raise tr.refused(node, "wrong-argument-type", f"ARRAY JOIN needs an Array, this is {value.type}")
    return value


def _name(tr: Translator, node: exp.Expr) -> str:
    if isinstance(node, (exp.Alias, exp.Column)):
        return node.alias_or_name
    raise tr.refused(node, "missing-alias", "this array needs a name", "ARRAY JOIN … AS name")


def _zipped(arrays: list[Typed]) -> str:
    shown = [array.sql for array in arrays]
    if len(shown) == 1:
        return f"arrays_zip({shown[0]})"
    same = " OR ".join(f"size({shown[0]}) <> size({other})" for other in shown[1:])
    wrong = "raise_error('the arrays of ARRAY JOIN have different sizes')"
    return f"if({same}, {wrong}, arrays_zip({', '.join(shown)}))"
