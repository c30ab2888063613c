"""Tables whose rows depend on more than the batches that were processed.

In: a manifest. Out: `StepDependence`: tables and columns, each with the reason. Invariant: where it cannot be told what
a view computes, its target is named here: a difference in such a table proves nothing, and is reported so.

A view runs once a step, and what a step holds is decided by how much had arrived: a view that groups writes a row for
each step, and one that joins sees the joined table as it is at that moment. Tables that sum or merge such rows by their
key are the same in the end; others are not. The clock and random numbers differ at each call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from sqlglot import exp

from penstock.model.manifest import Manifest, View
from penstock.model.merge_rule import Aggregating, Summing
from penstock.model.quick_dataclass import dataclass
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.analysis.query_facts import query_facts
from penstock.sql.spark_text import DIALECT

_GROUPED = (exp.Group, exp.AggFunc)
_CUT = (exp.Distinct, exp.Limit, exp.Window, exp.Offset)
BY_STEP = "its view computes rows of each step, and the steps of two versions hold different batches"
BY_CLOCK = "its value is set by the clock or at random"
UNKNOWN = "it cannot be told whether its view gives the same rows for other steps"


@dataclass(slots=True)
class StepDependence:
    """What differs although both versions have processed the same batches."""

    rows: dict[str, str] = field(default_factory=dict)
    """By physical table, why what it gets may differ, whatever is done with it."""
    parts: dict[str, str] = field(default_factory=dict)
    """By physical table, why what it gets may be divided into rows in another way; summing it undoes that."""
    columns: dict[tuple[str, str], str] = field(default_factory=dict)
    """By physical table and column, why its values may differ."""
    merging: frozenset[str] = frozenset()
    """The physical tables that sum or merge their rows by key."""

    def reason(self, table: str) -> str | None:
        """Why the rows of a table may differ, as FINAL shows them; None if they cannot."""
        divided = self.parts.get(table) if table not in self.merging else None
        return self.rows.get(table) or divided


def find_step_dependence(manifest: Manifest) -> StepDependence:
    """The tables and columns of a version that depend on how its batches were divided into steps, or on a clock."""
    merging = {bound.table for bound in manifest.bindings if isinstance(bound.merge, (Summing, Aggregating))}
    found = StepDependence(merging=frozenset(merging))
    for landing in manifest.landings:
        for column in landing.columns:
            if column.default is not None and not expression_facts(column.default).is_repeatable:
                found.columns[landing.table, column.physical] = BY_CLOCK
    changed = True
    while changed:  # ends: each round but the last adds a table or a column
        changed = False
        for view in manifest.views:
            changed = _add_view(manifest, view, found) or changed
    return found


def _add_view(manifest: Manifest, view: View, found: StepDependence) -> bool:
    """Record what the view says of its target; returns whether that is new."""
    before = (len(found.rows), len(found.parts), len(found.columns))
    source = view.trigger.binding.table
    rows, parts = _reads_steps(view)
    if rows is None and (source in found.rows or _reads_clocked_column(view, found)):
        rows = _fed_from(manifest, source)
    if parts is None and source in found.parts:
        parts = _fed_from(manifest, source)
    if rows is not None:
        found.rows.setdefault(view.table, rows)
    if parts is not None:
        found.parts.setdefault(view.table, parts)
    for physical in _clocked_columns(view):
        found.columns.setdefault((view.table, physical), BY_CLOCK)
    return before != (len(found.rows), len(found.parts), len(found.columns))


def _reads_clocked_column(view: View, found: StepDependence) -> bool:
    table = view.trigger.binding.table
    return any((table, column.physical) in found.columns for column in view.trigger.binding.columns)


def _fed_from(manifest: Manifest, table: str) -> str:
    return f"it is computed from `{manifest.name_of(table)}`, whose rows or values depend on steps or on the clock"


def _reads_steps(view: View) -> tuple[str | None, str | None]:
    """Why its rows depend on steps, and why only their division does."""
    tree = query_facts(view.sql).tree
    if view.others:
        return "its view joins a table as that is at each step", None
    if not isinstance(tree, exp.Query):
        return UNKNOWN, None
    if tree.find(*_CUT) is not None:
        return BY_STEP, None
    if _clock_beside_columns(tree, view):
        return "its view chooses rows by the clock or at random", None
    return None, BY_STEP if tree.find(*_GROUPED) is not None else None


def _items(tree: exp.Expr | None, view: View) -> Mapping[str, exp.Expr]:
    """The select list by physical column; empty if it is not one SELECT of exactly these columns."""
    if not isinstance(tree, exp.Select) or len(tree.selects) != len(view.fields):
        return {}
    return dict(zip(view.fields, tree.selects, strict=True))


def _clocked_columns(view: View) -> list[str]:
    items = _items(query_facts(view.sql).tree, view)
    return [name for name, item in items.items() if not _is_repeatable(item)]


def _clock_beside_columns(tree: exp.Query, view: View) -> bool:
    """Whether the clock decides more than the values of columns of the select list."""
    if not _items(tree, view):
        return not _is_repeatable(tree)
    rest = tree.copy()
    rest.set("expressions", [exp.Literal.number(1)])
    return not _is_repeatable(rest)


def _is_repeatable(tree: exp.Expr) -> bool:
    return expression_facts(tree.sql(dialect=DIALECT)).is_repeatable
