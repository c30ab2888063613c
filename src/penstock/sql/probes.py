"""What a FORWARD_QUERY does to the values that are there: counted before it is run for good.

In: the text of the query, the old columns and the new. Out: for each conversion a `Probe`, Spark SQL that says
which rows fail in it or take a default; `may_raise` for any compiled SQL. Called by plan and deploy.
Invariant: no SQL of a probe raises; what no probe tells makes its column `unsure`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model import types as t
from penstock.model.datasource import Column, Text
from penstock.model.types import nullable
from penstock.sql.conversions import CAST
from penstock.sql.forward import compile_forward, read_select_list
from penstock.sql.may_raise import may_raise
from penstock.sql.probe_conversions import faults_of
from penstock.sql.probe_expressions import Watch, written
from penstock.sql.probe_found import Found, Probe, null_of
from penstock.sql.problems import Report
from penstock.sql.typed import Typed, is_null
from penstock.sql.value_types import value_type
from penstock.sql.widening import widened

__all__ = ["Probe", "Probed", "forward_probes", "may_raise"]


@dataclass(frozen=True, slots=True)
class Probed:
    """`unsure`: columns in which something may raise, or take a default, that no probe covers."""

    probes: tuple[Probe, ...]
    unsure: tuple[str, ...]


def forward_probes(text: Text, old: Sequence[Column], new: Sequence[Column]) -> Probed:
    """Raises InvalidQuery as compile_forward does."""
    compile_forward(text, old, new)
    selected = read_select_list(Report(), text, old)
    probes: list[Probe] = []
    unsure: list[str] = []
    for column in new:
        found = Found()
        value = selected.value(Watch(found).on(selected.tr), column)
        _store(found, value, column, written(selected.node(column)))
        probes += found.probes(column.name)
        if found.unsure:
            unsure.append(column.name)
    return Probed(tuple(probes), tuple(unsure))


def _store(found: Found, value: Typed, column: Column, shown: str) -> None:
    """The last conversion, to the column's own type, and the NULLs that take its default."""
    want = column.type
    if may_raise(value.sql):
        found.unsure = True
        return
    if isinstance(want, t.AggregateFunction):
        return
    conversion = f"{shown} stored as {want}"
    exact = widened(value, want) is not None and value.spark == value_type(value.bare)
    faults = () if exact or is_null(value) else faults_of(value, want, CAST)
    found.unsure |= faults is None
    found.convicts(value, faults or (), conversion)
    if value.nullable and not nullable(want):
        found.add("default", value, null_of(value, [each.bad for each in found.entries]), conversion)
