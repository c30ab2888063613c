"""Names of physical columns that Spark can read."""

from __future__ import annotations

import pytest

from penstock.model.manifest import ICEBERG_NAMES
from penstock.parse.project_loader import load_files
from penstock.plan.offline import plan_projects
from penstock.plan.plan import PlanOptions
from penstock.plan.planner import make_plan
from penstock.plan.tables.physical_names import take_physical_name


def test_names_that_differ_in_case_only() -> None:
    taken: set[str] = set()
    assert [take_physical_name(name, taken) for name in ("a", "A", "a", "b")] == ["a", "A__2", "a__3", "b"]


@pytest.mark.parametrize("name", sorted(ICEBERG_NAMES))
def test_names_that_iceberg_keeps_for_itself(name: str) -> None:
    """A new table and an added column: SQL could not read a table with a physical column of such a name."""
    first = "SCHEMA >\n    k Int32 `json:$.k`"
    column = f",\n    {name} Int32 `json:$.v` DEFAULT 1"
    without, with_it = (
        load_files({"datasources/t.datasource": text}).project for text in (f"{first}\n", f"{first}{column}\n")
    )
    for plan in (make_plan(None, with_it, PlanOptions("d1")), plan_projects(without, with_it, {})):
        (bound,) = plan.manifest.bindings
        assert [each.physical for each in bound.columns] == ["k", f"{name}__2"]
