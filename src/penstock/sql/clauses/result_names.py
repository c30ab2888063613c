"""The names of the columns of a SELECT that have no alias, as ClickHouse gives them.

In: the names in scope and an expression of the select list. Out: a name. Invariant: a table stands before a name only
where the name alone would be another column's; an element of a tuple, a path into a document and a part of a column
that ClickHouse keeps apart are named with the column: `pos.lat`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.sql.compiler.scope import ScopeTable, SelectScope
from penstock.sql.operators.json_paths import names_of_path
from penstock.sql.syntax.column_names import column_name, path_steps


def unaliased_name(scope: SelectScope, node: exp.Expr) -> str:
    """The name of a column without an alias. Columns in it are named with their table if their name is ambiguous."""
    dotted = (exp.Dot, exp.NestedJSONSelect)
    if not any(each.text("table") or isinstance(each, dotted) for each in node.walk()):
        return column_name(node)
    node = node.copy().transform(lambda each: _as_path(scope, each))
    if isinstance(node, exp.Column):
        return _qualified_column_name(scope, node)
    return column_name(node.copy().transform(lambda each: _drop_table(scope, each)))


def _as_path(scope: SelectScope, node: exp.Expr) -> exp.Expr:
    """What stands below a column (`pos.lat`, `document.a.b`) as a column with that name, without its table unless the
    name needs it; any other node as it is."""
    if isinstance(node, exp.NestedJSONSelect):
        first, *others = names_of_path(node.expression)
        return exp.column(".".join([f"{names_of_path(node.this)[-1]}.^`{first}`", *others]))
    names = names_of_path(node)
    if len(names) < 2 or node.find_ancestor(exp.DataType) is not None:  # JSON(a.b UInt8) names paths of its own
        return node
    relation = scope.relation(names[0])
    if relation is not None and names[1] in relation.columns:
        storing = _storing(scope, relation)
        names = [_name_behind_table(storing, relation, names[1], relation.name), *names[2:]]
    elif _is_unknown(scope, names):
        return node
    if len(names) == 1:
        return node
    return _element(names[0], path_steps(names[1:]))


def _storing(scope: SelectScope, relation: ScopeTable) -> SelectScope:
    """The scope in which a data source keeps the elements of an array apart, also of one that ARRAY JOIN unfolds."""
    if relation.placeholder is None:
        return scope
    tables = (replace(each, hidden=frozenset()) if each.is_array else each for each in scope.relations)
    return replace(scope, relations=tuple(tables))


def _is_unknown(scope: SelectScope, names: Sequence[str]) -> bool:
    """Whether the first name is that of a table, without the column that follows it."""
    found = scope.find(names[0]) is not None or names[0] in scope.aliases
    return not found and scope.relation(names[0]) is not None


def _element(name: str, steps: Sequence[str]) -> exp.Expr:
    """An element by its names; from the first one by its place on, by calls of tupleElement."""
    first = next((place for place, step in enumerate(steps) if step.isdigit()), len(steps))
    node: exp.Expr = exp.column(exp.to_identifier(".".join([name, *steps[:first]]), quoted=True))
    for step in steps[first:]:
        literal = exp.Literal.number(step) if step.isdigit() else exp.Literal.string(step)
        node = exp.Anonymous(this="tupleElement", expressions=[node, literal])
    return node


def _qualified_column_name(scope: SelectScope, node: exp.Column) -> str:
    relation = scope.relation(node.table)
    if relation is None or node.args.get("db") is not None:
        return column_name(node)
    return _name_behind_table(scope, relation, node.name, node.table)


def _name_behind_table(scope: SelectScope, relation: ScopeTable, name: str, table: str) -> str:
    """The name of a column that is written behind its table; an array that ARRAY JOIN unfolds keeps it."""
    return f"{table}.{name}" if name in relation.whole else displayed_name(scope, relation, name, table)


def _drop_table(scope: SelectScope, node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Column) and node.table and _qualified_column_name(scope, node) == node.name:
        node.set("table", None)
    return node


def displayed_name(scope: SelectScope, relation: ScopeTable, name: str, table: str) -> str:
    """The name of a column of a table, with the table where it is needed."""
    tables = [each for each in scope.relations if not each.is_array]
    others = [each for each in tables if each.name != relation.name]
    first_of_two = len(tables) == 2 and tables[0].name == relation.name and name not in relation.named
    clashes = not first_of_two and any(name in each.columns or each.name == name for each in others)
    unfolded = any(each.is_array and name in each.hidden for each in scope.relations)
    named = clashes or unfolded or name in scope.aliases
    return f"{table}.{name}" if named and not relation.name.startswith("__t") else name
