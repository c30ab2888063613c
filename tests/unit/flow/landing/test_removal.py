"""Which rows a removal means for a version: by its own columns, or by those of live where it was made later."""

from __future__ import annotations

import pytest

from penstock.errors import Failed
from penstock.flow.landing.removal import Removal
from penstock.model.manifest import Landing, LandingColumn
from penstock.model.types import Int, String

REMOVAL = Removal({"v1": "`a__1` = 5"}, "(`a` = 5) = 1 AND `b` = 'x'", {"a": "INT", "b": "STRING"})


def landing(version: str, *names: str) -> Landing:
    columns = (LandingColumn(name, f"{name}__2", Int(64) if name == "a" else String(), f"$.{name}") for name in names)
    return Landing("s", "t", version, tuple(columns))


def test_a_version_that_ran_has_a_condition_of_its_own() -> None:
    assert REMOVAL.condition(landing("v1")) == "`a__1` = 5"


def test_a_later_version_is_asked_by_the_names_and_types_of_live() -> None:
    asked = REMOVAL.condition(landing("v2", "a", "b", "c"))
    assert asked == "(try_cast(`a__2` AS INT) = 5) = 1 AND try_cast(`b__2` AS STRING) = 'x'"


def test_a_version_without_such_a_column_keeps_no_row_silently() -> None:
    with pytest.raises(Failed, match="deleted by `b`, which this version does not have"):
        REMOVAL.condition(landing("v3", "a"))


def test_it_reads_back_equal() -> None:
    assert Removal.decode(REMOVAL.encode()) == REMOVAL
