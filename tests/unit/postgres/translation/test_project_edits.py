"""Operations as edits of datafiles: the planner accepts them, and no row is computed anew where that is not needed."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from memory_journal import MemoryJournal
from penstock.model.settings import StoreSettings
from penstock.parse.project_loader import load_files
from penstock.plan.offline import plan_loaded
from penstock.postgres.catalog.replicated_table import (
    EnumLabel,
    QualifiedName,
    ReplicatedColumn,
    ReplicatedTable,
    ReplicatedType,
)
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import (
    AddColumn,
    AddEnumValue,
    ChangeType,
    DropColumn,
    DropNotNull,
    OldRowsRead,
    OldRowsValue,
    Operation,
    Phase,
    RenameColumn,
    RenameTable,
    SetNotNull,
    SwapColumns,
)
from penstock.postgres.stores.penstock_store import PenstockStore, phase_edits
from penstock.postgres.translation.clickhouse.draft import ViewChoices
from penstock.postgres.translation.refusal import CannotTranslate

NOTHING_SAID = ViewChoices()
HASH = "sha256:" + "0" * 64
ISSUES = """DESCRIPTION >
    Issues of all projects

SCHEMA >
    `id` Int64 `json:$.id`,
    `project` Int32 `json:$.project`,
    `title` String `json:$.title`,  -- as shown
    `weight` Int32 `json:$.weight` DEFAULT 1,
    `big` Int64 `json:$.big`,
    `state` Enum8('open' = 1, 'closed' = 2) `json:$.state` -- last

ENGINE "ReplacingMergeTree"
ENGINE_SORTING_KEY "id"
"""
FILES: Mapping[str, str] = {
    "penstock.toml": "",
    "datasources/issues.datasource": ISSUES,
    "datasources/titles.datasource": "SCHEMA >\n    `id` Int64,\n    `title` String,\n    `weight` Int32\n\n"
    'ENGINE "MergeTree"\nENGINE_SORTING_KEY "id"\n',
    "datasources/totals.datasource": "SCHEMA >\n    `project` Int32,\n    `n` UInt64\n\n"
    'ENGINE "SummingMergeTree"\nENGINE_SORTING_KEY "project"\n',
    "pipes/to_titles.pipe": "NODE n\nSQL >\n    SELECT\n        id,\n        title,\n        weight\n"
    "    FROM issues\n\nTYPE materialized\nDATASOURCE titles\n",
    "pipes/to_totals.pipe": "NODE n\nSQL >\n    SELECT project, count() AS n FROM issues GROUP BY project\n\n"
    "TYPE materialized\nDATASOURCE totals\n",
    "pipes/top.pipe": "NODE n\nSQL >\n    SELECT title, weight FROM titles\n\nTYPE endpoint\n",
}


def edits(
    operation: Operation, choices: ViewChoices = NOTHING_SAID, files: Mapping[str, str] = FILES
) -> dict[str, str]:
    migration = Migration("m1", QualifiedName("public", "issues"), HASH, HASH, False, (operation,))
    return phase_edits(files, migration, operation.phase, {}, choices)


def strategies(changed: Mapping[str, str]) -> dict[str, str]:
    """The plan's strategy for each resource that it does something to; the plan has no problem."""
    plan = plan_loaded(load_files(dict(FILES)), load_files({**FILES, **changed}))
    assert [str(each) for each in plan.errors] == []
    return {each.name: each.strategy for each in plan.resources if each.strategy != "none"}


def schema_line(changed: Mapping[str, str], name: str, source: str = "issues") -> str:
    text = changed[f"datasources/{source}.datasource"]
    return next(line.strip() for line in text.splitlines() if line.strip().startswith(f"`{name}`"))


INTEGER, BIGINT, TEXT = (ReplicatedType(each) for each in ("integer", "bigint", "text"))


@pytest.mark.parametrize(
    ("of", "value", "written"),
    [
        (INTEGER, "5", "`new` Int32 `json:$.new` DEFAULT 5 -- last"),
        (TEXT, "it's", "`new` String `json:$.new` DEFAULT 'it\\'s' -- last"),
        (ReplicatedType("boolean"), "t", "`new` Bool `json:$.new` DEFAULT true -- last"),
        (
            ReplicatedType("date"),
            "2024-01-02",
            "`new` Date32 `json:$.new` DEFAULT CAST('2024-01-02', 'Date32') -- last",
        ),
        (INTEGER, None, "`new` Nullable(Int32) `json:$.new` -- last"),
    ],
)
def test_a_new_column(of: ReplicatedType, value: str | None, written: str) -> None:
    changed = edits(AddColumn("new", of, value is None, None, OldRowsValue(value)))
    assert list(changed) == ["datasources/issues.datasource"]
    assert schema_line(changed, "new") == written
    assert strategies(changed) == {"issues": "in_place"}


