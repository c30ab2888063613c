"""ARRAY JOIN: one row for each element of an array or map, or of several arrays in parallel.

In: a `SelectBlock` and an ARRAY JOIN node. Out: the block with a LATERAL VIEW and with the elements in scope.
Invariant: an empty array gives no row; with LEFT ARRAY JOIN it gives one row with the default of the type. Arrays of
different sizes make the query fail, as in ClickHouse.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.compiler.scope import ScopeTable, SelectScope
from penstock.sql.compiler.select_block import SelectBlock
from penstock.sql.compiler.translator import Translator
from penstock.sql.expr.typed import TypedSql, typed_sql
from penstock.sql.functions.maps import pairs_of_map
from penstock.sql.operators.names_with_dots import join_names_below
from penstock.sql.spark_text import quote_identifier
from penstock.sql.stored_types import column_default


def array_join(block: SelectBlock, node: exp.Join) -> SelectBlock:
    """The block with one row for each element. Raises Refused."""
    tr = block.translator.at("filter").with_new_trace()
    parts = [each for each in (node.this, *node.expressions) if each is not None]
    for part in parts:
        join_names_below(tr.scope, part)
    parts = [each for part in parts for each in _arrays_of_group(tr.scope, part)]
    names = [_array_name(tr, part) for part in parts]
    tr = tr.with_scope(_scope_of_arrays(tr, parts, names))
    arrays = [_array_value(tr, part) for part in parts]
    outer = str(node.args.get("side") or "").upper() == "LEFT"
    alias = f"__array{len(block.translator.scope.relations)}"
    shown = ", ".join(quote_identifier(f"e{place}") for place in range(len(names)))
    view = f"LATERAL VIEW {'OUTER ' if outer else ''}inline({_zip_arrays(arrays)}) {quote_identifier(alias)} AS {shown}"
    columns = {}
    for place, (name, array) in enumerate(zip(names, arrays, strict=True)):
        element = typed_sql(f"{quote_identifier(alias)}.{quote_identifier(f'e{place}')}", _element_type(array))
        columns[name] = _zero_if_missing(element) if outer else element
    given = frozenset(part.alias for part in parts if isinstance(part, exp.Alias))
    scope = block.translator.scope
    relations = (ScopeTable(alias, columns, hidden=given), *_relations_with_elements(scope, parts, columns))
    # The element hides the array of the same name, so its relation comes first; `*` gives it in place of the array.
    return replace(
        block,
        source=f"{block.source} {view}",
        unnested=True,
        translator=block.translator.with_scope(replace(scope, relations=relations)),
    )


def _arrays_of_group(scope: SelectScope, part: exp.Expr) -> list[exp.Expr]:
    """The arrays `goals.id`, `goals.price` … for the name of their group, with an alias `g.id` … if that has one; any
    other expression alone."""
    group = part.unalias()
    if not isinstance(group, exp.Column) or group.name in scope.aliases:
        return [part]
    named = scope.relation(group.table) if group.table else None
    tables = scope.relations if named is None else (named,)
    if any(group.name in each.columns for each in tables) or (group.table and named is None):
        return [part]
    found = [name for each in tables for name in each.columns if name.startswith(f"{group.name}.")]
    arrays = [exp.Column(this=exp.to_identifier(name, quoted=True), table=group.args.get("table")) for name in found]
    for array in arrays:
        array.meta.update(group.meta)
    if not arrays or not isinstance(part, exp.Alias):
        return list(arrays) or [part]
    shown = [f"{part.alias}{name.removeprefix(group.name)}" for name in found]
    return [
        exp.Alias(this=array, alias=exp.to_identifier(name, quoted=True))
        for array, name in zip(arrays, shown, strict=True)
    ]


def _scope_of_arrays(tr: Translator, parts: list[exp.Expr], names: list[str]) -> SelectScope:
    """The scope in which the arrays are translated.

    An alias of the select list that is made of the element itself is left out: there the name means the column. Raises
    Refused if a name is both a column and an unrelated alias.
    """
    aliases = dict(tr.scope.aliases)
    for part in parts:
        for each in part.unalias().find_all(exp.Column):
            found = aliases.get(each.name)
            if found is None or each.table or tr.scope.find(each.name) is None:
                continue
            if not any(inner.name in (*names, each.name) for inner in found.find_all(exp.Column)):
                message = f"`{each.name}` is both a column and an alias of this SELECT"
                raise tr.refusal(each, "duplicate-column", message, "give the alias another name")
            del aliases[each.name]
    return replace(tr.scope, aliases=aliases)


def _element_type(array: TypedSql) -> Type:
    return array.bare.of if isinstance(array.bare, t.Array) else array.bare


def _zero_if_missing(value: TypedSql) -> TypedSql:
    return value if value.nullable else replace(value, sql=f"coalesce({value.sql}, {column_default(value.type)})")


def _relations_with_elements(
    scope: SelectScope, parts: list[exp.Expr], columns: dict[str, TypedSql]
) -> tuple[ScopeTable, ...]:
    """The relations with an array's own name meaning its element, if ARRAY JOIN gives it no alias.

    `table.*` still gives the whole arrays.
    """
    relations = scope.relations
    for part in parts:
        if isinstance(part, exp.Column):
            found = scope.relation(part.table) if part.table else scope.find(part.name)
            if found is not None and part.name in found.columns:
                relations = tuple(
                    _with_element(each, part.name, columns[part.name]) if each.name == found.name else each
                    for each in relations
                )
    return relations


def _with_element(relation: ScopeTable, name: str, element: TypedSql) -> ScopeTable:
    whole = {**relation.whole, name: relation.reading(name, "whole")}
    return replace(relation, columns={**relation.columns, name: element}, whole=whole)


def _array_value(tr: Translator, node: exp.Expr) -> TypedSql:
    """An array, or a map as an array of its entries."""
    value = tr.translate(node.unalias())
    if isinstance(value.bare, t.Map):
        return pairs_of_map(value)
    if not isinstance(value.bare, t.Array):
        raise tr.refusal(node, "wrong-argument-type", f"ARRAY JOIN needs an Array, this is {value.type}")
    return value


def _array_name(tr: Translator, node: exp.Expr) -> str:
    if isinstance(node, (exp.Alias, exp.Column)):
        return node.alias_or_name
    raise tr.refusal(node, "missing-alias", "this array needs a name", "ARRAY JOIN … AS name")


def _zip_arrays(arrays: list[TypedSql]) -> str:
    shown = [array.sql for array in arrays]
    if len(shown) == 1:
        return f"arrays_zip({shown[0]})"
    same = " OR ".join(f"size({shown[0]}) <> size({other})" for other in shown[1:])
    wrong = "raise_error('the arrays of ARRAY JOIN have different sizes')"
    return f"if({same}, {wrong}, arrays_zip({', '.join(shown)}))"
