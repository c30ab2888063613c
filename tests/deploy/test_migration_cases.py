"""Golden cases of the planner on Spark, side by side in one deployment, while rows keep arriving.

The answers of live stay those of the version before, the answers of staging are those of ClickHouse; then the version
is promoted, rolled back, promoted, and the one before is retired. Below are tests of one case at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import NAMESPACE_URL, uuid5

import pytest

from deploy.conftest import Running
from deploy.migration_cases import Case, Posting, batch, landings, load, row, together
from deploy.migration_truth import ClickHouse, Rows, plain, question
from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.errors import Conflict, InvalidProject
from penstock.model.deployment import Deployment
from penstock.parse.project_loader import load_files
from waiting import wait_until

GROUPS = {
    "landing": (
        "02_add_columns",
        "03_computed_column_above_a_chain",
        "05_rename_through_a_chain",
        "06_widen",
        "08_from_nullable_by_forward_query",
        "14_sessions_filter_keeping_history",
        "16_landing_type_that_one_view_reads",
        "21_new_view_backfill_skip",
        "22_delete",
    ),
    "joins and defaults": (
        "42_another_case_in_spark",
        "43_natural_join_a_common_column",
        "44_the_sampling_key",
        "50_a_default_over_another_default",
        "50_a_default_over_another_path",
        "50_a_default_over_another_zone",
        "54_from_null_with_another_query",
    ),
    "names": (
        "41_a_name_with_a_sign_computed_anew",
        "46_tuple_field_added",
        "46_tuple_fields_change_places",
        "47_names_move_on",
        "47_two_columns_exchange_their_names",
        "48_an_alias_of_a_forward_query",
        "48_an_alias_of_a_forward_query_copied",
        "53_date32_below_arithmetic",
    ),
    "known values": (
        "60_a_column_added_throughout",
        "62_queries_written_otherwise",
        "63_functions_of_stored_columns",
        "64_numbers_widened_below_their_values",
    ),
    "values of any type": ("77_values_of_any_type_before_a_cut",),
    "never null": ("66_nullable_with_a_value_in_its_place",),
    "64 bits": ("71_numbers_of_64_bits",),
    "of values": (
        "78_decimals_widened_below_their_values",
        "79_conditions_on_known_floats",
        "80_functions_that_cannot_fail",
        "81_columns_of_targets_renamed",
        "82_defaults_of_stored_columns",
    ),
    "kept by a condition": ("73_rows_kept_by_a_condition",),
    "rolled up": ("67_keys_rolled_up", "68_types_of_a_chain"),
    "through views": ("70_views_seen_through_views",),
    "finished states": ("69_finished_states",),
    "aggregates of added columns": ("75_aggregates_of_an_added_column", "75_aggregates_that_depend_on_the_rows"),
    "array joins": (
        "74_array_joins_written_otherwise",
        "74_array_joins_of_other_rows",
        "74_finer_times_beside_array_join",
    ),
    "stored values": ("87_types_that_hold_what_is_stored", "88_views_over_columns_without_null"),
    "of other tables": ("72_rows_of_other_tables",),
    "views": (
        "07_to_nullable",
        "09_retype_or_default",
        "09_retype_to_date",
        "11_keys",
        "14_sessions_new_column",
        "15_state_of_another_type_above_a_view",
        "17_only_daily_changes",
        "18_landing_changed_target_keeps_rows",
        "20_independent_chain",
    ),
}
COMPUTED = ("landing",)
"""In these groups no column is written before the promotion: its readers compute it."""


class Versions:
    """Both versions of the cases: what Penstock answers against what ClickHouse says of the same rows."""

    def __init__(self, running: Running, clickhouse: ClickHouse, cases: list[Case]):
        self._running, self._clickhouse, self._cases = running, clickhouse, cases
        self._cuts: dict[str, int] = {}

    def before(self, deployment: str) -> None:
        for case in self._cases:
            version = self._clickhouse.before(case)
            wanted = self._clickhouse.answers(version)
            found = self._answers(case, "before", deployment)
            assert different(found, wanted) == {}, (case.folder, deployment)

    def after(self, deployment: str) -> None:
        for case in self._cases:
            found = self._answers(case, "after", deployment)
            cut = self._cuts.get(case.folder) or self._cut(case, found)
            self._cuts[case.folder] = cut
            wanted = self._clickhouse.answers(self._clickhouse.after(case, cut))
            assert different(found, wanted) == {}, (case.folder, deployment, f"{cut} batches before")

    def _cut(self, case: Case, found: dict[str, Rows]) -> int:
        """How many batches came before the deployment, which the thread that posts cannot know: the
        number that fits, and then stays the same."""
        most = max(map(len, case.sent.values()))
        for cut in range(1, most):
            if self._clickhouse.answers(self._clickhouse.after(case, cut)) == found:
                return cut
        return most

    def _answers(self, case: Case, side: str, deployment: str) -> dict[str, Rows]:
        sources = load_files(getattr(case, side)).project.datasources
        return {each.name: plain(self._running.pipeline.reader.sql(question(each), deployment)) for each in sources}


def different(found: dict[str, Rows], wanted: dict[str, Rows]) -> dict[str, tuple[list[str], list[str]]]:
    """By table, the rows that are too many and those that are missing: few, so that a failure shows them."""
    assert found.keys() == wanted.keys()
    differ = {
        name: (Counter(map(repr, found[name])), Counter(map(repr, rows)))
        for name, rows in wanted.items()
        if rows != found[name]
    }
    return {name: (list((a - b).elements()), list((b - a).elements())) for name, (a, b) in differ.items()}


@pytest.fixture(scope="module")
def clickhouse() -> ClickHouse:
    return ClickHouse()


@pytest.mark.parametrize("folder", [folder for group in sorted(GROUPS) for folder in GROUPS[group]])
def test_every_table_has_rows_from_the_first_batch_on(clickhouse: ClickHouse, folder: str) -> None:
    """A table without rows would show nothing, however fast the deployment is."""
    case = load(folder)
    case.sent = {name: [batch(case, 0)] for name in landings(case)}
    version = clickhouse.before(case)
    shown = {each.name for each in version.project.datasources if each.engine.name != "Null"}
    assert {name for name in shown if not clickhouse.answers(version)[name]} == set()


@contextmanager
def posting(running: Running, cases: list[Case]) -> Iterator[Posting]:
    posts = Posting(running, cases, 1.5)
    posts.round()
    with posts.paused():
        posts.start()
    try:
        yield posts
    finally:
        posts.stop()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("group", sorted(GROUPS))
def test_migration_cases_side_by_side(running: Running, clickhouse: ClickHouse, group: str) -> None:
    cases = [load(folder) for folder in GROUPS[group]]
    old, new = together(cases, "before"), together(cases, "after")
    if group in COMPUTED:
        new["penstock.toml"] = "[deploy]\nmaterialize_bytes = 0\n" + new.get("penstock.toml", "")
    made = running.deploy(old)
    assert made.state == "live", made.error
    versions = Versions(running, clickhouse, cases)
    with posting(running, cases) as posts:
        staged = running.deploy({**dict.fromkeys(old), **new}, promote=False, destructive=True)
        assert staged.state == "ready", staged.error
        planned = running.strategies(staged)
        for case in cases:
            assert {name: planned[name] for name in case.strategies} == case.strategies
        with posts.paused():
            versions.before("live")
            versions.after("staging")
        running.promote()
        with posts.paused():
            versions.after("live")
        running.rollback()
        with posts.paused():
            versions.before("live")
        running.promote()
        running.pipeline.deployer.retire(None)
    with posts.paused():
        versions.after("live")
    running.deploy(dict.fromkeys(new), destructive=True)
    running.pipeline.deployer.retire(None)


# ------------------------------------------------------------------------------- one case at a time

LANDING = """SCHEMA >
    `id` UInt32 `json:$.id`,
    `code` {type} `json:$.code`

