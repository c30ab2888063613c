"""Deployments from plan to retirement, on a real pipeline with rows in it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from deploy.conftest import Running
from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.lifecycle.undo import is_undone
from penstock.deploy.parity.comparison_scope import ComparisonScope
from penstock.errors import Conflict, InvalidProject, InvalidQuery, InvalidRequest, NotFound
from penstock.lake.tables import physical_tables
from python_projects import problems_of, read_project
from waiting import wait_until

LANDING = """SCHEMA >
    `id` UInt32 `json:$.id`,
    `code` String `json:$.code`
{more}
ENGINE MergeTree
ENGINE_SORTING_KEY id
"""
COUNTS = """SCHEMA >
    `code` String,
    `n` AggregateFunction(count)

ENGINE AggregatingMergeTree
ENGINE_SORTING_KEY code
"""
VIEW = """NODE counts
SQL >
    SELECT code, countState() AS n FROM {source} GROUP BY code
TYPE materialized
DATASOURCE {target}
"""
ENDPOINT = """NODE answer
SQL >
    SELECT code, countMerge(n) AS n FROM {target} GROUP BY code ORDER BY code
TYPE endpoint
"""


def project(name: str, more: str = "") -> dict[str, str | None]:
    """A landing table, a view of counts and an endpoint, all called after `name`."""
    return {
        f"datasources/{name}.datasource": LANDING.format(more=more),
        f"datasources/{name}_counts.datasource": COUNTS,
        f"pipes/{name}_view.pipe": VIEW.format(source=name, target=f"{name}_counts"),
        f"pipes/{name}_answer.pipe": ENDPOINT.format(target=f"{name}_counts"),
    }


def row(id: int, code: object = "7", **more: object) -> dict[str, object]:
    return {"id": id, "code": code, **more}


def answer(running: Running, name: str, deployment: str = "live") -> list[tuple[object, ...]]:
    return running.pipeline.reader.endpoint(f"{name}_answer", {}, deployment).rows


def test_rows_pass_two_views_and_the_others_go_to_quarantine(running: Running) -> None:
    assert running.deploy(project("a")).state == "live"
    running.post("a", [row(1), row(2, "x"), row(3), {"id": "no"}])
    assert answer(running, "a") == [("7", 2), ("x", 1)]
    assert running.ask("SELECT raw, problems FROM a_quarantine") == [
        ('{"id": "no"}', ['id: "no" is not a UInt32', "code: is absent and has no default"])
    ]


@pytest.mark.parametrize(("name", "strategy"), [("b", "bridge"), ("bf", "forward")])
def test_retype_then_rollback_then_promote_again(running: Running, name: str, strategy: str) -> None:
    running.deploy(project(name))
    running.post(name, [row(1), row(2, "8")])
    new = {
        **project(name),
        f"datasources/{name}.datasource": LANDING.format(more="").replace("`code` String", "`code` UInt16")
        + "\nFORWARD_QUERY >\n    SELECT * REPLACE (toUInt16(code) AS code)\n",
        "penstock.toml": f'[deploy.strategy]\n{name} = "{strategy}"\n',
    }
    new[f"pipes/{name}_view.pipe"] = VIEW.format(source=name, target=f"{name}_counts").replace(
        "SELECT code,", "SELECT toString(code) AS code,"
    )
    staged = running.deploy(new, promote=False)
    assert staged.state == "ready", staged.error
    assert running.strategies(staged)[name] == strategy
    assert running.strategies(staged)[f"{name}_counts"] == "recompute"
    assert running.strategies(staged).get("a", "none") == "none"
    running.post(name, [row(3), row(4, "words")])
    assert answer(running, name) == [("7", 2), ("8", 1), ("words", 1)]
    assert answer(running, name, "staging") == [("7", 2), ("8", 1)]
    assert [code for (code,) in running.ask(f"SELECT code FROM {name} ORDER BY id", "staging")] == [7, 8, 7]
    assert running.ask(f"SELECT raw FROM {name}_quarantine", "staging") == [('{"id": 4, "code": "words"}',)]
    running.promote()
    running.post(name, [row(5, "9")])
    assert answer(running, name) == [("7", 2), ("8", 1), ("9", 1)]
    running.rollback()
    assert answer(running, name) == [("7", 2), ("8", 1), ("9", 1), ("words", 1)]
    running.promote()
    assert answer(running, name) == [("7", 2), ("8", 1), ("9", 1)]
    assert running.pipeline.deployer.retire(None).state == "retired"
    running.post(name, [row(6, "9")])
    assert answer(running, name) == [("7", 2), ("8", 1), ("9", 2)]


def test_a_column_is_added_in_place_and_live_does_not_see_it(running: Running) -> None:
    running.deploy(project("c"))
    running.post("c", [row(1), row(2)])
    more = {
        "datasources/c.datasource": LANDING.format(more="").replace(
            "`json:$.code`", "`json:$.code`,\n    `n` UInt8 `json:$.n` DEFAULT 5"
        )
    }
    staged = running.deploy(more, promote=False)
    assert staged.state == "ready", staged.error
    assert running.strategies(staged)["c"] == "in_place"
    assert running.strategies(staged)["c_counts"] in ("none", "reuse")
    running.post("c", [row(3, n=9), row(4)])
    assert running.ask("SELECT id, n FROM c ORDER BY id", "staging") == [(1, 5), (2, 5), (3, 9), (4, 5)]
    with pytest.raises(InvalidQuery):
        running.ask("SELECT n FROM c")
    assert len(running.ask("SELECT * FROM c")[0]) == 2
    # A row that only the old version accepts: the versions part, and each stays right.
    running.post("c", [row(5, n="many"), row(6, n=1)])
    assert running.ask("SELECT count() FROM c") == [(6,)]
    assert running.ask("SELECT count() FROM c", "staging") == [(5,)]
    assert answer(running, "c") == [("7", 6)]
    assert answer(running, "c", "staging") == [("7", 5)]
    assert running.ask("SELECT count() FROM c_quarantine") == [(0,)]
    assert running.ask("SELECT count() FROM c_quarantine", "staging") == [(1,)]
    running.promote()
    running.post("c", [row(7, n="more"), row(8, n=2)])
    assert answer(running, "c") == [("7", 6)]
    assert answer(running, "c", "previous") == [("7", 8)]
    running.pipeline.deployer.retire(None)
    running.post("c", [row(9)])
    assert answer(running, "c") == [("7", 7)]


def test_a_failing_cast_fails_the_deployment_and_leaves_live_alone(running: Running) -> None:
    running.deploy(project("d"))
    running.post("d", [row(1, "7"), row(2, "words")])
    text = (
        LANDING.format(more="").replace("`code` String", "`code` UInt16")
        + "\nFORWARD_QUERY >\n    SELECT * REPLACE (toUInt16(code) AS code)\n"
    )
    view = VIEW.format(source="d", target="d_counts").replace("SELECT code,", "SELECT toString(code) AS code,")
    failed = running.attempt({"datasources/d.datasource": text, "pipes/d_view.pipe": view})
    assert failed.state == "failed"
    assert failed.error is not None
    assert "words" in str(failed.error["error"])
    assert answer(running, "d") == [("7", 1), ("words", 1)]
    assert running.pipeline.deployer.discard(str(failed.id)).state == "discarded"


def test_a_type_change_without_forward_query_is_refused_with_a_suggestion(running: Running) -> None:
    running.deploy(project("e"))
    with pytest.raises(InvalidProject) as raised:
        running.deploy({"datasources/e.datasource": LANDING.format(more="").replace("`code` String", "`code` UInt16")})
    told = " ".join(str(problem) for problem in raised.value.problems)
    assert "datasources/e.datasource:" in told
    assert "FORWARD_QUERY" in told


def test_nothing_to_deploy(running: Running) -> None:
    running.deploy(project("f"))
    again = running.pipeline.deployer.deploy(running.files, DeployOptions(False, True, False, None))
    assert again.id == 0
    assert again.plan["changes"] == []


def test_token_lines_of_the_live_version_grant(running: Running) -> None:
    secret = running.pipeline.tokens.create("tl", ("declared",))

    def may(scope: str, name: str) -> bool:
        token = running.pipeline.find_token(secret)
        assert token is not None
        return token.allows(scope, name)

    running.deploy(project("tl"))
    assert not may("read", "tl_answer")
    files = project("tl")
    lines = {
        "pipes/tl_answer.pipe": f"TOKEN tl READ\n{files['pipes/tl_answer.pipe']}",
        "datasources/tl.datasource": f"TOKEN tl APPEND\n{files['datasources/tl.datasource']}",
    }
    running.deploy(lines, promote=False)
    assert not may("read", "tl_answer"), "nothing is granted before it is live"
    running.promote()
    assert may("read", "tl_answer")
    assert may("append", "tl")
    assert not may("read", "tl")
    running.rollback()
    assert not may("append", "tl")


def test_removing_is_destructive_and_can_be_rolled_back(running: Running) -> None:
    running.deploy(project("g"))
    running.post("g", [row(1)])
    gone: dict[str, str | None] = dict.fromkeys(project("g"))
    with pytest.raises(InvalidProject) as raised:
        running.deploy(gone)
    assert "--allow-destructive-operations" in str(raised.value.problems)
    assert running.deploy(gone, destructive=True).state == "live"
    with pytest.raises(InvalidQuery):
        running.ask("SELECT * FROM g")
    running.rollback()
    running.post("g", [row(2)])
    assert answer(running, "g") == [("7", 2)]


def test_a_deleted_data_source_does_not_come_back_with_its_rows(running: Running) -> None:
    running.deploy(project("k"))
    running.post("k", [row(1)])
    running.deploy(dict.fromkeys(project("k")), destructive=True)
    running.deploy(project("k"))
    assert answer(running, "k") == []
    running.post("k", [row(2)])
    assert answer(running, "k") == [("7", 1)]


def test_a_plan_that_live_left_behind_is_not_promoted(running: Running) -> None:
    running.deploy(project("h"))
    staged = running.deploy(
        {
            "datasources/h.datasource": LANDING.format(more="").replace(
                "ENGINE_SORTING_KEY id", "ENGINE_SORTING_KEY code"
            )
        },
        promote=False,
    )
    assert staged.state == "ready"
    assert running.strategies(staged)["h"] == "in_place"
    running.deploy(project("i"))
    with pytest.raises(Conflict):
        running.pipeline.deployer.promote(str(staged.id))
    running.pipeline.deployer.discard(str(staged.id))


def test_mistakes_of_the_user_are_refused_with_the_reason(running: Running) -> None:
    running.deploy(project("j"))
    with pytest.raises(NotFound) as raised:
        running.pipeline.ingestion.append("jj", b"{}", None)
    assert raised.value.hint == "did you mean `j`?"
    with pytest.raises(InvalidRequest):
        running.pipeline.ingestion.append("j", b"no json\nat all", None)
    with pytest.raises(NotFound):
        running.pipeline.reader.endpoint("j_answr", {}, "live")
    with pytest.raises(InvalidQuery) as wrong:
        running.ask("SELECT cde FROM j")
    assert "code" in str(wrong.value.problems[0])


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("intDiv(1, min(id) - 1)", "zero"),
        ("changeYear(toDate32(min(id)), 0)", "outside of the years 1 to 9999"),
    ],
)
def test_what_rows_make_fail_is_a_problem_of_the_endpoint(running: Running, value: str, said: str) -> None:
    first = "NODE first\nSQL >\n    SELECT 1 AS one\n\n"
    pipe = f"{first}NODE answer\nSQL >\n    SELECT {value} AS v FROM rf\nTYPE endpoint\n"
    running.deploy({**project("rf"), "pipes/rf_fails.pipe": pipe})
    running.post("rf", [row(1)])
    with pytest.raises(InvalidQuery) as wrong:
        running.pipeline.reader.endpoint("rf_fails", {}, "live")
    (problem,) = wrong.value.problems
    assert said in problem.message
    assert problem.location is not None
    assert (problem.location.file, problem.location.line) == ("pipes/rf_fails.pipe", 7)


@pytest.mark.slow
def test_a_ttl_hides_rows_of_its_version_and_a_shorter_one_needs_permission(running: Running) -> None:
    name = "ttl"
    text = LANDING.format(more="").replace("`json:$.code`", "`json:$.code`,\n    `at` DateTime `json:$.at`")
    running.deploy({**project(name), f"datasources/{name}.datasource": text})
    running.post(name, [row(1, at="2001-01-01 00:00:00"), row(2, at="2099-01-01 00:00:00")])
    shorter = {f"datasources/{name}.datasource": text + "ENGINE_TTL at + INTERVAL 30 DAY\n"}
    with pytest.raises(InvalidProject) as raised:
        running.deploy(shorter)
    assert "hides 1 row" in str(raised.value.problems)
    protected = {path: text + "LIFE_CYCLE deletion_protected\n" for path, text in shorter.items()}
    with pytest.raises(InvalidProject) as raised:
        running.deploy(protected, promote=False, destructive=True)
    assert [each.code for each in raised.value.problems] == ["deletion-protected"]
    staged = running.deploy(shorter, promote=False, destructive=True)
    assert running.strategies(staged)[name] == "in_place"
    assert running.ask(f"SELECT id FROM {name}", "staging") == [(2,)]
    assert running.ask(f"SELECT count() FROM {name}") == [(2,)]
    running.promote()
    spelt = text + "ENGINE_TTL at + toIntervalDay(30)\n"
    assert (
        running.pipeline.deployer.deploy(
            {**running.files, f"datasources/{name}.datasource": spelt}, DeployOptions(True, True, False, None)
        ).plan["changes"]
        == []
    )
    running.rollback()
    assert running.ask(f"SELECT count() FROM {name}") == [(2,)]
    running.pipeline.deployer.discard("staging")


@pytest.mark.slow
def test_a_null_engine_keeps_no_rows_and_its_views_keep_theirs(running: Running) -> None:
    name = "null"
    text = LANDING.format(more="").replace("ENGINE MergeTree\nENGINE_SORTING_KEY id", "ENGINE Null")
    files = {**project(name), f"datasources/{name}.datasource": text}
    assert running.deploy(files).state == "live"
    running.post(name, [row(1), row(2, "8")])
    assert running.ask(f"SELECT count() FROM {name}") == [(0,)]
    assert answer(running, name) == [("7", 1), ("8", 1)]
    view = VIEW.format(source=name, target=f"{name}_counts").replace("FROM null", "FROM null WHERE code != '8'")
    with pytest.raises(InvalidProject) as raised:
        running.deploy({f"pipes/{name}_view.pipe": view})
    assert "2 rows would be lost" in str(raised.value.problems)
    kept = COUNTS + "FORWARD_QUERY >\n    SELECT *\n"
    staged = running.deploy(
        {f"pipes/{name}_view.pipe": view, f"datasources/{name}_counts.datasource": kept}, promote=False
    )
    assert staged.state == "ready", staged.error
    running.post(name, [row(3), row(4, "8")])
    assert answer(running, name, "staging") == [("7", 2), ("8", 1)]
    assert answer(running, name) == [("7", 2), ("8", 2)]
    running.pipeline.deployer.discard("staging")
    begun = running.deploy({f"pipes/{name}_view.pipe": view}, promote=False, destructive=True)
    assert begun.state == "ready", begun.error
    running.post(name, [row(5), row(6, "8")])
    assert answer(running, name, "staging") == [("7", 1)]
    running.pipeline.deployer.discard("staging")


@pytest.mark.slow
def test_a_data_source_that_was_null_begins_without_rows(running: Running) -> None:
    name, text = "passing", LANDING.format(more="")
    null = text.replace("ENGINE MergeTree\nENGINE_SORTING_KEY id", "ENGINE Null")
    assert running.deploy({**project(name), f"datasources/{name}.datasource": null}).state == "live"
    running.post(name, [row(1), row(2, "8")])
    staged = running.deploy({f"datasources/{name}.datasource": text}, promote=False)
    assert running.strategies(staged)[f"{name}_counts"] == "reuse"
    running.post(name, [row(3), row(4, "9")])
    counts = [("7", 2), ("8", 1), ("9", 1)]
    assert running.ask(f"SELECT id FROM {name} ORDER BY id", "staging") == [(3,), (4,)]
    assert running.ask(f"SELECT id FROM {name}") == []
    assert (answer(running, name, "staging"), answer(running, name)) == (counts, counts)
    running.promote()
    running.pipeline.deployer.retire(None)
    running.post(name, [row(5)])
    assert running.ask(f"SELECT id FROM {name} ORDER BY id") == [(3,), (4,), (5,)]
    view = VIEW.format(source=name, target=f"{name}_counts").replace(f"FROM {name}", f"FROM {name} WHERE code != '8'")
    with pytest.raises(InvalidProject) as raised:
        running.deploy({f"pipes/{name}_view.pipe": view})
    assert "no longer has all its rows" in str(raised.value.problems)


def test_a_copy_of_a_table_that_lost_rows_is_known_to_lack_them(running: Running) -> None:
    """What was made of these rows would be lost; of what is made of the copy, nothing is missing."""
    name = "lacking"
    running.deploy(project(name, ", `size` String `json:$.size`"))
    running.post(name, [row(1, size="5"), row(2, "8", size="6")])
    receipt = running.pipeline.deletion.delete(name, "code = '8'", "")
    running.pipeline.ingestion.wait(receipt, 60)
    wait_until(lambda: running.ask(f"SELECT id FROM {name}") == [(1,)])
    made = running.deploy(
        {
            f"datasources/{name}.datasource": LANDING.format(more=", `size` UInt16 `json:$.size`")
            + "\nFORWARD_QUERY >\n    SELECT * REPLACE (toUInt16(size) AS size)\n",
            "penstock.toml": f'[deploy.strategy]\n{name} = "forward"\n',
        }
    )
    strategies = running.strategies(made)
    assert (strategies[name], strategies[f"{name}_counts"]) == ("forward", "reuse")
    assert answer(running, name) == [("7", 1), ("8", 1)]
    added = {
        f"datasources/{name}_later.datasource": COUNTS,
        f"pipes/{name}_later_view.pipe": VIEW.format(source=name, target=f"{name}_later"),
        "penstock.toml": None,
    }
    running.deploy(added)
    later = f"SELECT code, countMerge(n) FROM {name}_later GROUP BY code"
    assert running.ask(later) == [("7", 1)]

    def changed(view: str, target: str) -> dict[str, str | None]:
        text = VIEW.format(source=name, target=target)
        return {f"pipes/{view}.pipe": text.replace("GROUP BY", "WHERE id != 9 GROUP BY")}

    with pytest.raises(InvalidProject) as raised:
        running.deploy(changed(f"{name}_view", f"{name}_counts"))
    assert "no longer has all its rows" in str(raised.value.problems)
    assert running.deploy(changed(f"{name}_later_view", f"{name}_later")).state == "live"
    assert running.ask(later) == [("7", 1)]


@pytest.mark.slow
def test_rows_are_counted_before_they_are_converted(running: Running) -> None:
    name = "checked"
    running.deploy(project(name))
    running.post(name, [row(1, "7"), row(2, "words"), row(3, "words"), row(4, "more")])
    retyped = LANDING.format(more="").replace("`code` String", "`code` UInt16")
    strict = retyped + "\nFORWARD_QUERY >\n    SELECT * REPLACE (toUInt16(code) AS code)\n"
    lenient = retyped + "\nFORWARD_QUERY >\n    SELECT * REPLACE (accurateCastOrDefault(code, 'UInt16') AS code)\n"
    view = VIEW.format(source=name, target=f"{name}_counts").replace("SELECT code,", "SELECT toString(code) AS code,")
    files = {**running.files, f"pipes/{name}_view.pipe": view}
    check = DeployOptions(True, True, False, None)
    with pytest.raises(InvalidProject) as raised:
        running.pipeline.deployer.deploy({**files, f"datasources/{name}.datasource": strict}, check)
    (fails,) = [each for each in raised.value.problems if each.code == "rows-do-not-convert"]
    assert "3 rows" in fails.message
    assert "'words' (2), 'more' (1)" in fails.message
    assert fails.location is not None
    assert fails.location.file == f"datasources/{name}.datasource"
    assert strict.splitlines()[fails.location.line - 1] == "    SELECT * REPLACE (toUInt16(code) AS code)"
    changed = {**files, f"datasources/{name}.datasource": lenient}
    told = running.pipeline.deployer.deploy(changed, check).plan["problems"]
    (default,) = [each for each in told if each["code"] == "rows-take-a-default"]  # type: ignore[attr-defined]
    assert "3 rows" in default["message"]
    unchecked = {**files, f"datasources/{name}.datasource": strict}
    with pytest.raises(InvalidProject) as raised:
        running.pipeline.deployer.deploy(unchecked, DeployOptions(check_rows=True))
    assert "'words' (2), 'more' (1)" in str(raised.value.problems)
    failed = running.attempt({f"pipes/{name}_view.pipe": view, f"datasources/{name}.datasource": strict})
    assert failed.state == "failed"
    assert "'words' (2)" in str(failed.error)
    assert answer(running, name) == [("7", 1), ("more", 1), ("words", 2)]
    running.pipeline.deployer.discard(str(failed.id))
    assert running.deploy({f"pipes/{name}_view.pipe": view, f"datasources/{name}.datasource": lenient}).state == "live"
    assert answer(running, name) == [("0", 3), ("7", 1)]


@pytest.mark.slow
def test_replacing_acts_when_rows_are_read(running: Running) -> None:
    name = "replaced"
    running.deploy(project(name))
    running.post(name, [row(1, "old"), row(2, "only")])
    running.post(name, [row(1, "new")])
    text = LANDING.format(more="").replace("ENGINE MergeTree", "ENGINE ReplacingMergeTree")
    staged = running.deploy({f"datasources/{name}.datasource": text}, promote=False)
    assert running.strategies(staged)[name] == "in_place"
    assert running.strategies(staged)[f"{name}_counts"] in ("none", "reuse")
    assert running.ask(f"SELECT id, code FROM {name} FINAL ORDER BY id", "staging") == [(1, "new"), (2, "only")]
    assert running.ask(f"SELECT count() FROM {name}", "staging") == [(3,)]
    with pytest.raises(InvalidQuery):
        running.ask(f"SELECT count() FROM {name} FINAL")
    running.promote()
    by_code = text.replace("ENGINE_SORTING_KEY id", "ENGINE_SORTING_KEY code\nENGINE_VER id")
    running.deploy({f"datasources/{name}.datasource": by_code}, promote=False)
    running.post(name, [row(7, "only"), row(3, "only")])
    found = running.ask(f"SELECT code, id FROM {name} FINAL ORDER BY code", "staging")
    assert found == [("new", 1), ("old", 1), ("only", 7)]
    assert running.ask(f"SELECT id, code FROM {name} FINAL ORDER BY id") == [
        (1, "new"),
        (2, "only"),
        (3, "only"),
        (7, "only"),
    ]
    running.pipeline.deployer.discard("staging")


@pytest.mark.slow
def test_a_forward_query_computes_a_column_of_the_same_type(running: Running) -> None:
    name = "louder"
    running.deploy(project(name))
    running.post(name, [row(1, "a"), row(2, "b")])
    text = LANDING.format(more="") + "\nFORWARD_QUERY >\n    SELECT * REPLACE (upper(code) AS code)\n"
    staged = running.deploy({f"datasources/{name}.datasource": text}, promote=False)
    assert staged.state == "ready", staged.error
    assert running.strategies(staged)[name] == "bridge"
    running.post(name, [row(3, "a")])
    assert answer(running, name) == [("a", 2), ("b", 1)]
    assert answer(running, name, "staging") == [("A", 1), ("B", 1), ("a", 1)]
    running.promote()
    assert running.ask(f"SELECT code FROM {name} ORDER BY id") == [("A",), ("B",), ("a",)]
    again = running.pipeline.deployer.deploy(running.files, DeployOptions(True, True, False, None))
    assert again.plan["changes"] == []


def test_a_discard_that_failed_on_the_way_is_repeated(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while the server runs: its tables do not stay until the next start."""
    staged = running.deploy(project("halfway"), promote=False)
    tables = {table.id for table in staged.manifest.tables if "halfway" in table.id}
    catalog = running.pipeline.core.warehouse.lake.catalog

    def fail(*_: object) -> None:
        raise OSError("the catalog is away")

    monkeypatch.setattr(physical_tables, "drop_table", fail)
    with pytest.raises(OSError, match="away"):
        running.pipeline.deployer.discard(str(staged.id))
    running.pipeline.deployment_cleanup.run_once()
    assert tables
    assert all(catalog.table_exists(("penstock", table)) for table in tables)
    monkeypatch.undo()
    running.pipeline.deployment_cleanup.run_once()
    assert is_undone(running.pipeline.store, staged)
    assert not any(catalog.table_exists(("penstock", table)) for table in tables)


