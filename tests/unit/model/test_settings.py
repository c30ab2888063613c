"""What follows from settings."""

from __future__ import annotations

import pytest

from penstock.model.settings import SparkSettings


@pytest.mark.parametrize(
    ("memory", "size"),
    [("512k", 524_288), ("480m", 503_316_480), ("2g", 2_147_483_648), ("2G", 2_147_483_648), ("1t", 1_099_511_627_776)],
)
def test_the_bytes_of_an_amount_of_memory(memory: str, size: int) -> None:
    assert SparkSettings(driver_memory=memory).driver_memory_bytes == size
