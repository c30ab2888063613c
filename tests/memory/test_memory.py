"""A query that would fill the memory of Spark ends alone, with an error; the server, the flows of live and other
queries go on, in the same process of Spark. In a folder of its own, since folders may share a JVM."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from fuzz.conftest import FILES
from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.pipeline import Pipeline
from penstock.lake.spark.memory_watch import FULL, SparkHeap
from penstock.model.settings import ServerSettings, Settings, SparkSettings
from penstock.serve.app import create_app
from penstock.serve.http.pipeline_host import PipelineHost

HEAP = SparkSettings().driver_memory
RUNAWAYS = {
    "an array of all rows": "SELECT length(groupArray(concat('a text that is not short: ', toString(number)))) AS n"
    " FROM numbers(300000000)",
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    """A pipeline with little memory, whose queries have time to fill it."""
    server = ServerSettings(max_query_seconds=300)
    made = Pipeline(
        Settings(server=server, spark=SparkSettings("local[2]", HEAP, None)), tmp_path_factory.mktemp("home")
    )
    _deploy(made, FILES)
    yield made
    made.close()


def _deploy(pipeline: Pipeline, files: Mapping[str, str]) -> None:
    deployed = pipeline.deployer.deploy(files, DeployOptions(False, True, False, None))
    for _ in pipeline.deployer.events(deployed.id):
        pass


@pytest.fixture
def client(small: Pipeline) -> TestClient:
    host = PipelineHost()
    host.opened(small)
    secret = small.tokens.create(f"t{len(small.tokens.list())}", ("read", "append"))
    return TestClient(create_app(host), headers={"Authorization": f"Bearer {secret}"})


def test_the_watch_sees_the_heap_and_the_scheduler(small: Pipeline) -> None:
    heap = SparkHeap(small.core.warehouse.lake)
    assert heap.has_scheduler()
    assert 0 < heap.share_after_collection() < FULL
    assert 0 < heap.old_share() < 1


@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", RUNAWAYS)
def test_a_query_that_would_end_spark_ends_alone(small: Pipeline, client: TestClient, name: str) -> None:
    before = small.jvm
    landed = client.post("/v0/sql", content="SELECT count() AS n FROM flights").json()["data"][0]["n"]
    with ThreadPoolExecutor(1) as threads:
        runaway = threads.submit(client.post, "/v0/sql", content=RUNAWAYS[name])
        posted, began = 0, time.monotonic()
        while not runaway.done() or not posted:
            receipt = small.ingestion.append("flights", b'{"carrier": "AA", "delay": 1}\n', None)
            small.ingestion.wait(receipt, 200)
            posted += 1
            found = client.post("/v0/sql", content="SELECT count() AS n FROM flights")
            assert found.json().get("data") == [{"n": landed + posted}], found.text
        print(f"{name}: {time.monotonic() - began:.1f} s, {posted} rows landed and read meanwhile")
        answer = runaway.result()
    assert (answer.status_code, answer.json()["code"]) == (413, "too-large"), answer.text
    assert any(word in answer.json()["error"] for word in ("memory", "bytes")), answer.text
    assert small.jvm == before
    assert client.post("/v0/sql", content="SELECT 1 AS a").json()["data"] == [{"a": 1}]


STOPPED = """
import pathlib, sys
from penstock.lake.spark.memory_watch import MemoryWatch, SparkHeap
from penstock.lake.spark.session import open_lake
from penstock.model.settings import Settings, SparkSettings
lake = open_lake(Settings(spark=SparkSettings("local[1]", "480m", None)), pathlib.Path(sys.argv[1]))
context = lake.spark.sparkContext
MemoryWatch(SparkHeap(lake)).start()
context._jsc.sc().stopInNewThread()
context._gateway.proc.wait(60)
"""


def test_spark_that_can_run_nothing_any_more_is_ended(tmp_path: Path) -> None:
    """Spark's listeners and its cleaner stop the context when they fail; the process would live on. (In one of its own:
    the other tests share this one's.)"""
    subprocess.run([sys.executable, "-c", STOPPED, str(tmp_path)], check=True, timeout=120)
