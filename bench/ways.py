"""What other ways would move: rebuild everything, or what changed and everything below it.

In: the sizes of live's tables, of Iceberg's metadata, and the views of the next version. Out: `Size`s. Called
by `measure`. Invariant: counted as the planner counts: a table that is filled from its own rows costs all of
it, one that its views fill costs the rows of their sources and the bytes of the columns that they use.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from penstock.model.manifest import Binding, Manifest, View
from penstock.plan.plan import NOTHING, Live, Size


@dataclass(frozen=True, slots=True)
class Ways:
    """Over what is live. `after` has the views of the next version; where that is refused, it is live's."""

    live: Live
    after: Manifest

    def everything(self, kept: Collection[str]) -> Size:
        """All tables that the next version still has."""
        return self._all((name for name in self._names if name in kept), ())

    def changed(self, rewritten: Collection[str], copied: Collection[str]) -> Size:
        """Some tables and all below them; `copied` are filled from their own rows."""
        return self._all(self._below(rewritten), copied)

    @property
    def _names(self) -> list[str]:
        return [binding.name for binding in self.live.manifest.bindings]

    def _all(self, names: Iterable[str], copied: Collection[str]) -> Size:
        return sum((self._rebuilt(name, copied) for name in names), NOTHING)

    def _rebuilt(self, name: str, copied: Collection[str]) -> Size:
        table = self.after.binding(name)
        views = [view for view in self.after.views if table is not None and view.table == table.table]
        if not views or name in copied:
            return self._held(name)
        return sum(map(self._read, views), NOTHING)

    def _read(self, view: View) -> Size:
        """A column that is new or another has the width of the live one of its name, if there is one."""
        bound = view.trigger.binding
        assert self.live.column_bytes is not None, "the live version is measured"
        held, widths = self._held(bound.name), self.live.column_bytes(self._live_binding(bound.name).table)
        used = (widths.get(column.physical, widths.get(column.name, 0)) for column in bound.columns)
        return Size(held.rows, sum(used) if held.rows else 0)

    def _held(self, name: str) -> Size:
        """Of a Null source nothing: its rows are not there to be read again."""
        source = self.live.project.datasource(name)
        null = source is not None and source.engine.name == "Null"
        return NOTHING if null else self.live.sizes[self._live_binding(name).table]

    def _live_binding(self, name: str) -> Binding:
        bound = self.live.manifest.binding(name)
        assert bound is not None, "no case renames or makes a data source that something below reads"
        return bound

    def _below(self, names: Collection[str]) -> list[str]:
        found = list(names)
        targets = {binding.table: binding.name for binding in self.live.manifest.bindings}
        for name in found:  # grows while it is walked
            reads = (view for view in self.live.manifest.views if view.trigger.binding.name == name)
            found += sorted({targets[view.table] for view in reads} - set(found))
        return found
