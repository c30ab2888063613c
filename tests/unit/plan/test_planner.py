"""Manifests and steps of single changes, in detail. What a whole plan says is in tests/golden/projects."""

from __future__ import annotations

from dataclasses import replace

from penstock.model.manifest import Accepts, Before, BoundColumn, Field, Transform
from penstock.model.manifest_updates import set_cutover_offsets
from penstock.model.project import Project
from penstock.model.types import DateTime, DateTime64, Int, LowCardinality, Nullable, String
from penstock.parse.project_loader import load_files
from penstock.plan.equivalence.view_equivalence import physical_sql
from penstock.plan.planner import Live, Plan, PlanOptions, Size, make_plan
from penstock.plan.steps import (
    Activate,
    AddFields,
    CatchUp,
    CreateTable,
    PlaceCursors,
    SetPartition,
    SetSort,
    WidenField,
)

EVENTS = """SCHEMA >
    `ts` DateTime `json:$.ts`,
    `user` String `json:$.user`,
    `note` Nullable(String) `json:$.note`,
    `n` UInt16 `json:$.n`

ENGINE MergeTree
ENGINE_SORTING_KEY ts
"""
USERS = """SCHEMA >
    `user` String,
    `hits` AggregateFunction(count)

ENGINE AggregatingMergeTree
ENGINE_SORTING_KEY user
"""
VIEW = """NODE counted
SQL >
    SELECT user, countState() AS hits FROM events GROUP BY user

TYPE materialized
DATASOURCE users
"""
FILES = {"events.datasource": EVENTS, "users.datasource": USERS, "users_mv.pipe": VIEW}


def project(files: dict[str, str]) -> Project:
    loaded = load_files(files)
    assert loaded.problems == ()
    return loaded.project


def first(files: dict[str, str] = FILES) -> Live:
    """A project as its first deployment runs it."""
    made = project(files)
    plan = make_plan(None, made, PlanOptions("d1"))
    assert plan.problems == ()
    return Live(made, plan.manifest, {table.id: Size(1000, 50_000) for table in plan.manifest.tables})


def step(live: Live, files: dict[str, str], suffix: str = "d2") -> Plan:
    plan = make_plan(live, project(files), PlanOptions(suffix, allow_destructive=True))
    assert plan.errors == ()
    return plan


def events(text: str) -> dict[str, str]:
    return {**FILES, "events.datasource": text}


def deployed(plan: Plan, files: dict[str, str], cut: int) -> Live:
    """A plan carried out, every table of it cut at `cut`."""
    manifest = set_cutover_offsets(plan.manifest, {table.id: cut for table in plan.manifest.tables})
    return Live(project(files), manifest, {table.id: Size(1000, 50_000) for table in manifest.tables})


def test_first_deployment() -> None:
    manifest = first().manifest
    assert [table.id for table in manifest.tables] == [
        "events__d1",
        "events__quarantine",
        "users__d1",
        "users__quarantine",
    ]
    events_table = manifest.table("events__d1")
    assert events_table is not None
    assert events_table.lands
    assert events_table.sort == (Transform("identity", "ts"),)
    assert [field.name for field in events_table.fields] == ["ts", "user", "note", "n"]
    landing = manifest.landing("events")
    assert landing is not None
    assert (landing.stream, landing.id, landing.starts) == ("events", "landing.events", "beginning")
    assert [(column.path, column.default) for column in landing.columns] == [
        ("$.ts", None),
        ("$.user", None),
        ("$.note", None),
        ("$.n", None),
    ]
    assert manifest.bindings[0].accepts == (Accepts(landing.version),)
    quarantine = manifest.binding("events_quarantine")
    assert quarantine is not None
    assert [column.name for column in quarantine.columns] == ["inserted_at", "raw", "problems"]
    (view,) = manifest.views
    assert (view.id, view.table, view.starts) == ("users_mv.counted", "users__d1", "beginning")
    assert view.fields == ("user", "hits")
    assert [column.name for column in view.trigger.binding.columns] == ["user"]