def test_a_new_column_follows_into_the_chosen_views() -> None:
    add = AddColumn("severity", INTEGER, False, "5", OldRowsValue("5"))
    changed = edits(add, ViewChoices(frozenset({"to_titles"})))
    assert schema_line(changed, "severity", "titles") == "`severity` Int32 DEFAULT 5"
    assert "weight, `severity`\n    FROM issues" in changed["pipes/to_titles.pipe"]
    assert strategies(changed)["issues"] == "in_place"
    with pytest.raises(CannotTranslate, match="to_totals groups or joins"):
        edits(add, ViewChoices(frozenset({"to_totals"})))


def test_old_rows_that_are_read_again_are_null_until_then() -> None:
    changed = edits(AddColumn("at", ReplicatedType("timestamp with time zone"), True, "now()", OldRowsRead()))
    assert schema_line(changed, "at") == "`at` Nullable(DateTime64(6, 'UTC')) `json:$.at` -- last"
    assert strategies(changed) == {"issues": "in_place"}


def test_a_rename_moves_no_row_and_breaks_no_query() -> None:
    changed = edits(RenameColumn("title", "headline"))
    assert schema_line(changed, "headline") == "`headline` String `json:$.headline` RENAMED_FROM `title`,  -- as shown"
    assert "        `headline` AS `title`,\n" in changed["pipes/to_titles.pipe"]
    assert strategies(changed) == {"issues": "in_place", "titles": "reuse"}


def test_a_swap_keeps_the_paths_with_the_names() -> None:
    changed = edits(SwapColumns("weight", "big"))
    assert schema_line(changed, "weight") == "`weight` Int64 `json:$.weight` RENAMED_FROM `big`,"
    assert schema_line(changed, "big") == "`big` Int32 `json:$.big` DEFAULT 1 RENAMED_FROM `weight`,"
    assert schema_line(changed, "weight", "titles") == "`weight` Int64"
    assert strategies(changed)["issues"] == "in_place"
    with pytest.raises(CannotTranslate, match="RENAMED_FROM big of an earlier change"):
        edits(SwapColumns("weight", "big"), files={**FILES, **changed})


def test_types_become_wider_in_the_targets_too() -> None:
    changed = edits(ChangeType("weight", BIGINT, narrowing=False, phase=Phase.pre))
    assert schema_line(changed, "weight") == "`weight` Int64 `json:$.weight` DEFAULT 1,"
    assert schema_line(changed, "weight", "titles") == "`weight` Int64"
    assert strategies(changed) == {"issues": "in_place", "titles": "in_place"}
    changed = edits(DropNotNull("title"))
    assert schema_line(changed, "title", "titles") == "`title` Nullable(String),"
    assert strategies(changed)["issues"] == "in_place"
    assert edits(SetNotNull("title")) == {}


def test_labels() -> None:
    changed = edits(AddEnumValue("state", "new", "open"))
    assert "Enum8('open' = 1, 'closed' = 2, 'new' = 3)" in schema_line(changed, "state")
    assert strategies(changed) == {"issues": "in_place"}
    assert edits(AddEnumValue("title", "new", None)) == {}, "a text takes any label"


@pytest.mark.parametrize("name", ["big", "weight", "state"])
def test_a_dropped_column_goes_from_views_and_targets(name: str) -> None:
    changed = edits(DropColumn(name)) if name != "weight" else None
    if changed is None:
        with pytest.raises(CannotTranslate, match="top"):
            edits(
                DropColumn(name),
                files={**FILES, "pipes/top.pipe": FILES["pipes/top.pipe"].replace("weight", "weight + 1")},
            )
        changed = edits(DropColumn(name))
        assert "`weight`" not in changed["datasources/titles.datasource"]
    loaded = load_files({**FILES, **changed})
    assert loaded.errors == ()
    source = loaded.project.datasource("issues")
    assert source is not None
    assert source.column(name) is None
    assert len(source.columns) == 5


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        (RenameColumn("id", "key"), "in a key of"),
        (RenameColumn("nothing", "x"), "has no column `nothing`"),
        (AddColumn("title", INTEGER, True, None, OldRowsRead()), "has a column `title` of String already"),
        (ChangeType("title", INTEGER, narrowing=True, phase=Phase.at_lsn), "does not have its values"),
        (RenameTable(QualifiedName("public", "tickets")), "becomes public.tickets"),
        (DropColumn("project"), "to_totals needs the column `project`"),
    ],
)
def test_what_cannot_be_edited_is_refused(operation: Operation, told: str) -> None:
    with pytest.raises(CannotTranslate, match=told):
        edits(operation)


