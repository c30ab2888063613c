"""Which texts in a document are times, compared with ClickHouse (chDB)."""

from __future__ import annotations

import json
import random

from clickhouse_session import open_session
from penstock.model.json_documents.inferred_times import _infer_short_time, infer_time, written_time

WRITTEN = (
    "2020-01-01T10:00:00Z",
    "2020-01-01 10:00:00.123",
    "5 Jan 2020 10:00:00",
    "Mon, 5 Jan 2020 10:00:00 GMT",
    "1/2/2020 3:04 PM",
    "2020-1-1 1:2:3+02:00",
    "10:00 5-Mar-20",
    "2020-02-30",
    "2149-06-07",
    "1969-12-31",
    "2262-04-11 23:47:16.854775807",
    "20MSK2106-02-07 10:00",
    "PM1053020200070",
    "+1-202-555",
    "10.0.0.1",
    "5 Marchy 2020",
)
CHARACTERS = "0123456789-/:., TZ+amPJ"
AT_ONCE = 900


def test_the_same_texts_are_times_in_clickhouse() -> None:
    """Texts that people write, and the same with characters changed; all of them are leaves of few documents."""
    chance = random.Random(5)
    texts = [*WRITTEN, *(_changed(chance, text) for text in WRITTEN for _ in range(250))]
    session = open_session()
    for at in range(0, len(texts), AT_ONCE):
        document = {f"k{place:04d}": text for place, text in enumerate(texts[at : at + AT_ONCE])}
        literal = json.dumps(document).replace("\\", "\\\\").replace("'", "\\'")
        sql = f"SELECT JSONAllPathsWithTypes(j), j FROM (SELECT '{literal}'::JSON AS j)"
        kinds, shown = json.loads(session.query(sql, "JSONCompactEachRow").bytes())
        ours = {key: infer_time(text) or ("String", text) for key, text in document.items()}
        assert ours == {key: (kinds[key], shown[key]) for key in document}
    session.close()


def _changed(chance: random.Random, text: str) -> str:
    characters = list(text)
    for _ in range(chance.choice((1, 1, 2, 3))):
        place = chance.randrange(len(characters))
        characters[place : place + chance.randrange(2)] = chance.choice(("", chance.choice(CHARACTERS)))
        characters = characters or ["1"]
    return "".join(characters)


def test_a_time_as_a_type_with_more_digits() -> None:
    assert written_time("2020-1-2", "DateTime") == "2020-01-02 00:00:00"
    assert written_time("2020-1-2", "DateTime64(9)") == "2020-01-02 00:00:00.000000000"
    assert written_time("2020-01-02T10:00:00Z", "DateTime") == "2020-01-02 10:00:00"


def test_long_texts_are_not_kept() -> None:
    kept = _infer_short_time.cache_info().currsize
    assert infer_time("2020-01-02 " * 100_000) is None
    assert _infer_short_time.cache_info().currsize == kept
