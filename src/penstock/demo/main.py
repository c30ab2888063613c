"""The demo from start to end: a live pipeline that is changed while 336,776 flights stream through it.

In: the command line. Out: exit code 0 if every table and endpoint of both versions equals the expected results, else
1. Invariant: the server is stopped however the demo ends.
"""

from __future__ import annotations

import argparse
import time
from contextlib import nullcontext
from pathlib import Path

import httpx
from rich.console import Console

from penstock.demo import output
from penstock.demo.client import DemoClient, RequestRefused
from penstock.demo.latency import Latency, percentile
from penstock.demo.nyc_flights import DataMissing, Row, posts, read_flights, read_weather
from penstock.demo.replay import Replay
from penstock.demo.scenario import STEPS, DemoFailed, Stage, example_files
from penstock.demo.server import Server, ServerFailed, prepare_folder

SECONDS = 110.0
WIDTH_OF_PICTURE = 118


def main() -> int:
    options = _parse_options()
    recorded = options.record is not None
    console = Console(record=recorded, width=WIDTH_OF_PICTURE if recorded else None)
    began = time.monotonic()
    try:
        stage = _run(console, options.folder, options.seconds)
    except (DemoFailed, RequestRefused, ServerFailed, DataMissing, httpx.HTTPError) as failure:
        console.print(f"\n[red]The demo stopped:[/red] {failure}", highlight=False)
        return 1
    code = _print_verdict(stage, began)
    if recorded:
        console.save_svg(str(options.record), title="make demo")
    return code


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m penstock.demo", description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path(".demo"), help="where the project and its tables live")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long the replay takes")
    parser.add_argument("--record", type=Path, help="save what is printed as an SVG picture")
    return parser.parse_args()


def _run(console: Console, folder: Path, seconds: float) -> Stage:
    prepare_folder(folder)
    _put_example("flights", folder)
    server = Server(folder)
    try:
        output.print_heading(console, f"penstock up  ({server.url}, project {folder})")
        flights, weather = read_flights(), read_weather()
        with console.status("Spark starts") if console.is_terminal else nullcontext():
            server.wait_until_ready()
        output.print_heading(
            console, "penstock deploy  (version 1: flights → two views → a view over a view; weather apart)"
        )
        console.print(server.run("deploy"), highlight=False, markup=False, end="")
        return _replay_flights(_open_stage(console, server, flights, weather, seconds))
    finally:
        server.stop()


def _open_stage(
    console: Console, server: Server, flights: tuple[Row, ...], weather: tuple[Row, ...], seconds: float
) -> Stage:
    client = DemoClient(server.url, server.token)
    replay = Replay(client, posts(flights, weather), seconds)
    latency = Latency(DemoClient(server.url, server.token), replay)
    return Stage(console, client, replay, latency, output.Meters(console), flights, weather)


def _replay_flights(stage: Stage) -> Stage:
    title = f"Replaying {len(stage.flights):,} flights and {len(stage.weather):,} hours of weather"
    output.print_heading(stage.console, title)
    with stage.meters:
        stage.replay.start()
        stage.latency.start()
        for step in STEPS:
            step(stage)
    return stage


def _print_verdict(stage: Stage, began: float) -> int:
    output.print_results(stage.console, stage.checks)
    samples = stage.latency.samples
    pace = stage.replay.rows / (stage.replay.ended - stage.replay.began)
    lost = sum(check.difference.lost for check in stage.checks)
    doubled = sum(check.difference.doubled for check in stage.checks)
    wrong = [check for check in stage.checks if not check.difference.equal]
    stage.console.print(
        f"{pace:,.0f} rows a second; posted → visible two views away: p50 {percentile(samples, 0.5):.2f} s, "
        f"p95 {percentile(samples, 0.95):.2f} s ({len(samples)} samples); {time.monotonic() - began:.0f} s in all\n"
        f"[bold]rows lost: {lost:,}   rows doubled: {doubled:,}   "
        f"tables and endpoints that differ: {len(wrong)} of {len(stage.checks)}[/bold]",
        highlight=False,
    )
    return 1 if wrong else 0


def _put_example(name: str, folder: Path) -> None:
    for path, text in example_files(name).items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
