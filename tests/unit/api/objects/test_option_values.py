"""A value that an option cannot have is an error where the object is made, and none is taken for another one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pydantic import BaseModel, RootModel

from penstock import (
    CopyOptions,
    IngestPipelineConfig,
    LifeCycle,
    MaterializedViewOptions,
    OlapConfig,
    OlapTable,
    ReplacingMergeTreeEngine,
    StreamConfig,
    materialized_view,
)


class Row(BaseModel):
    id: str


class Texts(RootModel[list[str]]):
    pass


def view_options(**given: object) -> object:
    return MaterializedViewOptions(materialized_view_name="m", select_statement="SELECT 1", **given)  # type: ignore[arg-type]


def async_view() -> object:
    async def view() -> str:
        return "SELECT 1"

    return materialized_view(target=OlapTable[Row]("of_async"))(view)


@pytest.mark.parametrize("config", [OlapConfig, StreamConfig, IngestPipelineConfig])
def test_a_life_cycle_may_be_its_text(config: Callable[..., OlapConfig]) -> None:
    assert config(life_cycle="DELETION_PROTECTED").life_cycle is LifeCycle.DELETION_PROTECTED
    with pytest.raises(TypeError, match=r"one of LifeCycle.FULLY_MANAGED, .* not 'nonsense'"):
        config(life_cycle="nonsense")


REFUSED: dict[str, Callable[[], object]] = {
    "backfill must be True or False": lambda: OlapConfig(backfill="no"),  # type: ignore[arg-type]
    r"write ReplacingMergeTreeEngine\(…\)": lambda: OlapConfig(engine=ReplacingMergeTreeEngine),  # type: ignore[arg-type]
    "engine must be of TableEngine": lambda: OlapConfig(engine="MergeTree"),  # type: ignore[arg-type]
    "tags must be a list of str": lambda: OlapConfig(tags="abc"),
    "tokens must be a list of Token": lambda: CopyOptions(tokens=["a"]),  # type: ignore[list-item]
    "metadata must be a dict": lambda: OlapConfig(metadata="text"),  # type: ignore[arg-type]
    "select_tables must be a list of Declared": lambda: view_options(select_tables=["events"]),
    "destination must be of OlapTable": lambda: StreamConfig(destination="events"),  # type: ignore[arg-type]
    "table must be True or False": lambda: IngestPipelineConfig(table="events"),  # type: ignore[arg-type]
    "version is given twice": lambda: IngestPipelineConfig(version="1", table=OlapConfig(version="2")),
    "life_cycle is given twice": lambda: IngestPipelineConfig(
        life_cycle=LifeCycle.DELETION_PROTECTED, table=OlapConfig(life_cycle=LifeCycle.FULLY_MANAGED)
    ),
    "Texts is a RootModel": lambda: OlapTable[Texts]("texts"),
    "a plain function: `def view`": async_view,
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_value_of_another_kind_is_refused(message: str) -> None:
    with pytest.raises(TypeError, match=message):
        REFUSED[message]()