def test_added_columns_read_their_default_for_rows_from_before() -> None:
    text = EVENTS.replace(
        "`n` UInt16 `json:$.n`",
        "`n` UInt16 `json:$.n`, `a` Nullable(String) `json:$.a`, `b` UInt8 DEFAULT 7, `c` String `json:$.c`",
    )
    live = first()
    plan = step(live, events(text))
    binding = plan.manifest.binding("events")
    assert binding is not None
    added = {column.name: column for column in binding.columns[4:]}
    assert added["a"] == BoundColumn("a", Nullable(String()), "a")
    assert added["b"].before is not None
    assert "7" in added["b"].before.expression
    assert added["c"].before == Before("''")
    assert plan.steps == (
        AddFields("events__d1", tuple(Field(each.physical, each.type) for each in added.values())),
        Activate(),
        CatchUp(),
    )
    landing, before = plan.manifest.landing("events"), live.manifest.landing("events")
    assert landing is not None
    assert before is not None
    assert binding.accepts == (Accepts(before.version), Accepts(landing.version))
    quarantine = plan.manifest.binding("events_quarantine")
    assert quarantine is not None
    assert quarantine.accepts == binding.accepts
    (view,), (lives,) = plan.manifest.views, live.manifest.views
    assert view.trigger.binding.accepts == binding.accepts
    assert replace(view, trigger=lives.trigger) == lives


def test_a_default_over_a_column_that_is_new_too() -> None:
    text = EVENTS.replace("`n` UInt16 `json:$.n`", "`n` UInt16 `json:$.n`, `d` UInt32 DEFAULT c, `c` UInt32 DEFAULT n")
    binding = step(first(), events(text)).manifest.binding("events")
    assert binding is not None
    column = binding.column("d")
    assert column is not None
    assert column.before is not None
    assert "`n`" in column.before.expression
    assert "`c`" not in column.before.expression


def test_a_renamed_column_keeps_its_physical_one_also_below() -> None:
    text = EVENTS.replace("`user` String `json:$.user`", "`who` String `json:$.user` RENAMED_FROM `user`")
    view = VIEW.replace("SELECT user,", "SELECT who AS user,").replace("BY user", "BY who")
    files = {**events(text), "users_mv.pipe": view}
    live = first()
    plan = step(live, files)
    binding = plan.manifest.binding("events")
    assert binding is not None
    assert binding.columns[1] == BoundColumn("who", String(), "user")
    assert plan.resource("events").strategy == "in_place"  # type: ignore[union-attr]
    assert plan.steps == (Activate(), CatchUp())


def test_a_dropped_column_leaves_the_table_and_its_name_is_not_used_again() -> None:
    live = first()
    without = events(EVENTS.replace("    `note` Nullable(String) `json:$.note`,\n", ""))
    dropped = step(live, without)
    table = dropped.manifest.table("events__d1")
    assert table is not None
    assert [field.name for field in table.fields] == ["ts", "user", "n"]
    assert dropped.steps == (Activate(), CatchUp())
    second = deployed(dropped, without, 10)
    again = step(replace(second, columns={"events__d1": ("ts", "user", "note", "n")}), FILES, "d3")
    assert again.steps[0] == AddFields("events__d1", (Field("note__2", Nullable(String())),))


def test_a_wider_type_in_place() -> None:
    live = first({"events.datasource": EVENTS})
    text = EVENTS.replace("UInt16", "UInt32").replace("`user` String", "`user` LowCardinality(String)")
    plan = step(live, {"events.datasource": text})
    assert plan.steps == (WidenField("events__d1", "n", Int(32, signed=False)), Activate(), CatchUp())
    table = plan.manifest.table("events__d1")
    assert table is not None
    assert table.fields[1] == Field("user", LowCardinality(String()))


def test_a_type_that_stores_other_values_gets_a_physical_column_of_its_own() -> None:
    live = first({"events.datasource": EVENTS})
    text = EVENTS.replace("`ts` DateTime ", "`ts` DateTime64(3) ")
    plan = step(live, {"events.datasource": text})
    binding = plan.manifest.binding("events")
    assert binding is not None
    assert binding.columns[0] == BoundColumn("ts", DateTime64(3), "ts__2", Before("`ts`"))
    table = plan.manifest.table("events__d1")
    assert table is not None
    assert Field("ts", DateTime()) in table.fields
    assert plan.steps[:2] == (
        AddFields("events__d1", (Field("ts__2", DateTime64(3)),)),
        SetSort("events__d1", (Transform("identity", "ts__2"),), (Transform("identity", "ts"),)),
    )


