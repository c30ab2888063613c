"""Targets of which a key is dropped, or that get aggregates of added columns: the rows that live has, merged, are those
of a twin that is computed anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from deploy.conftest import Running

_EVENTS = """SCHEMA >
    `ts` DateTime, `k` String, `u` UInt32, `i` Int32, `l` UInt64, `ni` Nullable(Int32), `nl` Nullable(UInt64),
    `f` Float64, `s` String, `ls` LowCardinality(Nullable(String)), `d` Decimal(10, 2), `nd` Nullable(Decimal(18, 4)),
    `day` Date, `nday` Nullable(Date)

ENGINE MergeTree
ENGINE_SORTING_KEY ts
"""
MERGED = [
    ("count()", "sum, UInt64"),
    ("count(ni)", "sum, Int64"),
    ("countIf(s = 'b')", "sum, UInt64"),
    ("countIf(ls IS NULL)", "sum, Nullable(UInt64)"),
    ("sum(u)", "sum, UInt64"),
    ("sum(l)", "sum, UInt64"),
    ("sum(l)", "sum, Nullable(UInt64)"),
    ("sum(i)", "sum, Int64"),
    ("sum(ni)", "sum, Int64"),
    ("sum(ni)", "sum, Nullable(Int64)"),
    ("sum(nl)", "sum, UInt64"),
    ("sumIf(ni, ni > 0)", "sum, Int64"),
    ("sum(if(s = 'b', u, 0))", "sum, UInt64"),
    ("sum(f)", "sum, Float64"),
    ("sum(d)", "sum, Decimal(38, 2)"),
    ("sum(nd)", "sum, Nullable(Decimal(38, 4))"),
    ("min(u)", "min, UInt64"),
    ("max(nl)", "max, Nullable(UInt64)"),
    ("min(ni)", "min, Nullable(Int32)"),
    ("minIf(ni, i > 0)", "min, Nullable(Int32)"),
    ("min(ifNull(ni, 0))", "min, Int32"),
    ("max(assumeNotNull(ni))", "max, Int32"),
    ("min(s)", "min, String"),
    ("max(ls)", "max, LowCardinality(Nullable(String))"),
    ("max(d)", "max, Decimal(10, 2)"),
    ("min(nd)", "min, Nullable(Decimal(18, 4))"),
    ("max(day)", "max, Date"),
    ("min(nday)", "min, Nullable(Date)"),
    ("max(ts)", "max, DateTime"),
    ("count()", "sum, UInt32"),
    ("countIf(u > 1)", "sum, UInt32"),
    ("sum(-i)", "sum, Int64"),
    ("max(lower(ifNull(ls, '')))", "max, String"),
    ("min(concat(s, 'x'))", "min, String"),
    ("max(length(s))", "max, UInt64"),
    ("min(toSecond(ts))", "min, UInt8"),
    ("max(f)", "max, Float64"),
    ("max(u / 100)", "max, Float64"),
    ("sum(ni / 4)", "sum, Float64"),
    ("sum(i * 4000000000)", "sum, Int64"),
    ("sum(toInt64(nl))", "sum, Nullable(Int64)"),
    ("max(s = 'b')", "max, UInt8"),
    ("max(abs(i))", "max, UInt32"),
    ("min(greatest(i, u))", "min, Int64"),
    ("max(substring(s, 1, 1))", "max, String"),
    ("sum(multiIf(s = 'a', 1, i > 0, 2, 0))", "sum, UInt64"),
]
"""Simple aggregates of which what each batch gives makes up what all rows give."""
NOT_MERGED = [
    ("minIf(u, s = 'b')", "min, UInt32"),
    ("maxIf(i, s = 'b')", "max, Int32"),
    ("min(ni)", "min, Int32"),
    ("uniqExact(u)", "sum, UInt64"),
    ("avg(u)", "sum, Float64"),
    ("least(count(), 3)", "sum, UInt64"),
    ("sum(u)", "max, UInt64"),
    ("count()", "max, UInt64"),
    ("max(u)", "sum, UInt64"),
    ("max(ni / 100)", "max, Float64"),
    ("max(ni > 1)", "max, UInt8"),
]
STATES = [
    ("minIfState(u, s = 'b')", "AggregateFunction(minIf, UInt32, UInt8)", "minIfMerge"),
    ("uniqExactState(ni)", "AggregateFunction(uniqExact, Nullable(Int32))", "uniqExactMerge"),
    ("avgState(ni)", "AggregateFunction(avg, Nullable(Int32))", "avgMerge"),
    ("sumState(l)", "AggregateFunction(sum, UInt64)", "sumMerge"),
    ("maxState(ls)", "AggregateFunction(max, LowCardinality(Nullable(String)))", "maxMerge"),
]
Items = Sequence[tuple[str, str, str]]
"""Aggregates, the types of their columns, and how these are merged."""


def _simple(aggregates: Sequence[tuple[str, str]]) -> Items:
    return [(sql, f"SimpleAggregateFunction({of})", of.partition(",")[0]) for sql, of in aggregates]


def _files(prefix: str, items: Items, keys: str) -> dict[str, str | None]:
    columns = ", ".join(
        [*(f"`{key}` String" for key in keys.split(", ")), *(f"`v{at}` {of}" for at, (_, of, _) in enumerate(items))]
    )
    given = ", ".join([keys, *(f"{sql} AS v{at}" for at, (sql, _, _) in enumerate(items))])
    return {
        f"datasources/{prefix}ev.datasource": _EVENTS,
        f"datasources/{prefix}rows.datasource": f"SCHEMA >\n    {columns}\n\nENGINE AggregatingMergeTree\n"
        f"ENGINE_SORTING_KEY {keys}\n",
        f"pipes/{prefix}mv.pipe": f"NODE n\nSQL >\n    SELECT {given} FROM {prefix}ev GROUP BY {keys}\n"
        f"TYPE materialized\nDATASOURCE {prefix}rows\n",
    }


def _batch(number: int) -> Sequence[Mapping[str, object]]:
    """Rows of three keys. Those of `c` are NULL wherever they may be, those of the others in some batches."""
    return [_row(number, place) for place in range(6)]


def _row(number: int, place: int) -> Mapping[str, object]:
    mixed, k = number * 6 + place, "abc"[place % 3]
    some = {
        "ni": (mixed % 7 - 3) * 700_000_000,
        "nl": 2**64 - 1 - mixed,
        "ls": ("", "x", "Y", "\uffee", "\U0001f600")[mixed % 5],
        "nd": (mixed % 9 - 4) * 1.0625,
        "nday": f"2024-01-{1 + mixed % 28:02}",
    }
    return {
        "ts": f"2024-01-01 00:{number:02}:{(mixed * 7) % 60:02}",
        "k": k,
        "u": mixed * 1_000_003 % 2**32,
        "i": (mixed % 5 - 2) * 1_000_000_000,
        "l": 2**64 - 1 - mixed,
        "f": mixed * 0.25 - 2,
        "s": "ab"[mixed % 2],
        "d": (mixed % 9 - 4) * 1.25,
        "day": f"2024-02-{1 + mixed * 3 % 28:02}",
        **(some if k != "c" and (number + place) % 3 else dict.fromkeys(some)),
    }


def _answer(running: Running, prefix: str, items: Items) -> dict[tuple[str, object], object]:
    """By aggregate and key, what all rows give."""
    merged = ", ".join(f"{merge}(v{at})" for at, (_, _, merge) in enumerate(items))
    found = running.ask(f"SELECT k, {merged} FROM {prefix}rows GROUP BY k", "staging")
    names = [f"{at} {sql} as {of}" for at, (sql, of, _) in enumerate(items)]
    return {(name, key): value for key, *row in found for name, value in zip(names, row, strict=True)}


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("name", "items", "strategy"),
    [("merged_", [*_simple(MERGED), *STATES], "reuse"), ("apart_", _simple(NOT_MERGED), "recompute")],
)
def test_a_key_is_dropped(running: Running, name: str, items: Items, strategy: str) -> None:
    twins = (name, f"{name}anew_")
    old = {path: text for each in twins for path, text in _files(each, items, "k, s").items()}
    new = {path: text for each in twins for path, text in _files(each, items, "k").items()}
    running.deploy(old)
    for number in range(4):
        for each in twins:
            running.post(f"{each}ev", _batch(number))
    new["penstock.toml"] = f'[deploy.strategy]\n{name}anew_rows = "recompute"\n'
    staged = running.deploy(new, promote=False, destructive=True)
    strategies = running.strategies(staged)
    assert (strategies[f"{name}rows"], strategies[f"{name}anew_rows"]) == (strategy, "recompute")
    found = _answer(running, name, items)
    assert len(found) == 3 * len(items)
    assert found == _answer(running, f"{name}anew_", items)
    for each in twins:
        running.post(f"{each}ev", _batch(4))
    assert _answer(running, name, items) == _answer(running, f"{name}anew_", items)
    running.pipeline.deployer.discard(str(staged.id))


ADDED = [
    ("any(x)", "any, String"),
    ("anyLast(x)", "anyLast, String"),
    ("max(x)", "max, String"),
    ("any(y)", "any, Nullable(Int32)"),
    ("anyLast(y)", "anyLast, Nullable(Int32)"),
    ("groupUniqArray(x)", "groupUniqArrayArray, Array(String)"),
    ("sum(y)", "sum, Int64"),
    ("countIf(y = 1)", "sum, UInt64"),
]
"""Aggregates of columns that are added, of which each stored row has the value of what these are in all rows."""
ADDED_STATES = [
    ("anyState(x)", "AggregateFunction(any, String)", "anyMerge"),
    ("uniqExactState(x)", "AggregateFunction(uniqExact, String)", "uniqExactMerge"),
    ("avgState(z)", "AggregateFunction(avg, UInt32)", "avgMerge"),
]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_aggregates_of_added_columns(running: Running) -> None:
    counted = _simple([("count()", "sum, UInt64")])
    twins, items = ("added_", "added_anew_"), [*counted, *_simple(ADDED), *ADDED_STATES]
    running.deploy({path: text for each in twins for path, text in _files(each, counted, "k").items()})
    for number in range(2):
        for each in twins:
            running.post(f"{each}ev", _batch(number))
    new = {path: text for each in twins for path, text in _files(each, items, "k").items()}
    wider = _EVENTS.replace("`ts` DateTime,", "`ts` DateTime, `x` String DEFAULT 'v', `y` Nullable(Int32), `z` UInt32,")
    new |= {f"datasources/{each}ev.datasource": wider for each in twins}
    new["penstock.toml"] = '[deploy.strategy]\nadded_anew_rows = "recompute"\n'
    staged = running.deploy(new, promote=False)
    strategies = running.strategies(staged)
    assert [strategies[f"{each}rows"] for each in twins] == ["reuse", "recompute"]
    assert _answer(running, twins[0], items) == _answer(running, twins[1], items)
    for each in twins:  # of several texts, any may be any
        running.post(f"{each}ev", [{**row, "y": 1, "z": 12} for row in _batch(2)])
    assert _answer(running, twins[0], items) == _answer(running, twins[1], items)
    running.pipeline.deployer.discard(str(staged.id))
