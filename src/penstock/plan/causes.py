"""Why the rows of a materialized view's target cannot stay as they are.

In: the views of live and the new ones, and the changes. Out: short English, one piece a cause. Called
by `datasource`. Invariant: where something is changed, there is a cause.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.model.manifest import Binding, Source, View
from penstock.plan.changes import MetadataChanged
from penstock.plan.context import Context
from penstock.plan.fingerprint import same_query
from penstock.plan.same import Feeding
from penstock.plan.wording import told


def causes(context: Context, name: str, feeding: Feeding) -> tuple[str, ...]:
    """What makes the views into a data source others than live's."""
    found = [cause for view, live in feeding.replaced for cause in _causes(context, name, view, live)]
    return (*found, *(f"`{view.pipe}` feeds it no longer" for view in feeding.removed))


def _causes(context: Context, name: str, view: View, live: View | None) -> list[str]:
    if live is None:
        return [f"`{view.pipe}` feeds it now"]
    was = {source.binding.name: source.binding for source in (live.trigger, *live.others)}
    sources = (view.trigger, *view.others)
    found = [f"its source `{source.binding.name}` gets a new table" for source in sources if _is_replaced(source, was)]
    if _query_changed(context, view):
        found.append(f"the query of `{view.pipe}` changed")
    if found:
        return found
    columns = [(source.binding.name, column) for source in sources for column in _changed_columns(source, was)]
    if columns:
        return [f"column `{column}` of its source `{name}` changed" for name, column in columns]
    own = [told(change) for change in context.changes_of(name) if not isinstance(change, MetadataChanged)]
    return own or [f"what the query of `{view.pipe}` reads changed"]


def _is_replaced(source: Source, was: Mapping[str, Binding]) -> bool:
    before = was.get(source.binding.name)
    return before is not None and before.table != source.binding.table


def _query_changed(context: Context, view: View) -> bool:
    return not same_query(context.live.project, context.project, view.pipe)


def _changed_columns(source: Source, was: Mapping[str, Binding]) -> list[str]:
    before = was.get(source.binding.name)
    known = before.columns if before is not None else ()
    return [column.name for column in source.binding.columns if column not in known]
