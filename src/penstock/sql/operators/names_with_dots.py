"""Columns with a dot in their name: `Events.Name` of a schema, or what a join calls `o.city`.

In: a SELECT whose tables are known. Out: the same tree, in which such a name is one name and not a column of a table.
Invariant: a column of a table comes first, so `o.city` beside a table `o` with a column `city` stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from penstock.sql.compiler.scope import SelectScope
from penstock.sql.compiler.select_block import SelectBlock

_PARTS = ("catalog", "db", "table", "this")
_TABLES = ("from", "from_", "joins", "with", "with_", "laterals")


def join_column_names(block: SelectBlock) -> SelectBlock:
    """Pass: names with dots, in all that follows FROM and in aliases."""
    scope = block.translator.scope
    if any("." in name for each in scope.relations for name in each.columns):
        for root in (*_after_tables(block.tree), *scope.aliases.values()):
            join_names_below(scope, root)
    return block


def join_names_below(scope: SelectScope, root: exp.Expr) -> None:
    """Change the names below a node that mean a column with a dot, but not those of SELECTs inside of it."""
    for node in list(root.walk(prune=lambda each: isinstance(each, exp.Query))):
        if isinstance(node, exp.Column) and node.args.get("table") is not None and not isinstance(node.this, exp.Star):
            _join_names(scope, node)


def _after_tables(tree: exp.Select) -> Iterator[exp.Expr]:
    for key, value in tree.args.items():
        if key not in _TABLES:
            found = value if isinstance(value, list) else [value]
            yield from (each for each in found if isinstance(each, exp.Expr))


def _join_names(scope: SelectScope, node: exp.Column) -> None:
    names = [node.args[part].name for part in _PARTS if node.args.get(part) is not None]
    joined = joined_names(scope, names)
    if len(joined) < len(names):
        _set_names(node, joined)


def joined_names(scope: SelectScope, names: Sequence[str]) -> Sequence[str]:
    """The names of `a.b.c` with those in one that are the name of one column."""
    table = scope.relation(names[0]) if len(names) > 1 else None
    if len(names) == 1 or (table is not None and names[1] in table.columns):
        return names
    for end in range(len(names), 1, -1):
        if scope.find(".".join(names[:end])) is not None:
            return [".".join(names[:end]), *names[end:]]
        if table is not None and ".".join(names[1:end]) in table.columns:
            return [names[0], ".".join(names[1:end]), *names[end:]]
    return names


def _set_names(node: exp.Column, names: Sequence[str]) -> None:
    given = dict(zip(reversed(_PARTS), reversed(names), strict=False))
    for part in _PARTS:
        name = given.get(part)
        node.set(part, None if name is None else exp.to_identifier(name, quoted=True))
