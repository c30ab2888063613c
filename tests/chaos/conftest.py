"""What the tests of this folder share: one folder with a live version, opened inside this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from chaos import life
from chaos.points import Laboratory
from penstock.deploy import settling


@pytest.fixture(scope="session")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    made = Laboratory(tmp_path_factory.mktemp("laboratory"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "excepthook", life.quiet)
        patch.setattr(settling, "PAUSE", 0.2)  # the settler looks more often, so that there is more to crash
        made.prepare()
        yield made