def test_cuts_are_kept_in_the_next_step() -> None:
    one = {"events.datasource": EVENTS.replace("`ts` DateTime ", "`ts` DateTime64(3) ")}
    live = deployed(step(first({"events.datasource": EVENTS}), one), one, 10)
    two = {"events.datasource": EVENTS.replace("`ts` DateTime ", "`ts` DateTime64(6) ")}
    plan = step(live, two, "d3")
    binding = plan.manifest.binding("events")
    assert binding is not None
    before = Before("(CASE WHEN _seq <= 10 THEN `ts` ELSE `ts__2` END)")
    assert binding.columns[0] == BoundColumn("ts", DateTime64(6), "ts__3", before)
    table = plan.manifest.table("events__d1")
    assert table is not None
    assert {"ts", "ts__2", "ts__3"} <= {field.name for field in table.fields}
    assert [link.upto for link in binding.accepts] == [10, None, None]


def test_keys_are_set_on_the_table() -> None:
    text = EVENTS.replace("KEY ts", "KEY user, ts\nENGINE_PARTITION_KEY toYYYYMM(ts)")
    plan = step(first(), events(text))
    user, ts = Transform("identity", "user"), Transform("identity", "ts")
    assert plan.steps == (
        SetSort("events__d1", (user, ts), (ts,)),
        SetPartition("events__d1", (Transform("months", "ts"),), ()),
        Activate(),
        CatchUp(),
    )


def test_forward_goes_on_where_the_copy_ends() -> None:
    live = first()
    text = EVENTS.replace("`user` String", "`user` UInt32")
    text += "FORWARD_QUERY >\n    SELECT * REPLACE (toUInt32OrZero(user) AS user)\n"
    files = {**events(text), "users.datasource": USERS.replace("`user` String", "`user` UInt32")}
    forward = PlanOptions("d2", strategies={"events": "forward"})
    plan = make_plan(live, project(files), forward)
    (copy,) = plan.manifest.copies
    assert (copy.id, copy.source, copy.table) == ("copy.events__d2", live.manifest.binding("events"), "events__d2")
    assert [column for column, _ in copy.select] == ["ts", "user", "note", "n"]
    assert copy.cursors == (("landing.events", "landing.events"),)
    landing = plan.manifest.landing("events")
    assert landing is not None
    assert (landing.table, landing.stream, landing.starts) == ("events__d2", "events", "placed")
    binding, quarantine = plan.manifest.binding("events"), plan.manifest.binding("events_quarantine")
    assert binding is not None
    assert quarantine is not None
    assert binding.accepts == (Accepts(landing.version),)
    assert len(quarantine.accepts) == 2
    (view,) = plan.manifest.views
    assert (view.table, view.trigger.binding.table, view.starts) == ("users__d2", "events__d2", "beginning")
    landed = plan.manifest.landing("users")
    assert landed is not None
    assert landed.starts == "beginning"
    assert (plan.rows_moved, plan.bytes_moved) == (2000, 100_000)
    assert [type(each) for each in plan.steps] == [CreateTable, CreateTable, Activate, CatchUp]


def test_a_computed_column_is_bridged() -> None:
    text = EVENTS.replace("`user` String", "`user` UInt32")
    text += "FORWARD_QUERY >\n    SELECT * REPLACE (toUInt32OrZero(user) AS user)\n"
    plan = step(first({"events.datasource": EVENTS}), {"events.datasource": text})
    column = plan.manifest.binding("events").column("user")  # type: ignore[union-attr]
    assert column is not None
    assert (column.physical, column.before.cut) == ("user__2", None)  # type: ignore[union-attr]
    assert plan.resource("events").strategy == "bridge"  # type: ignore[union-attr]
    assert plan.rows_moved == 0


def test_a_value_that_is_another_each_time_is_not_bridged() -> None:
    text = EVENTS.replace("`note`", "`seen` DateTime `json:$.seen`,\n    `note`")
    text += "FORWARD_QUERY >\n    SELECT *, now() AS seen\n"
    plan = step(first({"events.datasource": EVENTS}), {"events.datasource": text})
    assert plan.resource("events").strategy == "forward"  # type: ignore[union-attr]


def test_a_target_that_keeps_its_rows_is_a_clone() -> None:
    live = first()
    changed = {**FILES, "users_mv.pipe": VIEW.replace("FROM events", "FROM events WHERE n > 0")}
    plan = step(live, {**changed, "users.datasource": USERS + "FORWARD_QUERY >\n    SELECT *\n"})
    assert plan.manifest.copies == ()
    assert [(clone.table.id, clone.of) for clone in plan.steps[0].clones] == [("users__d2", "users__d1")]  # type: ignore[union-attr]
    (view,), (lives,) = plan.manifest.views, live.manifest.views
    assert (view.table, view.id, view.trigger.binding.table) == ("users__d2", lives.id, "events__d1")
    assert plan.rows_moved == 0


