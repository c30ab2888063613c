"""Whether a view of the next version does what one of live does, so that live's flow goes on.

In: views of two manifests. Out: `Feeding`: which live views are kept, which are new, which end.
Called by `datasource`. Invariant: two views are the same only if they read the same physical columns
of the same tables in the same way; names of columns and data sources do not matter, for SQL is
compared with the physical names in the place of the logical ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from penstock.model.manifest import BoundColumn, Source, View
from penstock.plan.running import unsettled
from penstock.plan.typeblind import kind_of
from penstock.plan.viewsql import physical_sql, role
from penstock.sql.spark_types import spark_type


@dataclass(frozen=True, slots=True)
class Feeding:
    """The views of an existing table: `kept` pairs those of the next version with the equal ones of
    live; `new` have no equal in live; `ended` are those of live that have none in the next version."""

    kept: tuple[tuple[View, View], ...] = ()
    new: tuple[View, ...] = ()
    ended: tuple[View, ...] = ()

    @property
    def unchanged(self) -> bool:
        return not self.new and not self.ended

    @property
    def shared(self) -> tuple[View, ...]:
        """Live's flows that go on: by their id they keep their place. Each reads through the binding
        of the next version, which may see other rows than live's."""
        return tuple(replace(view, id=live.id, starts=live.starts) for view, live in self.kept)

    @property
    def replaced(self) -> tuple[tuple[View, View | None], ...]:
        """Each new view with the one of live that it takes the place of."""
        live = {(view.pipe, view.node): view for view in self.ended}
        return tuple((view, live.get((view.pipe, view.node))) for view in self.new)

    @property
    def pairs(self) -> tuple[tuple[View, View | None], ...]:
        """Every view of the next version with the one of live that it is, or takes the place of."""
        return (*self.kept, *self.replaced)

    @property
    def removed(self) -> tuple[View, ...]:
        """Views of live that nothing takes the place of."""
        names = {(view.pipe, view.node) for view in self.new}
        return tuple(view for view in self.ended if (view.pipe, view.node) not in names)


def compare(live: Sequence[View], after: Sequence[View]) -> Feeding:
    """Pair the views into one table by what they do."""
    return pair(live, after, telling(live, after))


def pair(live: Sequence[View], after: Sequence[View], told: Callable[[View], object]) -> Feeding:
    """Pair views of which `told` says the same, each once."""
    waiting = list(live)
    known = [told(view) for view in waiting]
    kept, new = [], []
    for view in after:
        mine = told(view)
        if mine in known:
            at = known.index(mine)
            kept.append((view, waiting.pop(at)))
            known.pop(at)
        else:
            new.append(view)
    return Feeding(tuple(kept), tuple(new), tuple(waiting))


def telling(live: Sequence[View], after: Sequence[View]) -> Callable[[View], object]:
    """How views are to be told apart: by `content`, or, where columns are stored wider in one version,
    by `content_by_value`."""
    stored: dict[tuple[str, str], str] = {}
    for view in (*live, *after):
        for source in (view.trigger, *view.others):
            for each in source.binding.columns:
                known = stored.setdefault((source.binding.table, each.physical), spark_type(each.type))
                if known != spark_type(each.type):
                    return content_by_value
    return content


def content(view: View) -> tuple[object, ...]:
    """What a view does, without the names it uses and without where it starts. Which rows its
    sources accept is not part of it: that is the landing versions' matter. Types count as Spark has
    them: the SQL is compiled, so nothing else of them has an effect."""
    return _content(view, lambda each: spark_type(each.type))


def content_by_value(view: View) -> tuple[object, ...]:
    """The same; types count as far as the SQL depends on them."""
    return _content(view, lambda each: kind_of(view.sql, each.name, spark_type(each.type)))


def _content(view: View, type_of: Callable[[BoundColumn], str]) -> tuple[object, ...]:
    reads = frozenset(_read(source, type_of) for source in (view.trigger, *view.others))
    return view.table, view.fields, physical_sql(view), reads


def _read(source: Source, type_of: Callable[[BoundColumn], str]) -> tuple[object, ...]:
    columns = frozenset((type_of(each), each.physical, unsettled(each.before)) for each in source.binding.columns)
    return role(source), source.binding.table, columns, source.binding.merge
