"""The fixture that the tests of this folder share, and what distinguishes `make chaos` from CI."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from chaos import server_life
from chaos.laboratory import Laboratory
from chaos.results import FULL
from penstock.deploy.maintenance import column_materialization


@pytest.fixture(scope="session")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    made = Laboratory(tmp_path_factory.mktemp("laboratory"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "excepthook", server_life.quiet)
        # Columns are materialized more often, so that there is more to crash.
        patch.setattr(column_materialization, "PAUSE", 0.2)
        made.prepare()
        yield made


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "full: only in `make chaos`")
    config.addinivalue_line("markers", "bounded: only in CI; `make chaos` does more of the same")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What belongs to the other kind of run is not counted as skipped: it is not there."""
    unwanted = "bounded" if FULL else "full"
    gone = [item for item in items if item.get_closest_marker(unwanted)]
    config.hook.pytest_deselected(items=gone)
    items[:] = [item for item in items if item not in gone]
