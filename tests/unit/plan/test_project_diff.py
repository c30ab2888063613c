"""Changes are found by content."""

from __future__ import annotations

from penstock.model.project import Project
from penstock.model.types import Int, Nullable, String
from penstock.parse.project_loader import load_files
from penstock.plan.diff.changes import (
    ColumnAdded,
    ColumnDefaultChanged,
    ColumnDropped,
    ColumnPathChanged,
    ColumnRenamed,
    ColumnsReordered,
    ColumnTypeChanged,
    EndpointChanged,
    EngineChanged,
    MetadataChanged,
    PartitionKeyChanged,
    ResourceAdded,
    ResourceRemoved,
    ResourceRenamed,
    SettingsChanged,
    SortingKeyChanged,
    TtlChanged,
    ViewChanged,
)
from penstock.plan.diff.project_diff import diff_projects

SOURCE = """SCHEMA >
    `ts` DateTime `json:$.ts`,
    `a` Int32 `json:$.a`,
    `b` String `json:$.b` DEFAULT 'x'

ENGINE MergeTree
ENGINE_SORTING_KEY ts
"""
TARGET = """SCHEMA >
    `a` Int32,
    `n` AggregateFunction(count)

ENGINE AggregatingMergeTree
ENGINE_SORTING_KEY a
"""
VIEW = "NODE v\nSQL >\n    SELECT a, countState() AS n FROM events GROUP BY a\n\nTYPE materialized\nDATASOURCE counts\n"
ENDPOINT = "NODE e\nSQL >\n    SELECT count() AS n FROM events\n\nTYPE endpoint\n"
FILES = {"events.datasource": SOURCE, "counts.datasource": TARGET, "view.pipe": VIEW, "total.pipe": ENDPOINT}


def project(**files: str) -> Project:
    """The files above, some of them replaced; '' removes one."""
    named = {name.replace("__", "."): text for name, text in files.items()}
    loaded = load_files({name: text for name, text in {**FILES, **named}.items() if text})
    assert loaded.problems == ()
    return loaded.project


def changed(**files: str) -> tuple[object, ...]:
    return diff_projects(project(), project(**files))


def test_equal_projects_have_no_change() -> None:
    assert changed() == ()
    assert changed(total__pipe=ENDPOINT.replace("SELECT count() AS n", "-- all\n    select  count()  as n")) == ()


def test_columns() -> None:
    text = SOURCE.replace("`a` Int32 `json:$.a`", "`a` Nullable(Int64) `json:$.c.a`")
    text = text.replace("`b` String", "`bb` String").replace("DEFAULT 'x'", "DEFAULT 'y' RENAMED_FROM `b`")
    assert changed(events__datasource=text) == (
        ColumnTypeChanged("events", "a", Int(32), Nullable(Int(64))),
        ColumnPathChanged("events", "a", "$.a", "$.c.a"),
        ColumnRenamed("events", "bb", "b"),
        ColumnDefaultChanged("events", "bb", "'x'", "'y'"),
    )


def test_a_drop_and_an_add_are_no_rename() -> None:
    text = SOURCE.replace("`b` String", "`c` String")
    assert changed(events__datasource=text) == (ColumnAdded("events", "c", String()), ColumnDropped("events", "b"))


def test_a_bare_column_of_a_forward_query_is_a_rename() -> None:
    text = SOURCE.replace("`b` String", "`c` String") + "FORWARD_QUERY >\n    SELECT * EXCEPT (b), b AS c\n"
    assert changed(events__datasource=text) == (
        ColumnRenamed("events", "c", "b"),
        MetadataChanged("events", "datasource", ("forward query",)),
    )


def test_order_of_columns() -> None:
    lines = SOURCE.split("\n")
    lines[1], lines[2] = lines[2], lines[1]
    assert changed(events__datasource="\n".join(lines)) == (ColumnsReordered("events"),)


def test_engine() -> None:
    text = SOURCE.replace("ENGINE MergeTree", "ENGINE ReplacingMergeTree\nENGINE_VER a").replace("KEY ts", "KEY b, ts")
    text += "ENGINE_PARTITION_KEY toYYYYMM(ts)\nENGINE_TTL ts + INTERVAL 1 DAY\nENGINE_SETTINGS index_granularity=1\n"
    assert changed(events__datasource=text) == (
        EngineChanged("events", "MergeTree", "ReplacingMergeTree ENGINE_VER a"),
        SortingKeyChanged("events", ("ts",), ("b", "ts")),
        PartitionKeyChanged("events", (), ("toYYYYMM(ts)",)),
        TtlChanged("events", None, "ts + INTERVAL 1 DAY"),
        SettingsChanged("events"),
    )


def test_resources() -> None:
    found = changed(total__pipe="", other__pipe=ENDPOINT, more__datasource=SOURCE)
    assert found == (
        ResourceAdded("more", "datasource"),
        ResourceRemoved("total", "endpoint"),
        ResourceAdded("other", "endpoint"),
    )


def test_a_data_source_is_renamed_where_it_says_so() -> None:
    view, total = VIEW.replace("events", "hits"), ENDPOINT.replace("events", "hits")
    renamed = {"events__datasource": "", "view__pipe": view, "total__pipe": total}
    said = changed(**renamed, hits__datasource=f"RENAMED_FROM events\n{SOURCE}")
    assert said == (
        ResourceRenamed("hits", "datasource", "events"),
        EndpointChanged("total", "endpoint"),
        ViewChanged("view", "v"),
    )
    assert changed(**renamed, hits__datasource=SOURCE)[:2] == (
        ResourceRemoved("events", "datasource"),
        ResourceAdded("hits", "datasource"),
    )


def test_metadata() -> None:
    described = ENDPOINT.replace("NODE e", "NODE e\nDESCRIPTION of all")
    found = changed(
        events__datasource="DESCRIPTION All of them\nTOKEN app APPEND\n" + SOURCE,
        total__pipe="DESCRIPTION The total\nTOKEN app READ\n" + described,
    )
    assert found == (
        MetadataChanged("events", "datasource", ("description", "tokens (+ app APPEND)")),
        MetadataChanged("total", "endpoint", ("description", "tokens (+ app READ)", "node descriptions")),
    )


def test_grants_that_change_are_named() -> None:
    before = f"TOKEN app READ\nTOKEN ops READ\n{ENDPOINT}"
    for after, what in (
        (f"TOKEN ops READ\nTOKEN web READ\n{ENDPOINT}", ("tokens (+ web READ, - app READ)",)),
        (ENDPOINT, ("tokens (- app READ, - ops READ)",)),
        (f"TOKEN ops READ\nTOKEN app READ\n{ENDPOINT}", None),
    ):
        found = tuple(diff_projects(project(total__pipe=before), project(total__pipe=after)))
        assert found == ((MetadataChanged("total", "endpoint", what),) if what else ())