def test_a_copy_that_is_done_stays_in_the_manifest_until_its_table_goes() -> None:
    text = EVENTS.replace("`user` String", "`user` UInt32")
    text += "FORWARD_QUERY >\n    SELECT * REPLACE (toUInt32OrZero(user) AS user)\n"
    files = {"events.datasource": text}
    forward = PlanOptions("d2", strategies={"events": "forward"})
    live = deployed(make_plan(first({"events.datasource": EVENTS}), project(files), forward), files, 10)
    assert make_plan(live, live.project, PlanOptions("d3")).manifest == live.manifest


def test_backfill_skip() -> None:
    live = first({"events.datasource": EVENTS})
    plan = step(live, {**FILES, "users.datasource": USERS + "BACKFILL skip\n"})
    assert PlaceCursors("users__d2") in plan.steps
    assert [view.starts for view in plan.manifest.views] == ["placed"]
    assert plan.rows_moved == 0


def test_a_renamed_data_source_keeps_its_stream() -> None:
    live = first()
    files = {
        "hits.datasource": f"RENAMED_FROM events\n\n{EVENTS}",
        "users.datasource": USERS,
        "users_mv.pipe": VIEW.replace("FROM events", "FROM hits"),
    }
    plan = step(live, files)
    assert plan.manifest.landings == live.manifest.landings
    (view,), (lives,) = plan.manifest.views, live.manifest.views
    assert (view.table, view.id, physical_sql(view)) == (lives.table, lives.id, physical_sql(lives))
    binding, quarantine = plan.manifest.binding("hits"), plan.manifest.binding("hits_quarantine")
    assert binding is not None
    assert quarantine is not None
    assert (binding.table, quarantine.table) == ("events__d1", "events__quarantine")
    renamed = deployed(plan, files, 10)
    both = step(renamed, {**files, "hits.datasource": EVENTS, "events.datasource": EVENTS}, "d3")
    assert {landing.stream for landing in both.manifest.landings} == {"events", "users", "events__d3"}


def test_a_renamed_pipe_keeps_its_flow() -> None:
    live = first()
    files = {**FILES, "counts.pipe": VIEW}
    del files["users_mv.pipe"]
    plan = step(live, files)
    assert plan.manifest.tables == live.manifest.tables
    (view,) = plan.manifest.views
    assert (view.table, view.id, view.pipe) == ("users__d1", "users_mv.counted", "counts")
    assert plan.resource("users").strategy == "none"  # type: ignore[union-attr]


def test_versions_of_two_tables_of_one_stream_differ() -> None:
    """Both tables quarantine into one table, and each binding shows its own."""
    live = first()
    plan = step(live, {**FILES, "users_mv.pipe": VIEW.replace("FROM events", "FROM events WHERE n > 0")})
    before, after = live.manifest.landing("users"), plan.manifest.landing("users")
    assert before is not None
    assert after is not None
    assert before.columns == after.columns
    assert before.version != after.version


def test_an_unknown_size_is_not_guessed() -> None:
    live = replace(first(), sizes={})
    plan = step(live, {**FILES, "users_mv.pipe": VIEW.replace("FROM events", "FROM events WHERE n > 0")})
    assert (plan.rows_moved, plan.bytes_moved) == (None, None)
    assert plan.resource("users").moves is None  # type: ignore[union-attr]


def test_errors_leave_no_steps() -> None:
    live = first()
    plan = make_plan(live, project(events(EVENTS.replace("`user` String", "`user` UInt32"))), PlanOptions("d2"))
    assert "needs-forward-query" in {problem.code for problem in plan.errors}
    assert (plan.steps, plan.manifest.tables) == ((), ())


def test_all_problems_are_collected() -> None:
    live = first()
    files = {
        "events.datasource": EVENTS.replace("`n` UInt16", "`n` UInt8") + "ENGINE_TTL user\n",
        "users.datasource": USERS,
        "users_mv.pipe": VIEW.replace("SELECT user", "SELECT usr"),
    }
    plan = make_plan(live, project(files), PlanOptions("d2"))
    assert {"needs-forward-query", "unsupported-ttl", "unknown-column"} <= {problem.code for problem in plan.errors}
