"""What every JOIN has: its two sides in scope, the grammar of its condition, the columns of USING.

In: a Block, a Join node and the right table. Out: `Joined`, a translator that sees both sides, pairs of columns.
Called by joins, join_parts, join_any and join_asof. Invariant: a column of USING is one of both sides, of types
that have a common one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.model import types as t
from penstock.sql.block import Block
from penstock.sql.join_kinds import Kind
from penstock.sql.scope import Relation
from penstock.sql.supertypes import supertype
from penstock.sql.taken import Taken
from penstock.sql.translator import Translator
from penstock.sql.typed import Typed


@dataclass(frozen=True, slots=True)
class Joined:
    """The text of FROM with the join, and every relation in scope after it; `taken` where one row is taken of those
    that both sides have for a key."""

    source: str
    relations: tuple[Relation, ...]
    taken: Taken | None = None


def both_sides(block: Block, right: Relation) -> Translator:
    """For conditions: a translator that sees what is joined so far and the right table."""
    tr = block.translator
    scope = replace(tr.scope, relations=(*tr.scope.relations, right))
    return tr.with_scope(scope).at("filter").tracing()


def using_of(node: exp.Join) -> list[str]:
    """The columns that USING names."""
    return [each.name for each in node.args.get("using") or []]


def check_form(tr: Translator, node: exp.Join, kind: Kind) -> None:
    """What ClickHouse's grammar wants. Raises Refused."""
    given = bool(node.args.get("on") is not None or node.args.get("using"))
    if kind.spark == "CROSS JOIN" and given:
        raise tr.refused(node, "invalid-join", "CROSS JOIN takes no ON or USING", "JOIN … ON does")
    if kind.spark != "CROSS JOIN" and not given:
        raise tr.refused(node, "invalid-join", f"{kind.words} needs ON or USING", "CROSS JOIN needs none")


def using_pair(tr: Translator, node: exp.Join, name: str, right: Relation) -> tuple[Typed, Typed]:
    """The two columns that one name of USING means. Raises Refused."""
    left = next((each for each in tr.scope.relations[:-1] if name in each.columns), None)
    if left is None or name not in right.columns:
        known = right.columns if left is not None else [each for one in tr.scope.relations[:-1] for each in one.columns]
        raise tr.refused(node, "unknown-column", f"unknown column `{name}` in USING", did_you_mean(name, known))
    for relation in (left, right):
        if relation.placeholder is not None:
            tr.uses.column(relation.placeholder, name)
    pair = (left.columns[name], right.columns[name])
    _check_common(tr, node, name, pair)
    return pair


def _check_common(tr: Translator, node: exp.Expr, name: str, pair: tuple[Typed, Typed]) -> None:
    """One column stands for both: of their common type."""
    kinds = {type(value.bare) for value in pair}
    if supertype([value.type for value in pair]) is None or (t.Bool in kinds and len(kinds) > 1):
        message = f"USING (`{name}`) of {pair[0].type} and {pair[1].type}: there is no common type"
        raise tr.refused(node, "no-common-type", message, "ON … = …")
