"""What the planner moves for each migration case, beside what other ways would move and the least possible.

In: the cases of bench/cases, a fixed project with 1,000,000 events. Out: bench/results/plan.md. Penstock's numbers are
those of the plans that `deploy --check` makes of live tables on Spark and Iceberg; what a case says of itself (what
today's best rewrites, the minimum) is by hand.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from cases import cases, graph
from events import bodies
from measure import Measure
from pipelines import deployed, fill, pipeline
from reports import report

from penstock.deploy.lifecycle.deployer import DeployOptions

EVENTS = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what the planner moves for each migration case.")
    parser.add_argument("--events", type=int, default=EVENTS, help="rows of analytics_events")
    parser.add_argument("--write", action="store_true", help="write bench/results/plan.md")
    asked = parser.parse_args()
    with pipeline() as running:
        deployed(running, graph(), DeployOptions())
        fill(running, bodies(asked.events))
        measure = Measure(running)
        tables = measure.tables()
        lines = []
        for case in cases():
            lines.append(measure.line(case))
            print(lines[-1].row, flush=True)
        text = report(lines, tables, asked.events)
    if asked.write:
        target = Path(__file__).parent / "results/plan.md"
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
