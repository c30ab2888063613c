"""Type checkers read the public names: a user's project is strict for mypy, and a mistake in it is found."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import penstock

pytest.importorskip("mypy", reason="only `make check` needs mypy")
EXAMPLES = Path(penstock.__file__).parent / "examples"
OBJECTS = """
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Optional

from pydantic import BaseModel, Field

from penstock import (
    AggregateFunction, Api, ClickHouseDefault, ClickHousePrecision, FixedString, Key, MaterializedView,
    MaterializedViewOptions, OlapConfig, OlapTable, ReplacingMergeTreeEngine, SimpleAggregateFunction, Token, UInt8,
    View, CopyOptions, CopyPipe, DeadLetterQueue, IngestApi, IngestConfig, IngestPipeline, IngestPipelineConfig, Stream,
    StreamConfig, Node, SinkOptions, SinkPipe,
)


class Row(BaseModel):
    id: Key[str]
    at: Annotated[datetime, ClickHousePrecision(3)]
    price: Annotated[Decimal, Field(max_digits=10, decimal_places=2)]
    n: UInt8 = 7
    s: Annotated[str, FixedString(4)]
    made: Annotated[datetime, ClickHouseDefault("now()")]
    total: Annotated[int, SimpleAggregateFunction("sum", int)]
    mean: Annotated[float, AggregateFunction("avg", [float])]
    key: Optional[str] = Field(None, alias="k")


t = OlapTable[Row]("t", OlapConfig(version="0.1", engine=ReplacingMergeTreeEngine(ver="n")))
name: str = t.ref
v = View("v", "SELECT id FROM n", base_tables=[t], nodes={"n": Node(f"SELECT id FROM {t}", "of t"), "m": "SELECT 1"})
options = MaterializedViewOptions(select_statement="", select_tables=[t, v], materialized_view_name="m")
MaterializedView[Row](options, target_table=t)
Api[None, Row]("e", sql="SELECT 1", tokens=[Token("a", "READ")])
s = Stream[Row]("s", StreamConfig(destination=t))
IngestApi[Row]("s", IngestConfig(destination=s, dead_letter_queue=DeadLetterQueue[Row]("q")))
whole = IngestPipeline[Row]("whole", IngestPipelineConfig(table=OlapConfig(ttl="at"), version="0.1"))
CopyPipe("c", "SELECT 1", whole.get_table(), CopyOptions(schedule="0 * * * *", select_tables=[s]))
SinkPipe("x", "SELECT 1", SinkOptions(connection="k", kafka_topic="t", tokens=[Token("a", "READ")]))
"""
MISTAKES = """
OlapTable[Row]("t", OlapConfig(versio="0.1"))
OlapTable[int]("t")
t.nam
CopyOptions(mode="replaced")
SinkOptions(connection="k", format="orc")
"""


def test_a_project_is_strict_for_mypy(tmp_path: Path) -> None:
    """In a process of its own: mypy raises the limit of recursion for good, and deep texts then end the process."""
    shutil.copytree(EXAMPLES / "flights-python/app", tmp_path / "app")
    (tmp_path / "sound.py").write_text(OBJECTS)
    (tmp_path / "wrong.py").write_text(OBJECTS + MISTAKES)
    found = _mypy(tmp_path, "app", "sound.py", "wrong.py")
    first = OBJECTS.count("\n")
    assert [line.partition(": error: ")[0] for line in found] == [
        f"wrong.py:{first + number}" for number in (2, 3, 4, 5, 6)
    ], found
    # Another project, whose modules have the same names.
    shutil.copytree(EXAMPLES / "web-analytics-python/app", tmp_path / "other/app")
    assert _mypy(tmp_path / "other", "app") == []


def _mypy(folder: Path, *files: str) -> list[str]:
    options = ("--strict", "--config-file=", "--explicit-package-bases", "--cache-dir=../cache")
    command = [sys.executable, "-m", "mypy", *options, *files]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if ": error: " in line]
