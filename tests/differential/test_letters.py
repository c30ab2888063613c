"""Every letter of Unicode in initcapUTF8, whose table is ClickHouse's (scripts/letter_cases.py)."""

from __future__ import annotations

import json

import pytest
from tests.differential.engines import ClickHouse, Spark

SURROGATES = range(0xD800, 0xE000)
AT_ONCE = 20_000
LETTERS = [chr(code) for code in range(1, 0x110000) if code not in SURROGATES]

pytestmark = pytest.mark.spark


def words(letters: list[str]) -> str:
    """Each letter at the beginning of a word, inside of one, and at its end."""
    return "".join(f"{letter}a-a{letter}a-" for letter in letters)


@pytest.mark.timeout(600)
def test_every_letter_is_written_as_clickhouse_writes_it(clickhouse: ClickHouse, quick: Spark) -> None:
    texts = [words(LETTERS[start : start + AT_ONCE]) for start in range(0, len(LETTERS), AT_ONCE)]
    frame = quick.session.createDataFrame([(text,) for text in texts], "x STRING")
    frame.createOrReplaceTempView("__all_letters__")
    ours = quick.session.sql("SELECT x, penstock_initials(x) AS y FROM __all_letters__").collect()
    for text, found in ours:
        assert found == _by_clickhouse(clickhouse, text)


def _by_clickhouse(clickhouse: ClickHouse, text: str) -> str:
    written = text.replace("\\", "\\\\").replace("'", "\\'")
    query = f"SELECT initcapUTF8('{written}') AS y SETTINGS max_query_size = 100000000"
    found: str = json.loads(clickhouse.session.query(query, "JSONCompact").bytes())["data"][0][0]
    return found
