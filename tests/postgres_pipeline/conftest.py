"""A pipeline with its state store and its catalog in Postgres, behind a proxy that can cut connections."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import mariadb_server
from deploy.conftest import Running
from penstock.deploy.pipeline import Pipeline
from penstock.model.settings import Settings
from penstock.parse.settings import parse_settings
from postgres_proxy import PostgresProxy
from postgres_server import PASSWORD, USER, Postgres, start_or_skip

CONFIGURATION = """
[spark]
master = "local[2]"

[state]
url = "{state}"

[catalog]
type = "jdbc"
uri = "jdbc:postgresql://127.0.0.1:{port}/postgres?currentSchema={catalog}"
jdbc.user = "{user}"
jdbc.password = "{password}"
# The text of each statement on the wire, where the test looks for it.
jdbc.prepareThreshold = "0"
warehouse = "{warehouse}"

[copies]
private_hosts = ["127.0.0.1"]
"""
SECRETS = {
    "pg_user": USER,
    "pg_password": PASSWORD,
    "pg_wrong": "not the password",
    "my_user": mariadb_server.USER,
    "my_password": mariadb_server.PASSWORD,
    "feed": "Bearer geheim-feed",
    "key": "AKIAGEHEIM",
    "secret": "geheim-secret",
}


class Server(Running):
    """A pipeline that can be closed and opened again, as a restarted server does."""

    def __init__(self, settings: Settings, home: Path):
        self._settings = settings
        self._home = home
        self.files: dict[str, str] = {}
        self.pipeline = Pipeline(settings, home)

    def restart(self) -> None:
        self.pipeline.close()
        self.pipeline = Pipeline(self._settings, self._home)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    server = start_or_skip()
    yield server
    server.end()


@pytest.fixture(scope="session")
def proxy(postgres: Postgres) -> Iterator[PostgresProxy]:
    """Between Iceberg and its catalog."""
    made = PostgresProxy(postgres.port)
    yield made
    made.close()


@pytest.fixture(scope="session")
def server(postgres: Postgres, proxy: PostgresProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("home")
    text = CONFIGURATION.format(
        state=postgres.store(),
        port=proxy.port,
        catalog=postgres.schema(),
        user=USER,
        password=PASSWORD,
        warehouse=(home / "warehouse").as_uri(),
    )
    settings = parse_settings(text, "penstock.toml", problems := [])
    assert problems == []
    with pytest.MonkeyPatch.context() as environment:
        for name, value in SECRETS.items():
            environment.setenv(f"PENSTOCK_SECRET_{name}", value)
        made = Server(settings, home)
        yield made
        made.pipeline.close()
