"""The demo of Postgres from start to end: two stores follow an application's database through three releases.

In: the command line. Out: exit code 0 if every table of both stores equals the one of Postgres, else 1. Invariant:
every process is stopped however the demo ends.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import httpx
import psycopg2
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.demo.client import RequestRefused
from penstock.demo.issue_tracker.comparison_queries import compare_stores
from penstock.demo.issue_tracker.opened_stage import RATE, StageOptions, open_stage
from penstock.demo.issue_tracker.scenario import STEPS, first_release, kill_server
from penstock.demo.issue_tracker.services import ServiceFailed
from penstock.demo.issue_tracker.store_comparison import StoreComparison
from penstock.demo.scenario import DemoFailed
from penstock.demo.server import ServerFailed


def main() -> int:
    options = _parse_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    console, began = Console(), time.monotonic()
    try:
        with open_stage(console, StageOptions(options.folder, options.postgres, options.rate)) as stage:
            for step in STEPS:
                step(stage)
                if step is first_release and options.kill_server:
                    kill_server(stage)
            found = [*compare_stores(stage)]
    except (DemoFailed, ServiceFailed, ServerFailed, RequestRefused, httpx.HTTPError, psycopg2.Error) as failure:
        console.print(f"\n[red]The demo stopped:[/red] {escape(str(failure))}", highlight=False, soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        console.print("\nstopped")
        return 128 + signal.SIGINT
    return _print_verdict(console, found, time.monotonic() - began)


def _parse_options() -> argparse.Namespace:
    about = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m penstock.demo.issue_tracker", description=about)
    parser.add_argument("--postgres", type=Path, required=True, help="the folder of Postgres' programs")
    parser.add_argument("--folder", type=Path, default=Path(".demo-postgres"), help="where the project lives")
    parser.add_argument("--kill-server", action="store_true", help="kill -9 Penstock's server between two releases")
    parser.add_argument("--rate", type=float, default=RATE, help="transactions a second")
    return parser.parse_args()


def _print_verdict(console: Console, found: Sequence[StoreComparison], seconds: float) -> int:
    table = Table(header_style="bold", box=SIMPLE_HEAD)
    for name in ("store", "table", "rows", "of", "lost", "doubled", "wrong", ""):
        table.add_column(name, justify="left" if name in ("store", "table", "") else "right", no_wrap=True)
    for each in found:
        counts = (each.rows, each.expected, each.lost, each.doubled, len(each.wrong))
        mark = "[green]equal[/green]" if each.is_equal else f"[red]WRONG[/red] {', '.join(sorted({*each.wrong}))}"
        table.add_row(each.store, each.table, *(f"{count:,}" for count in counts), mark)
    console.print(table)
    lost, doubled = sum(each.lost for each in found), sum(each.doubled for each in found)
    dropped = sum(len(each.wrong) for each in found)
    text = f"rows lost: {lost:,}   rows doubled: {doubled:,}   values dropped: {dropped:,}"
    console.print(f"{seconds:.0f} s in all\n[bold]{text}[/bold]", highlight=False)
    return 0 if found and all(each.is_equal for each in found) else 1
