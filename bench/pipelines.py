"""A whole pipeline in this process, in a folder that is gone afterwards, with the fixed project in it.

In: files and rows. Out: a `Pipeline` that is fed. What is measured is the product as the server runs it; nothing is
written past its inbox and its deployer.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.pipeline import Pipeline
from penstock.model.deployment import Deployment
from penstock.model.settings import Settings, SparkSettings

LONGEST = 1_800


@contextmanager
def pipeline(driver_memory: str = "4g") -> Iterator[Pipeline]:
    """Two cores for Spark."""
    with tempfile.TemporaryDirectory() as home:
        made = Pipeline(Settings(spark=SparkSettings(master="local[2]", driver_memory=driver_memory)), Path(home))
        try:
            yield made
        finally:
            made.close()


def deployed(running: Pipeline, files: Mapping[str, str], options: DeployOptions) -> Deployment:
    """Deploy and wait for what comes of it."""
    made = running.deployer.deploy(files, options)
    for _ in running.deployer.events(made.id):
        pass
    return running.store.find(str(made.id))


def fill(running: Pipeline, bodies: Iterable[tuple[str, bytes]]) -> None:
    """Post, and wait until every table has every row."""
    for name, body in bodies:
        receipt = running.ingestion.append(name, body, None)
        if receipt.quarantined_rows:
            raise RuntimeError(f"{receipt.quarantined_rows} rows for {name} do not fit")
        running.ingestion.wait(receipt, LONGEST)


def settle(running: Pipeline) -> float:
    """Wait until no column of live is computed any more; the seconds that took."""
    started = time.monotonic()
    while unsettled(running):
        if time.monotonic() - started > LONGEST:
            raise TimeoutError("live is not settled")
        time.sleep(0.5)
    return time.monotonic() - started


def unsettled(running: Pipeline, state: str = "live") -> list[str]:
    """The data sources of a version in this state with columns that are computed when they are read."""
    live = next(each for each in _statuses(running) if each["state"] == state)
    tables = live["tables"]
    assert isinstance(tables, dict)
    return [name for name, table in tables.items() if table["settled"] < 1]


def _statuses(running: Pipeline) -> list[dict[str, object]]:
    found = running.status()["deployments"]
    assert isinstance(found, list)
    return found
