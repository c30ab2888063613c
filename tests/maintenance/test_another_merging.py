"""Targets of views whose engine's rule of merging changes, after rows were merged by the old one.

Each case is deployed twice: as the planner decides, and as a twin that is computed anew. Both have the same rows then,
also once more of them arrive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pytest

from maintenance.conftest import Tidy
from penstock.deploy.maintenance import maintenance_runner

_COLUMNS = "`at` DateTime, `k` String, `id` UInt32, `u` UInt32, `gone` UInt8, `some` Nullable(Int32)"
_LANDED = f"SCHEMA >\n    {_COLUMNS}\n\nENGINE MergeTree\nENGINE_SORTING_KEY at\n"
_PLAIN = "SELECT at, k, id, u, gone, some FROM @ev"
_SUMMED = "`k` String, `id` UInt32, `u` UInt64, `some` Nullable(Int64)"
_SIMPLE = (
    "`k` String, `id` UInt32, `u` SimpleAggregateFunction({}, UInt64), "
    "`some` SimpleAggregateFunction({}, Nullable(Int64))"
)


@dataclass(frozen=True)
class Case:
    """What engines a target has in the two versions, what it gives when it is read, and what the plan does with it."""

    before: str
    after: str
    strategy: str
    schema: tuple[str, str] = (_COLUMNS, _COLUMNS)
    query: str = _PLAIN
    asks: str = "SELECT * FROM @rows FINAL"


def _replacing(before: str, after: str, strategy: str) -> Case:
    return Case(f"ReplacingMergeTree; KEY {before}", f"ReplacingMergeTree; KEY {after}", strategy)


def _simple(functions: tuple[str, str], keys: tuple[str, str], strategy: str) -> Case:
    """A simple aggregate that merges the rows of a view that computes nothing."""
    was, now = functions
    query = "SELECT k, id, u, some FROM @ev"
    asks = f"SELECT {keys[1]}, {now}(u), {now}(some) FROM @rows GROUP BY {keys[1]}"
    schema = (_SIMPLE.format(was, was), _SIMPLE.format(now, now))
    engines = (f"AggregatingMergeTree; KEY {key}" for key in keys)
    return Case(*engines, strategy, schema, query, asks)


def _summing(before: str, after: str, strategy: str) -> Case:
    asks = f"SELECT {after}, sum(u), sum(some) FROM @rows FINAL GROUP BY {after}"
    query = "SELECT k, id, u, some FROM @ev"
    return Case(
        f"SummingMergeTree; KEY {before}", f"SummingMergeTree; KEY {after}", strategy, (_SUMMED, _SUMMED), query, asks
    )


CASES = {
    "coarser": _replacing("k, id; VER u", "k; VER u", "in_place"),
    "exchanged": _replacing("k, id", "id, k", "in_place"),
    "shown": _replacing("k; VER u; IS_DELETED gone", "k; VER u", "in_place"),
    "finer": _replacing("k", "k, id", "recompute"),
    "version": _replacing("k; VER u", "k; VER id", "recompute"),
    "versioned": _replacing("k", "k; VER id", "recompute"),
    "hidden": _replacing("k; VER u", "k; VER u; IS_DELETED gone", "recompute"),
    "merged": Case("ReplacingMergeTree; KEY k", "MergeTree; KEY k", "recompute", asks="SELECT * FROM @rows"),
    "summed": _summing("id, k", "id", "in_place"),
    "apart": _summing("k", "k, id", "recompute"),
    "greatest": _simple(("max", "max"), ("k, id", "id"), "in_place"),
    "least": _simple(("min", "min"), ("k, id", "id, k"), "in_place"),
    "sum": _simple(("sum", "sum"), ("k, id", "k"), "in_place"),
    "other": _simple(("sum", "max"), ("k, id", "k, id"), "recompute"),
    "extreme": _simple(("max", "min"), ("id, k", "id, k"), "recompute"),
}
"""By a name that the resources begin with."""


def _files(case: Case, prefix: str, version: int) -> dict[str, str | None]:
    name, *options = (case.before, case.after)[version].split("; ")
    lines = [f"ENGINE {name}", *(f"ENGINE_{each}".replace("ENGINE_KEY", "ENGINE_SORTING_KEY") for each in options)]
    rows = f"SCHEMA >\n    {case.schema[version]}\n\n" + "\n".join(lines) + "\n"
    view = f"NODE n\nSQL >\n    {case.query}\nTYPE materialized\nDATASOURCE @rows\n"
    return {
        f"datasources/{prefix}ev.datasource": _LANDED,
        f"datasources/{prefix}rows.datasource": rows,
        f"pipes/{prefix}mv.pipe": view.replace("@", prefix),
    }


def _together(version: int) -> dict[str, str | None]:
    sides = (_files(case, f"{name}{side}", version) for name, case in CASES.items() for side in ("_", "_anew_"))
    return {path: text for each in sides for path, text in each.items()}


def _batch(number: int) -> Sequence[Mapping[str, object]]:
    """Rows of a few keys, in no order; some of a batch are NULL in a column, and some of all of them."""
    return [
        {
            "at": f"2024-01-01 00:{number:02}:{place:02}",
            "k": "abc"[(number + place) % 3],
            "id": (number * 2 + place) % 4,
            "u": (number * 7 + place * 5) % 11,
            "gone": int((number + place) % 5 == 0),
            "some": None if (number + place) % 3 == 2 or place % 2 else number - place * 3,
        }
        for place in range(8)
    ]


def _post(tidy: Tidy, numbers: range) -> None:
    for number in numbers:
        for name in CASES:
            for side in ("_", "_anew_"):
                tidy.keep(f"{name}{side}ev", _batch(number))
        tidy.catch_up(300)


def _answers(tidy: Tidy, name: str, side: str) -> list[tuple[object, ...]]:
    return sorted(tidy.ask(CASES[name].asks.replace("@", f"{name}{side}"), "staging"), key=repr)


def _checked(tidy: Tidy) -> None:
    found = {name: _answers(tidy, name, "_") for name in CASES}
    assert all(found.values())
    assert found == {name: _answers(tidy, name, "_anew_") for name in CASES}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tidy]:
    """A pipeline without the many tables of the other tests, for which maintenance would have no more time then."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maintenance_runner, "TICK_SECONDS", 86_400.0)
        made = Tidy(tmp_path_factory.mktemp("home"))
        yield made
        made.pipeline.close()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_rows_that_another_rule_has_merged(alone: Tidy) -> None:
    alone.deploy(_together(0))
    _post(alone, range(5))
    alone.tidy()
    merged = {name for name in CASES if alone.stored(alone.table(f"{name}_rows")) < 5 * 8}
    assert merged == set(CASES), "nothing is tried of tables in which every row is left"
    anew = "\n".join(f'{name}_anew_rows = "recompute"' for name in CASES)
    wanted = {**_together(1), "penstock.toml": f"[deploy.strategy]\n{anew}\n"}
    staged = alone.deploy(wanted, promote=False, destructive=True)
    strategies = alone.strategies(staged)
    assert {name: strategies[f"{name}_rows"] for name in CASES} == {name: each.strategy for name, each in CASES.items()}
    assert {strategies[f"{name}_anew_rows"] for name in CASES} == {"recompute"}
    _checked(alone)
    _post(alone, range(5, 7))
    _checked(alone)