def test_ends_of_lines_stay_those_of_the_file() -> None:
    files = {path: text.replace("\n", "\r\n") for path, text in FILES.items()}
    operation = DropColumn("title")
    for path, text in edits(operation, files=files).items():
        assert text == edits(operation)[path].replace("\n", "\r\n")


class LiveFiles:
    """A server whose live version is what was deployed last."""

    def __init__(self) -> None:
        self.files: Mapping[str, str] = FILES
        self.deployed: list[str] = []

    def live_files(self) -> Mapping[str, str]:
        return self.files

    def deploy(self, files: Mapping[str, str], name: str) -> None:
        self.files = files
        self.deployed.append(name)

    def unlanded(self, datasource: str) -> int:
        return 0

    def compare(self, files: Mapping[str, str], name: str) -> dict[str, object]:
        plan = plan_loaded(load_files(dict(self.files)), load_files(dict(files)))
        return {"plan": {"changes": [{"change": str(each)} for each in plan.changes]}}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (SwapColumns("title", "state", Phase.pre), SwapColumns("title", "state", Phase.pre)),
        (
            RenameColumn("title", "subject", Phase.pre),
            AddColumn("title", INTEGER, True, None, OldRowsRead()),
        ),
    ],
)
def test_a_former_name_of_an_earlier_change_is_out_of_the_way_first(first: Operation, second: Operation) -> None:
    """What says that a column was renamed once says nothing more when that is live."""
    server = LiveFiles()
    store = PenstockStore("live", StoreSettings("penstock"), server, lambda _: NOTHING_SAID)
    for number, operation in enumerate((first, second)):
        migration = Migration(f"m{number}", QualifiedName("public", "issues"), HASH, HASH, False, (operation,))
        for step in store.plan(migration, Phase.pre):
            before = load_files(dict(server.live_files()))
            store.carry_out(step)
            made = plan_loaded(before, load_files(dict(server.live_files())))
            assert made.changes, "a server makes no deployment of nothing"
            assert store.is_done(step)
    assert server.deployed == ["m0.pre", "m1.pre.former-names", "m1.pre"]
    assert {each.strategy for each in made.resources if each.name == "issues"} == {"in_place"}


def test_a_phase_is_one_deployment_of_what_is_live() -> None:
    server = LiveFiles()
    store = PenstockStore("live", StoreSettings("penstock"), server, lambda _: NOTHING_SAID)
    migration = Migration("m1", QualifiedName("public", "issues"), HASH, HASH, False, (DropColumn("big"),))
    (step,) = store.plan(migration, Phase.post)
    server.files = {**FILES, "penstock.toml": 'dialect = "spark"\n'}
    assert not store.is_done(step)
    store.carry_out(step)
    assert store.is_done(step)
    assert server.files["penstock.toml"] == 'dialect = "spark"\n', "what others deployed meanwhile stays"
    store.take_back([step])
    assert server.files["datasources/issues.datasource"] == ISSUES
    assert server.deployed == ["m1.post", "m1.post.undo"]
    assert json.loads(step.text)["files"].keys() == {"datasources/issues.datasource"}
    assert MemoryJournal().records() == []


def test_differences_from_postgres() -> None:
    labels = (EnumLabel(1, "open"), EnumLabel(2, "new"))
    columns = (
        ReplicatedColumn(1, "id", BIGINT, not_null=True),
        ReplicatedColumn(2, "project", BIGINT, not_null=True),
        ReplicatedColumn(3, "title", TEXT),
        ReplicatedColumn(4, "big", INTEGER, not_null=True),
        ReplicatedColumn(5, "state", ReplicatedType("public.state", labels=labels), not_null=True),
        ReplicatedColumn(6, "late", TEXT),
    )
    store = PenstockStore("live", StoreSettings("penstock"), LiveFiles(), lambda _: NOTHING_SAID)
    found = store.differences(ReplicatedTable(1, QualifiedName("public", "issues"), columns))
    assert [(each.column, each.loses_values) for each in found] == [
        ("project", True),
        ("title", True),
        ("big", False),
        ("state", False),
        ("late", True),
    ]
