"""A real pipeline with small limits, and its application."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzz.application import HOST
from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.pipeline import Pipeline
from penstock.model.settings import ServerSettings, Settings, SparkSettings
from penstock.serve.http.pipeline_host import PipelineHost

LIMITS = ServerSettings(max_query_seconds=6, max_result_rows=1_000, max_result_bytes=100_000)
FILES = {
    "flights.datasource": "SCHEMA >\n    carrier String `json:$.carrier`,\n    delay Int32 `json:$.delay`\n"
    'ENGINE "MergeTree"\nENGINE_SORTING_KEY carrier\n',
    "planes.datasource": "SCHEMA >\n    tail String `json:$.tail`\n",
    "daily.datasource": "SCHEMA >\n    carrier String,\n    n AggregateFunction(count)\n"
    'ENGINE "AggregatingMergeTree"\nENGINE_SORTING_KEY carrier\n',
    "to_daily.pipe": "NODE n\nSQL >\n    SELECT carrier, countState() AS n FROM flights GROUP BY carrier\n"
    "TYPE materialized\nDATASOURCE daily\n",
    "chosen.pipe": "NODE n\nSQL >\n    %SELECT {{ String(s, 'd') }} AS s, {{ Int64(i, 1) }} AS i,"
    " {{ Float64(f, 2) }} AS f,"
    " {{ Array(a, 'String', 'x,y') }} AS a FROM flights WHERE carrier != {{ raw }}"
    "{% if defined(d) %} AND toDate({{ Date(d) }}) > '2020-01-01' {% end %}"
    " AND delay < {{ Int32(n, 9) }} LIMIT {{ UInt8(limit, 5) }}\nTYPE endpoint\n",
    "top.pipe": "NODE n\nSQL >\n    SELECT carrier, max(delay) AS worst FROM flights GROUP BY carrier\nTYPE endpoint\n",
}


@pytest.fixture(scope="package")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    home: Path = tmp_path_factory.mktemp("home")
    conf = {"spark.penstock.hidden": "a-hidden-value"}
    made = Pipeline(Settings(server=LIMITS, spark=SparkSettings("local[2]", "2g", None, conf)), home)
    deployed = made.deployer.deploy(FILES, DeployOptions(False, True, False, None))
    for _ in made.deployer.events(deployed.id):
        pass
    receipt = made.ingestion.append("flights", b'{"carrier": "AA", "delay": 1}\n{"carrier": "UA", "delay": 2}\n', None)
    made.ingestion.wait(receipt, 60)
    yield made
    made.close()


@pytest.fixture(scope="package")
def host(pipeline: Pipeline) -> PipelineHost:
    HOST.opened(pipeline)
    return HOST
