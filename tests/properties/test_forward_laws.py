"""The law of forward queries: a column is given the same value whether the existing rows are bridged or copied."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from sqlglot import parse_one

from penstock.model.project import Project
from penstock.parse.project_loader import load_files
from penstock.plan.plan import Live, Plan, PlanOptions
from penstock.plan.planner import make_plan

TEXTS, NEW = ("a", "b", "user-id", "Kind", "made"), ("x", "y")
OLD = (*TEXTS, "place")
PLACE = "Tuple(lat Float64, lon Float64)"
OF_TEXTS = (
    *(f"`{name}`" for name in (*TEXTS, *TEXTS)),
    *(f"{function}(`{name}`)" for name in TEXTS for function in ("lower", "upper")),
    "toString(place.1)",
)
OF_PLACES = ("place", "place", "tuple(place.lon, place.lat)", "CAST(place, 'Tuple(lon Float64, lat Float64)')")
COPY, BRIDGE = {"ev": "forward"}, {"ev": "bridge"}


def project(columns: Mapping[str, str | None], forward: str | None = None) -> Project:
    """One data source; each column has a former name or None. `made` has a DEFAULT that reads `b`."""
    lines = [
        f"`{name}` {PLACE if name == 'place' else 'String'}"
        + (" DEFAULT lower(b)" if name == "made" and "b" in columns else "")
        + (f" RENAMED_FROM `{old}`" if old else "")
        for name, old in columns.items()
    ]
    said = f"FORWARD_QUERY >\n    {forward}\n" if forward else ""
    schema = ",\n    ".join(lines)
    loaded = load_files({"ev.datasource": f"SCHEMA >\n    {schema}\n\nENGINE MergeTree\n{said}"})
    assert not loaded.problems, loaded.problems
    return loaded.project


@st.composite
def forward_queries(draw: st.DrawFn) -> tuple[tuple[str, ...], str]:
    """Columns of the next version, and a forward query that gives them: aliases may have the names of columns, and
    expressions may use either."""
    names = draw(st.lists(st.sampled_from((*OLD, *NEW)), min_size=2, max_size=6, unique=True))
    items = [f"{draw(st.sampled_from(OF_PLACES if name == 'place' else OF_TEXTS))} AS `{name}`" for name in names]
    starred = draw(st.booleans())
    star = ["* EXCEPT (a)"] if starred else []
    columns = tuple(dict.fromkeys([*names, *(OLD[1:] if starred else ())]))
    return columns, f"SELECT {', '.join([*star, *draw(st.permutations(items))])}"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(forward_queries())
def test_a_bridged_column_has_the_value_of_a_copied_one(given_query: tuple[tuple[str, ...], str]) -> None:
    columns, forward = given_query
    note(forward)
    before, after = project(dict.fromkeys(OLD)), project(dict.fromkeys(columns), forward)
    first = make_plan(None, before, PlanOptions("d1"))
    live = Live(before, first.manifest, {})
    copied, bridged = (make_plan(live, after, PlanOptions("d2", True, strategies=each)) for each in (COPY, BRIDGE))
    assert copied.errors == bridged.errors
    if copied.errors or not copied.manifest.copies:
        return  # nothing is computed: the forward query only renames
    assert values_when_read(bridged) == values_when_copied(copied)


def values_when_copied(plan: Plan) -> dict[str, str]:
    (copy,) = plan.manifest.copies
    return {name: plain(sql) for name, sql in copy.select}


def values_when_read(plan: Plan) -> dict[str, str]:
    bound = plan.manifest.binding("ev")
    assert bound is not None
    return {
        column.name: plain(column.before.expression if column.before else f"`{column.physical}`")
        for column in bound.columns
    }


def plain(sql: str) -> str:
    """SQL without parentheses that change nothing."""
    return str(parse_one(sql, dialect="spark").transform(lambda node: node.unnest()).sql("spark"))


def test_columns_that_exchange_their_names_read_each_other() -> None:
    before = project(dict.fromkeys(("a", "b", "c")))
    after = project({"a": "b", "b": "a", "c": None})
    first = make_plan(None, before, PlanOptions("d1"))
    plan = make_plan(Live(before, first.manifest, {}), after, PlanOptions("d2"))
    bound = plan.manifest.binding("ev")
    assert bound is not None
    read = [
        (column.name, column.physical if column.before is None else column.before.expression)
        for column in bound.columns
    ]
    assert read == [("a", "`b`"), ("b", "`a`"), ("c", "c")]