def test_the_candidate_of_a_call_is_found_until_it_is_live(running: Running) -> None:
    made = running.deploy(project("rd"), promote=False)
    files, same, deployer = dict(made.files), DeployOptions(promote=False), running.pipeline.deployer
    found = deployer.find_repeated(files, same)
    assert (found is not None, found and found.id, found and found.state) == (True, made.id, "ready")
    assert deployer.find_repeated(files, DeployOptions()) is None
    assert deployer.find_repeated({**files, "pipes/rd_more.pipe": ""}, same) is None
    running.promote(str(made.id))
    assert deployer.find_repeated(files, same) is None


def test_a_deployment_is_told_to_be_live_once_queries_read_it(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state store has the switch a moment before queries follow it; a watcher is told when they do."""
    staged = running.deploy(project("told"), promote=False)
    board, deployer = running.pipeline.core.board, running.pipeline.deployer
    refresh, watches, early = board.refresh, [], []
    with ThreadPoolExecutor() as threads:

        def refresh_late() -> None:
            assert running.pipeline.store.find(str(staged.id)).state == "live"
            watches.append(threads.submit(lambda: [each.data.get("state") for each in deployer.events(staged.id)]))
            wait(watches, 1)  # what must not end while queries read the version before
            early.append(watches[0].done())
            refresh()

        monkeypatch.setattr(board, "refresh", refresh_late)
        running.promote(str(staged.id))
        assert watches[0].result(60)[-1] == "live"
    assert early == [False]


VERSIONS = """
class Old(BaseModel):
    id: Key[UInt32]
    code: str

class New(Old):
    note: str

old = OlapTable[Old]("moved", OlapConfig(version="0.0"))
"""
NEWER = """
new = OlapTable[New]("moved", OlapConfig(version="0.1", order_by_fields=["code", "id"]))
MaterializedView[New](MaterializedViewOptions(
    materialized_view_name="move", select_tables=[old],
    select_statement=f"SELECT id, code, 'old' AS note FROM {old.name}"), target_table=new)
"""
MOVED = """
new = OlapTable[New]("moved", OlapConfig(version="0.1", order_by_fields=["code", "id"], forward_query="SELECT *"))
"""


def python_files(folder: Path, main: str) -> dict[str, str | None]:
    """The datafiles of a project in Python."""
    read = read_project(folder, main)
    assert problems_of(read) == []
    return {path: text for path, text in read.loaded.files.items() if path != "penstock.toml"}


def test_versions_of_a_table_have_the_same_rows_at_the_seam(running: Running, tmp_path: Path) -> None:
    running.deploy(python_files(tmp_path, VERSIONS))
    with running.posting("moved_0_0", lambda number: row(number, str(number % 3))) as posting:
        wait_until(lambda: running.ask("SELECT count() FROM moved_0_0")[0][0] != 0, 60)
        done = running.deploy(python_files(tmp_path, VERSIONS + NEWER))
        assert done.state == "live"
        assert done.plan["rows_moved"] != 0
        posting.wait_for(200)
        report = running.pipeline.comparison.compare_tables("live", "moved_0_0", "moved_0_1", ComparisonScope())
        assert posting.posted > 200, "rows arrive while the versions are compared"
    running.catch_up()
    ids = [(number,) for number in range(posting.posted)]
    for name in ("moved_0_0", "moved_0_1"):
        assert running.ask(f"SELECT id FROM {name} ORDER BY id") == ids, name
    found = report.table
    assert (found.outcome, found.left_rows, found.left_out) == (
        "same",
        found.right_rows,
        {"note": "only `moved_0_1` has it"},
    ), found
    running.post("moved_0_1", [{**row(7, "x"), "note": "new"}])
    running.catch_up()
    more = running.pipeline.comparison.compare_tables("live", "moved_0_0", "moved_0_1", ComparisonScope()).table
    assert (more.outcome, more.rows.only_left, more.rows.only_right) == ("differs", 0, 1), more
    ids = sorted([*ids, (7,)])
    kept = python_files(tmp_path, VERSIONS + MOVED)
    running.deploy({**kept, "materializations/move.pipe": None})
    running.deploy({"datasources/moved_0_0.datasource": None}, destructive=True)
    assert running.ask("SELECT id FROM moved_0_1 ORDER BY id") == ids


FRAMES = """
from pyspark.sql import DataFrame, functions as F

class FrameRow(BaseModel):
    id: Key[UInt32]
    code: str

class FrameCount(BaseModel):
    code: Key[str]
    n: UInt64

frames = OlapTable[FrameRow]("frames")
by_frame, by_sql = [OlapTable[FrameCount](f"frames_by_{how}", OlapConfig(engine=SummingMergeTreeEngine("n")))
                    for how in ("frame", "sql")]

@materialized_view(target=by_frame, sources=[frames])
def frames_in_python(rows: DataFrame) -> DataFrame:
    return rows.groupBy(F.upper("code").alias("code")).agg(F.count("*").alias("n"))

@materialized_view(target=by_sql)
def frames_in_sql():
    return f"SELECT upper(code) AS code, count() AS n FROM {frames} GROUP BY code"
"""


def test_a_view_over_dataframes_and_its_sql_stay_equal(running: Running, tmp_path: Path) -> None:
    """From the rows that are there, through rows that arrive during the deployment, to a changed view beside it."""
    running.deploy(python_files(tmp_path, FRAMES.partition("@materialized_view")[0]))
    text = "SELECT code, sum(n) FROM {} GROUP BY code ORDER BY code"
    with running.posting("frames", lambda number: row(number, "xyz"[number % 3])) as posting:
        wait_until(lambda: running.ask("SELECT count() FROM frames")[0][0] != 0, 60)
        made = running.deploy(python_files(tmp_path, FRAMES))
        assert made.state == "live", made.error
        posting.wait_for(60)
        other = FRAMES.replace("upper", "lower")
        staged = running.deploy(python_files(tmp_path, other), promote=False)
        assert staged.state == "ready", staged.error
        assert {running.strategies(staged)[f"frames_by_{how}"] for how in ("frame", "sql")} == {"recompute"}
        posting.wait_for(120)
    running.catch_up()
    thirds = [len(range(start, posting.posted, 3)) for start in range(3)]
    for version, letters in (("live", "XYZ"), ("staging", "xyz")):
        wanted = list(zip(letters, thirds, strict=True))
        for how in ("frame", "sql"):
            assert running.ask(text.format(f"frames_by_{how}"), version) == wanted, (version, how)
    running.promote()
    again = running.pipeline.deployer.deploy(
        {**running.files, **{path: text or "" for path, text in python_files(tmp_path, f"# no news\n{other}").items()}},
        DeployOptions(False, True, False, None),
    )
    assert again.plan["changes"] == []
