"""One Spark session for all tests of this folder, and a way to run flows by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from by_hand import ByHand
from penstock.lake.spark.session import Lake, open_lake
from penstock.model.settings import Settings, SparkSettings

_numbers = itertools.count(1)


@pytest.fixture(scope="package")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    opened = open_lake(
        Settings(spark=SparkSettings(master="local[2]", driver_memory="2g")), tmp_path_factory.mktemp("lake")
    )
    yield opened
    opened.close()


@pytest.fixture
def by_hand(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Mapping[str, str]], ByHand]:
    """Makes a pipeline of a project (files by path) whose steps the test runs one by one."""

    def make(files: Mapping[str, str]) -> ByHand:
        folder: Path = tmp_path_factory.mktemp("state")
        return ByHand(lake, folder, f"t{next(_numbers)}", files)

    return make
