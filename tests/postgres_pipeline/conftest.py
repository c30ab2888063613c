"""A pipeline with everything in Postgres, reached over a wire that can be cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.conftest import Running
from penstock.deploy.pipeline import Pipeline
from penstock.model.settings import Settings
from penstock.parse.settings import parse_settings
from postgres import PASSWORD, USER, Postgres, start_or_skip
from wire import Wire

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
"""


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
def wire(postgres: Postgres) -> Iterator[Wire]:
    """Between Iceberg and its catalog."""
    made = Wire(postgres.port)
    yield made
    made.close()


@pytest.fixture(scope="session")
def server(postgres: Postgres, wire: Wire, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("home")
    text = CONFIGURATION.format(
        state=postgres.store(),
        port=wire.port,
        catalog=postgres.schema(),
        user=USER,
        password=PASSWORD,
        warehouse=(home / "warehouse").as_uri(),
    )
    settings = parse_settings(text, "penstock.toml", problems := [])
    assert problems == []
    made = Server(settings, home)
    yield made
    made.pipeline.close()
