"""The steps of the demo: version 2 is built, promoted, rolled back and promoted again while flights stream.

In: a `Stage`. Out: the stage with the results of the final checks; `STEPS` has the order. Invariant: every switch
happens while rows are still being posted; a step that comes too late fails the demo.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import as_file, files

from rich.console import Console

from penstock.demo import output
from penstock.demo.checks import ExpectedGroups, ResultCheck, check_all, find_cutover
from penstock.demo.client import DemoClient, Json
from penstock.demo.latency import QUERY, Latency
from penstock.demo.nyc_flights import Row
from penstock.demo.replay import Replay

DEPLOY_AT, PROMOTE_AT, ROLLBACK_AT, AGAIN_AT = 0.40, 0.60, 0.75, 0.85
"""Shares of the flights at which the steps begin."""
SETTLE = 60.0
REPLAY = "flights replayed"


class DemoFailed(Exception):
    """The pipeline did not do what the demo expects of it."""


@dataclass
class Stage:
    """What the steps share. `version_2` is the id of the second deployment; `earliest` and `latest`
    bound the number of flights that were landed before it took over."""

    console: Console
    client: DemoClient
    replay: Replay
    latency: Latency
    meters: output.Meters
    flights: tuple[Row, ...]
    weather: tuple[Row, ...]
    version_2: str = ""
    earliest: int = 0
    latest: int = 0
    checks: list[ResultCheck] = field(default_factory=list)

    def say(self, text: str) -> None:
        output.print_heading(self.console, f"{100 * self.replay.share():3.0f} %  {text}")

    def wait_for(self, share: float) -> None:
        """Return when that share of the flights is acknowledged. Raises what stopped the replay."""
        while self.replay.share() < share and self.replay.failure is None:
            self.tick()
            time.sleep(0.1)
        if self.replay.failure is not None:
            raise self.replay.failure

    def tick(self) -> None:
        self.meters.meter(REPLAY, self.replay.sent.flights, len(self.flights))


def deploy(stage: Stage) -> None:
    stage.wait_for(DEPLOY_AT)
    stage.say("deploy version 2 beside it: flight String → UInt32, a new column, key, aggregate and endpoint")
    # The copy begins with what has been landed, which may be a little less than what was acknowledged.
    stage.earliest = int(stage.client.sql("SELECT count() AS landed FROM flights", "live")[0]["landed"])
    made = stage.client.deploy(example_files("flights-v2"))
    stage.version_2 = str(made["id"])
    output.print_plan(stage.console, made["plan"])
    began = time.monotonic()
    for kind, data in stage.client.events(stage.version_2):
        _handle_event(stage, kind, data)
    took = time.monotonic() - began
    # One post may be under way: its rows count as sent, not yet as acknowledged.
    stage.latest = min(stage.replay.sent.flights + 1000, len(stage.flights))
    state = stage.client.deployment(stage.version_2)["state"]
    if state != "ready":
        raise DemoFailed(f"version 2 is {state}")
    stage.say(f"version 2 is ready after {took:.0f} s: filled, fed live, and nobody reads it yet")


def _handle_event(stage: Stage, kind: str, data: Json) -> None:
    stage.tick()
    if kind == "progress":
        stage.meters.meter(f"backfill {data['name']}", int(data["rows"]), int(data["of"]))
    if kind == "state" and data["state"] in ("failed", "discarded"):
        raise DemoFailed(f"version 2 {data['state']}: {data.get('error')}")


def compare_answers_side_by_side(stage: Stage) -> None:
    for name in ("top_carriers", "monthly"):
        live, staging = (stage.client.endpoint(name, which) for which in ("live", "staging"))
        output.print_side_by_side(stage.console, name, live, staging)


def promote(stage: Stage) -> None:
    stage.wait_for(PROMOTE_AT)
    _switch_version(stage, "promote version 2", lambda: stage.client.promote(stage.version_2), has_distance=True)


def rollback(stage: Stage) -> None:
    stage.wait_for(ROLLBACK_AT)
    _switch_version(
        stage, "roll back to version 1, with every row posted since", stage.client.rollback, has_distance=False
    )


def promote_again(stage: Stage) -> None:
    stage.wait_for(AGAIN_AT)
    _switch_version(stage, "promote version 2 again", lambda: stage.client.promote(stage.version_2), has_distance=True)
    stage.replay.may_end.set()


def _switch_version(stage: Stage, text: str, call: Callable[[], Json], *, has_distance: bool) -> None:
    """Promote or roll back, and check that the endpoint answers from the other version at once."""
    if not stage.replay.is_alive():
        raise DemoFailed(f"the replay was over before this step: {text}")
    began = time.monotonic()
    call()
    took = time.monotonic() - began
    first = stage.client.endpoint("top_carriers")[0]
    if ("distance" in first) is not has_distance:
        raise DemoFailed(f"after this step `top_carriers` answers from the wrong version: {text}")
    stage.say(f"{text}: {1000 * took:.0f} ms, {len(stage.flights) - stage.replay.sent.flights:,} flights still to come")
    stage.console.print(f"top_carriers.json now begins with {first}", highlight=False)


def finish(stage: Stage) -> None:
    """Wait for the last post, then until both versions have counted it two views away."""
    stage.wait_for(1.0)
    stage.replay.join()
    stage.latency.stop()
    stage.tick()
    stage.say(f"{stage.replay.rows:,} rows acknowledged, {stage.replay.quarantined:,} quarantined")
    deadline = time.monotonic() + SETTLE
    for deployment in ("live", "previous"):
        while time.monotonic() < deadline and _visible_flights(stage, deployment) < len(stage.flights):
            time.sleep(0.3)


def _visible_flights(stage: Stage, deployment: str) -> int:
    return int(stage.client.sql(QUERY, deployment)[0]["flights"])


def check_results(stage: Stage) -> None:
    output.print_heading(stage.console, "Every table and endpoint of both versions against the truth from the CSV")
    cut = find_cutover(stage.client, stage.flights, stage.earliest, stage.latest)
    if cut is None:
        raise DemoFailed("no moment between the deployment of version 2 and its readiness explains its air times")
    known = ExpectedGroups(stage.flights, stage.weather)
    for check in check_all(stage.client, known, cut):
        stage.checks.append(check)
        stage.meters.meter("tables and endpoints compared", len(stage.checks), 24)


STEPS: tuple[Callable[[Stage], None], ...] = (
    deploy,
    compare_answers_side_by_side,
    promote,
    rollback,
    promote_again,
    finish,
    check_results,
)


def example_files(name: str) -> dict[str, str]:
    """The datafiles of an example, by path."""
    with as_file(files("penstock") / "examples" / name) as folder:
        paths = [path for path in sorted(folder.rglob("*")) if path.suffix in (".datasource", ".pipe", ".toml")]
        return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}
