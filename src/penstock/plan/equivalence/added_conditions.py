"""Which of the rows that a view has stored its successor gives as well, where that has more conditions.

In: a live view and its successor, the latter over bindings that show the live tables. Out: Spark SQL over the columns
that the live view writes, true for the rows that the successor gives; None where the two differ in more than
conditions, or where what is stored does not tell. Invariant: a condition of the successor is one over stored columns
that have, in each row, the value that it was asked of: a key of the aggregation, where there is one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot import exp

from penstock.model.manifest import View
from penstock.model.quick_dataclass import dataclass
from penstock.plan.equivalence.canonical_view import NO_VALUES, KnownValues
from penstock.plan.equivalence.redundant_date_bounds import widened_columns
from penstock.plan.equivalence.stored_functions import over_stored
from penstock.plan.equivalence.view_equivalence import content_function, view_content
from penstock.plan.equivalence.view_parts import ViewMeaning, stored_type, view_meaning
from penstock.sql.analysis.opaque_calls import computes_row_by_row


@dataclass(frozen=True, slots=True)
class FilteredRows:
    """The stored rows that the changed view gives."""

    condition: str
    """Spark SQL over the logical columns of the live version."""
    live: View


def added_condition(
    live: View, after: View, names: Mapping[str, str], floats: Collection[str] = (), known: KnownValues = NO_VALUES
) -> str | None:
    """What `after` asks of rows that `live` gave. `names` are the logical names of the columns that may be read, by
    physical column of the target; `floats` those of which two values may be equal and differ (0.0 and -0.0)."""
    if content_function([live], [after]) is not view_content or widened_columns([live], [after]):
        return None
    before, now = view_meaning(live, NO_VALUES, stored_type), view_meaning(after, known, stored_type)
    if before is None or now is None or _texts_around(before) != _texts_around(now) or _has_window(now):
        return None
    old = set(map(before.texts.of, before.conditions))
    added = [each for each in now.conditions if now.texts.of(each) not in old]
    if not added or len(added) + len(old) != len(now.conditions):
        return None
    # A group has one of the values of its key that are equal.
    exact = names if before.keys is None else {field: name for field, name in names.items() if field not in floats}
    stored = _stored_columns(before, exact)
    told = [over_stored(each, now, stored) for each in added]
    found = [each for each in told if each is not None]
    return " AND ".join(f"({each})" for each in found) if len(found) == len(told) else None


def _texts_around(view: ViewMeaning) -> object:
    """All that a view does but for its conditions."""
    keys = None if view.keys is None else frozenset(map(view.texts.of, view.keys))
    return view.around, keys, {field: view.texts.of(node) for field, node in view.columns.items()}


def _has_window(view: ViewMeaning) -> bool:
    """Whether a value depends on other rows, so that it would be another one without some of them."""
    return any(node.find(exp.Window) is not None for node in view.columns.values())


def _stored_columns(view: ViewMeaning, names: Mapping[str, str]) -> Mapping[str, str]:
    """The names of columns by what they hold: each value of a row, or each key of a group. A random number or a time of
    day is another one in a condition."""
    texts = {
        view.texts.of(node): names[field]
        for field, node in view.columns.items()
        if field in names and computes_row_by_row(node)
    }
    if view.keys is None:
        return texts
    keys = set(map(view.texts.of, view.keys))
    return {text: name for text, name in texts.items() if text in keys}
