"""ARRAY JOIN: one row for each element of an array, or of several side by side.

In: an ARRAY JOIN node. Out: a Block with the elements in scope. Called by passes.sources. Invariant: an
empty array gives no row, with LEFT one row of the zero value.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.block import Block
from penstock.sql.scope import Relation
from penstock.sql.spark_types import zero
from penstock.sql.translator import Translator
from penstock.sql.typed import Typed
from penstock.sql.value_types import quoted, value_type


def array_join(block: Block, node: exp.Join) -> Block:
    tr = block.translator.at("filter").tracing()
    parts = [each for each in (node.this, *node.expressions) if each is not None]
    arrays = [_array(tr, part) for part in parts]
    names = [_name(tr, part) for part in parts]
    outer = str(node.args.get("side") or "").upper() == "LEFT"
    alias = f"__array{len(block.translator.scope.relations)}"
    zipped = _zipped([array.sql for array in arrays])
    shown = ", ".join(quoted(f"e{place}") for place in range(len(names)))
    view = f"LATERAL VIEW {'OUTER ' if outer else ''}inline({zipped}) {quoted(alias)} AS {shown}"
    columns = {}
    for place, (name, array) in enumerate(zip(names, arrays, strict=True)):
        of = array.bare.of if isinstance(array.bare, t.Array) else array.bare
        sql = f"{quoted(alias)}.{quoted(f'e{place}')}"
        if outer and not t.nullable(of):
            sql = f"coalesce({sql}, {zero(of)})"
        columns[name] = Typed(sql, of, value_type(of))
    scope = block.translator.scope
    kept = tuple(_without(relation, parts, columns) for relation in scope.relations)
    relations = (Relation(alias, columns), *kept)
    # The element hides the array of its name, so it is looked up first; `*` gives it in the array's place.
    return replace(
        block,
        source=f"{block.source} {view}",
        translator=block.translator.with_scope(replace(scope, relations=relations)),
    )


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


def _zipped(arrays: list[str]) -> str:
    if len(arrays) == 1:
        return f"arrays_zip({arrays[0]})"
    same = " OR ".join(f"size({arrays[0]}) <> size({other})" for other in arrays[1:])
    wrong = "raise_error('the arrays of ARRAY JOIN have different sizes')"
    return f"if({same}, {wrong}, arrays_zip({', '.join(arrays)}))"
