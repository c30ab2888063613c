"""What `ingest` measured, as a page.

In: what each load gave on the real and on the empty server, appends to a file, the load of the machine. Out: Markdown,
and the targets that were missed. Invariant: nothing is computed here but units, ratios and places in an order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """What a load gave."""

    name: str
    rows: int
    """Rows of a request."""
    a_second: float
    """Acknowledged requests a second."""
    times: Sequence[float]
    """Seconds of the acknowledgements, ascending."""
    statuses: Mapping[str, int]
    told_when: int
    """Refusals that say when to come again."""
    shares: Mapping[str, float]
    """Cores that each kind of process used."""
    caught_up: float
    """Seconds after the load until the last of its rows was visible two views away."""


ROWS_A_SECOND, REQUESTS_A_SECOND, SLOWEST = 20_000, 500, 0.100


def misses(found: Mapping[str, Measured]) -> list[str]:
    """The targets of issue 19 that were not reached."""
    halves = ("batches at half the target", "single rows at half the target")
    refusing = found[next(reversed(found))]
    held = {
        f"{ROWS_A_SECOND:,} rows a second in batches": found["batches"].a_second * found["batches"].rows
        >= ROWS_A_SECOND,
        f"{REQUESTS_A_SECOND:,} requests a second": found["single rows"].a_second >= REQUESTS_A_SECOND,
        **{f"p99 of {name}": percentile(found[name].times, 0.99) <= SLOWEST for name in halves},
        "each refusal is a 429 that says when to come again": set(refusing.statuses) <= {"202", "429"}
        and refusing.told_when == refusing.statuses.get("429", 0),
    }
    return [name for name, holds in held.items() if not holds]


def report(
    found: Mapping[str, Measured], nothing: Mapping[str, Measured], disk: Mapping[int, float], load: float
) -> str:
    """The page."""
    missed = misses(found)
    return "\n".join(
        [
            "# How fast rows get in",
            "",
            "`make bench-ingest` wrote this: rows of 200 bytes, posted by a client in a process of its own to a server",
            "whose flows run (a landing, two views one after the other). Server, Java, Spark's workers and the client",
            "share 2 cores. Beside it, in the same run: the same HTTP server that only reads bodies and answers, and",
            "appends to one file, each forced to disk before the next. At a rate, times count from when a request was",
            "due. `caught up` is when the last row of a load was visible two views away, in seconds after the load. The",
            "processor time of a request depends least on what else the machine does: where all together had much less than",
            "2 cores, other programs had the rest, and the figures say little about a machine of their own.",
            "The server had taken batches and then single rows for a quarter of a minute each before the first load: in",
            "its first minute half of Java's time is the compiling of its own code.",
            f"Load of the machine before: {load:.1f}.",
            "",
            "| load | requests/s | rows/s | p50, ms | p99, ms | of the empty server | of forced appends | caught up |",
            "|---|---|---|---|---|---|---|---|",
            *(_line(each, nothing[each.name], disk[each.rows]) for each in found.values()),
            "",
            "| load | answers | server's ms a request | cores: server | Java | Spark's workers | client | all |",
            "|---|---|---|---|---|---|---|---|",
            *(_processors(each) for each in found.values()),
            "",
            "Every acknowledged row was visible two views away after each load, and none of them twice.",
            f"Targets missed: {', '.join(missed)}." if missed else "Every target of this page is reached.",
            "",
        ]
    )


def percentile(times: Sequence[float], share: float) -> float:
    """The smallest time that is not below `share` of them; 0 without times."""
    return times[min(len(times) - 1, int(share * len(times)))] if times else 0.0


def _line(each: Measured, nothing: Measured, appends: float) -> str:
    middle, slow = (1000 * percentile(each.times, share) for share in (0.5, 0.99))
    return (
        f"| {each.name} | {each.a_second:,.0f} | {each.a_second * each.rows:,.0f} | {middle:.1f} | {slow:.1f} "
        f"| {each.a_second / max(nothing.a_second, 1e-9):.2f} of {nothing.a_second:,.0f} "
        f"| {each.a_second / appends:.2f} of {appends:,.0f} | {each.caught_up:.1f} |"
    )


def _processors(each: Measured) -> str:
    answers = ", ".join(f"{count:,} × {status}" for status, count in sorted(each.statuses.items()))
    if each.told_when:
        answers += f" ({each.told_when:,} with Retry-After)"
    shares = [each.shares.get(name, 0.0) for name in ("server", "Java", "workers", "client")]
    shares.append(sum(shares))
    a_request = 1000 * each.shares["server"] / max(each.a_second, 1e-9)
    return f"| {each.name} | {answers} | {a_request:.2f} | {' | '.join(f'{share:.2f}' for share in shares)} |"
