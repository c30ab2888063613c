"""A whole pipeline in this process, with a folder of its own, which all tests of a module share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.pipeline import Pipeline
from penstock.model.deployment import Deployment
from penstock.model.settings import Settings, SinkSettings, SparkSettings
from penstock.serve.app import create_app
from penstock.serve.http.pipeline_host import PipelineHost
from posting import Posting
from waiting import wait_until


class Running:
    """A pipeline and what tests do with it. Each test uses data sources of its own names, so that
    one pipeline (and its Spark session) serves them all: `files` are added to those of the others."""

    def __init__(self, home: Path):
        self.exports = home / "exports"
        """Where sinks may write."""
        spark = SparkSettings(master="local[2]", driver_memory="2g")
        self.pipeline = Pipeline(Settings(spark=spark, sinks=SinkSettings((str(self.exports),))), home)
        self.files: dict[str, str] = {}

    def deploy(self, files: Mapping[str, str | None], promote: bool = True, destructive: bool = False) -> Deployment:
        """Change some files of the live project (None removes one) and wait for the end, which must be that the
        deployment is live, or ready if it is not to be promoted."""
        made = self.attempt(files, promote, destructive)
        if promote and made.id and made.state == "ready":
            # A switch waits some seconds for the last rows, which a slow machine may need more for: as its error says.
            self.catch_up()
            made = self.promote(str(made.id))
        assert made.id == 0 or made.state == ("live" if promote else "ready"), (made.state, made.error)
        return made

    def attempt(self, files: Mapping[str, str | None], promote: bool = True, destructive: bool = False) -> Deployment:
        """Like `deploy`, of what may fail."""
        wanted = {path: text for path, text in {**self.files, **files}.items() if text is not None}
        made = self.pipeline.deployer.deploy(wanted, DeployOptions(False, promote, destructive, None))
        for _ in self.pipeline.deployer.events(made.id) if made.id else ():
            pass
        done = self.pipeline.store.find(str(made.id)) if made.id else made
        if done.state == "live":
            self.files = dict(done.files)
        return done

    def promote(self, ref: str | None = None) -> Deployment:
        done = self.pipeline.deployer.promote(ref)
        self.files = dict(done.files)
        return done

    def rollback(self) -> Deployment:
        done = self.pipeline.deployer.rollback()
        self.files = dict(done.files)
        return done

    def post(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Post rows and wait until they are queryable in every running version."""
        body = "\n".join(map(json.dumps, rows)).encode()
        receipt = self.pipeline.ingestion.append(name, body, None)
        self.pipeline.ingestion.wait(receipt, 60)
        self.catch_up()

    def posting(self, name: str, row: Callable[[int], Mapping[str, object]]) -> Posting:
        """Posts rows as long as the block runs."""
        return Posting(lambda body: self.pipeline.ingestion.append(name, body, None), row)

    def catch_up(self, seconds: float = 60.0) -> None:
        """Wait until every running version has every row."""
        wait_until(lambda: not self._is_behind(), seconds, self.pipeline.status)

    def _is_behind(self) -> bool:
        return any(each["behind"] for each in self.pipeline.status()["deployments"])  # type: ignore[attr-defined, index]

    def ask(self, sql: str, deployment: str = "live") -> list[tuple[object, ...]]:
        return self.pipeline.reader.sql(sql, deployment).rows

    def over_http(self, name: str) -> TestClient:
        """A client that may read, with a token of this name."""
        host = PipelineHost()
        host.opened(self.pipeline)
        token = self.pipeline.tokens.create(name, ["read"])
        return TestClient(create_app(host), headers={"Authorization": f"Bearer {token}"})

    def strategies(self, deployment: Deployment) -> dict[str, str]:
        """By resource, what the plan does with it."""
        return {each["name"]: each["strategy"] for each in deployment.plan["resources"]}  # type: ignore[attr-defined, index]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One a module: every deployment is slower than the one before, since the records of all are read."""
    made = Running(tmp_path_factory.mktemp("home"))
    yield made
    made.pipeline.close()