ENGINE MergeTree
ENGINE_SORTING_KEY id
{forward}"""


def landing(name: str, type: str = "String", forward: str = "") -> dict[str, str | None]:
    said = f"\nFORWARD_QUERY >\n    SELECT * REPLACE ({forward} AS code)\n" if forward else ""
    return {f"datasources/{name}.datasource": LANDING.format(type=type, forward=said)}


def wanted(running: Running, files: dict[str, str | None]) -> dict[str, str]:
    return {path: text for path, text in {**running.files, **files}.items() if text is not None}


def deployed_as(running: Running, files: dict[str, str | None], name: str) -> Deployment:
    """A candidate, when it is ready."""
    made = running.pipeline.deployer.deploy(wanted(running, files), DeployOptions(False, False, False, name))
    for _ in running.pipeline.deployer.events(made.id):
        pass
    return running.pipeline.store.find(name)


def codes(*values: str) -> list[dict[str, object]]:
    return [{"id": number, "code": value} for number, value in enumerate(values)]


def test_a_cast_that_fails_says_for_how_many_rows_and_which(running: Running) -> None:
    running.deploy(landing("cast"))
    running.post("cast", codes("1", "word", "2", "word", "other"))
    new = landing("cast", "UInt16", "toUInt16(code)")
    with pytest.raises(InvalidProject) as checked:
        running.pipeline.deployer.deploy(wanted(running, new), DeployOptions(True, False, False, None))
    failed = running.attempt(new)
    assert failed.state == "failed"
    for told in (str(failed.error), " ".join(map(str, checked.value.problems))):
        assert "3 rows" in told
        assert "'word' (2)" in told
        assert "'other' (1)" in told
    assert sorted(running.ask("SELECT code FROM cast")) == [("1",), ("2",), ("other",), ("word",), ("word",)]
    running.post("cast", [{"id": 9, "code": "more"}])
    assert running.ask("SELECT count() FROM cast") == [(6,)]
    assert running.pipeline.deployer.discard(str(failed.id)).state == "discarded"


def test_a_cast_that_takes_a_default_says_for_how_many_rows(running: Running) -> None:
    running.deploy(landing("lenient"))
    running.post("lenient", codes("1", "word", "2", "word"))
    new = landing("lenient", "UInt16", "accurateCastOrDefault(code, 'UInt16')")
    checked = running.pipeline.deployer.deploy(wanted(running, new), DeployOptions(True, False, False, None))
    problems = checked.plan["problems"]
    assert isinstance(problems, list)
    assert [each["code"] for each in problems] == ["rows-take-a-default"]
    assert "2 rows" in problems[0]["message"]
    assert "'word' (2)" in problems[0]["message"]


def test_a_bridged_column_is_materialized_and_answers_the_same(running: Running) -> None:
    running.deploy(landing("bridged"))
    running.post("bridged", codes("1", "20", "300"))
    staged = running.deploy(landing("bridged", "UInt16", "toUInt16(code)"), promote=False)
    assert running.strategies(staged)["bridged"] == "bridge"
    running.post("bridged", [{"id": 7, "code": "7"}])
    question = "SELECT id, code FROM bridged ORDER BY id"
    at_first = running.ask(question, "staging")
    assert at_first == [(0, 1), (1, 20), (2, 300), (7, 7)]
    running.promote()

    def materialized() -> bool:
        assert running.ask(question) == at_first
        return _settled(running, "bridged") == 1.0

    wait_until(materialized, explain=running.pipeline.status)
    assert running.ask(question) == at_first
    running.rollback()
    assert running.ask(question) == [(0, "1"), (1, "20"), (2, "300"), (7, "7")]
    running.promote()
    running.pipeline.deployer.retire(None)


def _settled(running: Running, name: str) -> float:
    """The share of rows from before that live does not compute any more."""
    deployments = running.pipeline.status()["deployments"]
    return next(each["tables"][name]["settled"] for each in deployments if each["state"] == "live")  # type: ignore[attr-defined, no-any-return]


def test_two_candidates_share_what_is_equal_and_one_is_promoted(running: Running) -> None:
    running.deploy({**landing("shared"), **landing("apart")})
    running.post("shared", codes("1", "2"))
    running.post("apart", codes("3"))
    both = landing("shared", "UInt16", "toUInt16(code)")
    one = deployed_as(running, both, "one")
    two = deployed_as(running, {**both, **landing("apart", "UInt16", "toUInt16(code)")}, "two")
    assert (one.state, two.state) == ("ready", "ready"), (one.error, two.error)
    assert running.strategies(one)["shared"] == "bridge"
    planned = {each["name"]: each for each in two.plan["resources"]}  # type: ignore[attr-defined, index]
    assert planned["shared"]["strategy"] == "reuse"
    assert planned["shared"]["reason"] == "the same as in deployment one"
    assert planned["apart"]["strategy"] == "bridge"
    running.post("shared", [{"id": 8, "code": "8"}])
    for name in ("one", "two"):
        assert running.ask("SELECT sum(code) FROM shared", name) == [(11,)]
    assert running.ask("SELECT sum(code) FROM apart", "two") == [(3,)]
    running.promote("one")
    with pytest.raises(Conflict) as refused:
        running.promote("two")
    assert "planned against" in refused.value.message
    assert running.ask("SELECT sum(code) FROM shared") == [(11,)]
    running.pipeline.deployer.discard("two")
    running.pipeline.deployer.retire(None)
    assert running.ask("SELECT sum(code) FROM shared") == [(11,)]


# ------------------------------------------------------------- golden cases whose rows depend on the moment, or on luck


@pytest.mark.parametrize(
    ("folder", "first", "staged", "live"),
    [
        ("45_a_dimension_from_null", [], [2], []),
        ("45_a_dimension_to_null", [1], [1], [1, 2]),
    ],
)
def test_a_view_joins_what_its_version_keeps_of_a_dimension(
    running: Running, folder: str, first: list[int], staged: list[int], live: list[int]
) -> None:
    """Each sale is chosen if the dimension has its place: engine Null has none."""
    case = load(folder)
    running.deploy(dict(case.before))

    def sell(amount: int) -> None:
        running.post(f"{case.prefix}places", [{"place": "a", "region": "r", "number": 1}])
        running.post(f"{case.prefix}sales", [{"at": "2024-02-01 00:00:00", "place": "a", "amount": amount}])

    def chosen(version: str) -> list[object]:
        return sorted(amount for (amount,) in running.ask(f"SELECT amount FROM {case.prefix}chosen", version))

    sell(1)
    assert chosen("live") == first
    assert running.deploy(dict(case.after), promote=False, destructive=True).state == "ready"
    sell(2)
    assert (chosen("staging"), chosen("live")) == (staged, live)
    running.promote()
    assert chosen("live") == staged
    running.rollback()
    assert chosen("live") == live
    running.promote()
    running.pipeline.deployer.retire(None)


def test_numbers_of_64_bits_come_after_those_of_32(running: Running) -> None:
    """Targets that keep their rows take numbers that the version before could not hold, and merge both."""
    case = load("71_numbers_of_64_bits")
    name = case.prefix
    running.deploy(dict(case.before))

    def post(*numbers: int) -> None:
        rows = [{"timestamp": "2024-02-01 00:00:00", "user": "a", "count": number} for number in numbers]
        running.post(f"{name}events", rows)

    post(2**32 - 1, 7)
    staged = running.deploy(dict(case.after), promote=False)
    assert staged.state == "ready", staged.error
    planned = running.strategies(staged)
    assert {each: planned[each] for each in case.strategies} == case.strategies
    running.promote()
    post(2**64 - 1, 2**40)
    total = 2**64 + 2**32 + 2**40 + 5
    totals = "maxMerge(top), min(low), sumMerge(total), sumIfMerge(some)"
    wanted = (2**64 - 1, 7, total % 2**64, total % 2**64)
    assert running.ask(f"SELECT {totals} FROM {name}totals") == [wanted]
    assert running.ask(f"SELECT maxMerge(top), sumMerge(total) FROM {name}tops") == [(2**64 - 1, total % 2**64)]
    assert running.ask(f"SELECT sum(amount) FROM {name}summed") == [(total % 2**64,)]
    copied = running.ask(f"SELECT n, text FROM {name}copied ORDER BY n")
    assert copied == [(n, str(n)) for n in (7, 2**32 - 1, 2**40, 2**64 - 1)]
    assert running.ask(f"SELECT n FROM {name}latest FINAL ORDER BY n DESC LIMIT 2") == [(2**64 - 1,), (2**40,)]
    assert running.ask(f"SELECT n, countMerge(hits) FROM {name}keyed GROUP BY n ORDER BY n DESC LIMIT 1") == [
        (2**64 - 1, 1)
    ]
    running.pipeline.deployer.retire(None)
    assert running.ask(f"SELECT {totals} FROM {name}totals") == [wanted]


def test_a_default_that_is_always_another_is_computed_once(running: Running) -> None:
    case = load("51_a_default_that_is_always_another_by_forward_query")
    running.deploy(dict(case.before))
    running.post(f"{case.prefix}trips", [row(number, case.folder) for number in range(20)])
    assert running.deploy(dict(case.after), promote=False).state == "ready"

    def keys(version: str) -> set[tuple[object, ...]]:
        return set(running.ask(f"SELECT id, key FROM {case.prefix}trips", version))

    copied = keys("staging")
    assert len({key for _, key in copied}) == 20
    running.post(f"{case.prefix}trips", [row(number, case.folder) for number in range(20, 25)])
    both = keys("staging")
    assert both == keys("staging")
    assert both > copied
    assert len({key for _, key in both}) == 25
    running.promote()
    assert keys("live") == both
    running.pipeline.deployer.retire(None)


def test_a_default_that_may_fail_is_tried_with_the_rows_there_are(running: Running) -> None:
    case = load("52_a_default_that_may_fail")
    trips = f"{case.prefix}trips"
    running.deploy(dict(case.before))
    running.post(
        trips, [{**row(number, case.folder), "name": f"{uuid5(NAMESPACE_URL, str(number))}"} for number in (1, 2)]
    )
    staged = running.deploy(dict(case.after), promote=False)
    assert staged.state == "ready", staged.error
    assert {str(key) == name for key, name in running.ask(f"SELECT key, name FROM {trips}", "staging")} == {True}
    running.pipeline.deployer.discard(str(staged.id))
    running.post(trips, [row(3, case.folder)])
    failed = running.attempt(dict(case.after), promote=False)
    assert failed.state == "failed"
    assert "Name 0" in str(failed.error)
    assert running.ask(f"SELECT count() FROM {trips}") == [(3,)]
    running.pipeline.deployer.discard(str(failed.id))
