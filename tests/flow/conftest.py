"""The Spark session that all tests of this folder share, and a pipeline whose steps a test runs one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from manual_pipeline import MakePipeline, ManualPipeline
from penstock.flow import materialized_view
from penstock.flow.landing import direct_landing
from penstock.lake.spark.session import Lake, open_lake
from penstock.model.settings import Settings, SparkSettings

_numbers = itertools.count(1)


@pytest.fixture(scope="package")
def lake_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="package")
def lake(lake_home: Path) -> Iterator[Lake]:
    opened = open_lake(Settings(spark=SparkSettings(master="local[2]", driver_memory="2g")), lake_home)
    yield opened
    opened.close()


@pytest.fixture
def make_pipeline(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> MakePipeline:
    """Makes a pipeline of a project (files by path) whose steps the test runs one by one."""

    def make(files: Mapping[str, str]) -> ManualPipeline:
        folder: Path = tmp_path_factory.mktemp("state")
        return ManualPipeline(lake, folder, f"t{next(_numbers)}", files)

    return make


@pytest.fixture(params=["this process", "Spark"])
def either_writer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small steps are written by this process, as they are, and by Spark, as large ones are."""
    if request.param == "Spark":
        monkeypatch.setattr(direct_landing, "SMALL_ROWS", -1)
        monkeypatch.setattr(materialized_view, "DIRECT_STEP_ROWS", -1)
