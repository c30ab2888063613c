"""Quarantined rows that the next version of a data source would accept.

In: the live version and a plan. Out: a warning for each data source with such rows. Invariant: nothing is read where a
data source reads raw rows as before, or where the quarantine is empty; at most the newest rows are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.deploy.runtime.warehouse import Warehouse
from penstock.errors import Problem
from penstock.flow.landing.row_parser import RowParser
from penstock.lake.read.bindings import CurrentRows, rejected_relation, with_seq
from penstock.model.deployment import Deployment
from penstock.model.manifest import SEQ, Binding, Landing, Manifest
from penstock.plan.plan import Plan

MOST_ROWS = 20_000
"""The most rows of a quarantine that are tried."""


def find_rescued_rows(warehouse: Warehouse, live: Deployment | None, plan: Plan) -> list[Problem]:
    """Warnings that say how many quarantined rows of live the plan's version would accept."""
    if live is None:
        return []
    changed = _changed_landings(live.manifest, plan.manifest)
    return [problem for quarantine, after in changed for problem in _rescued(warehouse, quarantine, after)]


def _changed_landings(live: Manifest, new: Manifest) -> Iterator[tuple[Binding, Landing]]:
    """The quarantines of live, with the landing of the new version, where the two judge rows differently."""
    for quarantine in live.quarantines:
        name = quarantine.name.removesuffix("_quarantine")
        before, after = live.landing(name), new.landing(name)
        if before is not None and after is not None and _rules(before) != _rules(after):
            yield quarantine, after


def _rules(landing: Landing) -> Sequence[tuple[object, ...]]:
    return [(each.name, each.type, each.path, each.default is None) for each in landing.columns]


def _rescued(warehouse: Warehouse, quarantine: Binding, after: Landing) -> Iterator[Problem]:
    if not warehouse.registry.readable(quarantine.table).rows:
        return
    rows = rejected_relation(with_seq(quarantine), CurrentRows(), None)
    newest = f"SELECT `raw` FROM {rows} ORDER BY {SEQ} DESC LIMIT {MOST_ROWS}"
    parser, looked, fits = RowParser((after,)), 0, 0
    for row in warehouse.lake.bulk.sql(newest).toLocalIterator():
        looked += 1
        fits += not parser.parse(str(row[0]).encode()).rejects
    if fits:
        name = quarantine.name.removesuffix("_quarantine")
        about = f" (of the newest {looked:,})" if looked == MOST_ROWS else ""
        message = f"{fits:,} quarantined row{'s' if fits != 1 else ''} of `{name}` would fit the new version{about}"
        hint = f"after the promotion, `penstock datasource quarantine {name} --replay` posts them again"
        yield Problem("rescued-rows", message, hint=hint, level="warning")
