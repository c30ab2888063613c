"""A .datasource file to its value, where nothing is wrong with it."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from penstock.errors import Location, Problem
from penstock.model import types as t
from penstock.model.datasource import MESSAGE_COLUMNS, DataSource, FileSource, KafkaSource, Token
from penstock.parse.datasource import parse_datasource


def read(text: str) -> DataSource:
    found = problems(text)
    assert [str(problem) for problem in found if problem.level == "error"] == []
    return parse_datasource(text, "x.datasource", "x", [])


FILES = "IMPORT_CONNECTION_NAME k\nIMPORT_BUCKET_URI s3://b/in/*.csv"
TOPIC = "KAFKA_CONNECTION_NAME k\nKAFKA_TOPIC t\nKAFKA_GROUP_ID g"


def problems(text: str) -> list[Problem]:
    found: list[Problem] = []
    parse_datasource(text, "x.datasource", "x", found)
    return found


def test_columns() -> None:
    source = read(
        "SCHEMA >\n"
        "    `a` Array(Int8) `json:$.a[:]`, -- first, of all\n"
        "    b String DEFAULT concat('x, y', lower(c)) CODEC(ZSTD(1), LZ4) `json:$.b`,\n"
        "    c Enum8('a' = 1, 'b') RENAMED_FROM `old` DEFAULT 'a',\n"
        "    d Nullable(Int8) DEFAULT NULL CODEC(Delta)"
    )
    a, b, c, d = source.columns
    assert (a.name, a.type, a.json_path, str(a.location)) == ("a", t.Array(t.Int(8)), "$.a[:]", "x.datasource:2:5")
    assert b.default is not None
    assert (b.default.text, str(b.default.location)) == ("concat('x, y', lower(c))", "x.datasource:3:22")
    assert (b.codec, b.json_path) == ("ZSTD(1), LZ4", "$.b")
    assert (c.type, c.renamed_from) == (t.Enum(8, (("a", 1), ("b", 2))), "old")
    assert d.default is not None
    assert (d.default.text, d.codec) == ("NULL", "Delta")


def test_default_of_many_lines_leads_back_to_them() -> None:
    source = read("SCHEMA >\n    a Int8 DEFAULT if(\n        b,\n      1, 2),\n    b UInt8")
    default = source.columns[0].default
    assert default is not None
    assert default.text == "if(\n    b,\n  1, 2)"
    assert str(default.at(2, 5)) == "x.datasource:3:9"


def test_default_may_name_columns_called_like_directives() -> None:
    source = read("SCHEMA >\n    codec Int8,\n    a Int8 DEFAULT codec + 1 CODEC(LZ4)")
    default = source.columns[1].default
    assert default is not None
    assert (default.text, source.columns[1].codec) == ("codec + 1", "LZ4")


def test_keys_in_every_spelling() -> None:
    columns = "SCHEMA >\n    a Int8, b DateTime, c Tuple(x Int8)\n"
    for written, expected in {
        "": (),
        '""': (),
        "tuple()": (),
        '"tuple()"': (),
        "()": (),
        "a": ("a",),
        '"a, toDate(b)"': ("a", "toDate(b)"),
        "(a, toDate(b))": ("a", "toDate(b)"),
        "tuple(`a`, b)": ("a", "b"),
        "(a), (b)": ("(a)", "(b)"),
        "c.x, toStartOfInterval(b, INTERVAL 1 DAY)": ("c.x", "toStartOfInterval(b, INTERVAL 1 DAY)"),
    }.items():
        assert read(f"{columns}ENGINE_SORTING_KEY {written}").engine.sorting_key == expected, written


def test_engine() -> None:
    source = read(
        "SCHEMA >\n    a UInt8, at DateTime, v UInt8, gone UInt8\n"
        'ENGINE "ReplacingMergeTree"\n'
        "ENGINE_SORTING_KEY a, at\nENGINE_PRIMARY_KEY a\nENGINE_SAMPLING_KEY a\n"
        "ENGINE_VER v\nENGINE_IS_DELETED `gone`\n"
        "ENGINE_TTL at + INTERVAL 1 DAY DELETE\nENGINE_SETTINGS \"a = 1, b = 'x'\"\n"
    )
    engine = source.engine
    assert (engine.name, engine.sorting_key, engine.primary_key) == ("ReplacingMergeTree", ("a", "at"), ("a",))
    assert (engine.sampling_key, engine.ver, engine.is_deleted) == ("a", "v", "gone")
    assert (engine.ttl, engine.settings) == ("at + INTERVAL 1 DAY", (("a", "1"), ("b", "x")))
    assert str(engine.location("ENGINE_VER")) == "x.datasource:7:1"


def test_everything_else() -> None:
    source = read(
        'DESCRIPTION >\n    Two\n    lines\nTAGS a, b\nTOKEN "my app" append\nTOKEN r READ\n'
        "SHARED_WITH >\n    one,\n    two\nINDEXES >\n    INDEX i a TYPE minmax,\n    INDEX j b TYPE set(1)\n"
        "SCHEMA >\n    a Int8\nFORWARD_QUERY SELECT *\nBACKFILL skip\nRENAMED_FROM `old`\n"
        "LIFE_CYCLE Deletion_Protected"
    )
    assert source.engine.name == "MergeTree"
    assert (source.description, source.tags) == ("Two\nlines", ("a", "b"))
    assert source.tokens == (Token("my app", "APPEND"), Token("r", "READ"))
    assert source.shared_with == ("one", "two")
    assert source.indexes == ("INDEX i a TYPE minmax", "INDEX j b TYPE set(1)")
    assert source.forward_query is not None
    assert (source.forward_query.text, source.keeps_history, source.renamed_from) == ("SELECT *", False, "old")
    assert source.is_protected


@pytest.mark.parametrize("word", ["from", "select", "sample", "null", "true", "case"])
def test_a_key_column_may_be_called_like_a_word_of_sql(word: str) -> None:
    engine = read(f"SCHEMA >\n    `{word}` UInt8\nENGINE_SORTING_KEY `{word}`\nENGINE_SAMPLING_KEY `{word}`\n").engine
    assert (engine.sorting_key, engine.sampling_key) == ((f"`{word}`",), f"`{word}`")


def test_summed_columns_may_have_names_that_need_quotes() -> None:
    schema = "SCHEMA >\n    k UInt8, `user-id` UInt64, `from` UInt64\nENGINE SummingMergeTree\nENGINE_SORTING_KEY k\n"
    assert read(f"{schema}ENGINE_COLUMNS `user-id`, `from`\n").engine.summed == ("user-id", "from")
    found = problems(schema.replace("KEY k", "KEY k, `user-id`") + "ENGINE_COLUMNS `user-id`\n")
    assert ["is in the sorting key" in each.message for each in found] == [True]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("ENGINE_SAMPLING_KEY a", None),
        ("ENGINE_SAMPLING_KEY (a)", None),
        ("ENGINE_SAMPLING_KEY cityHash64( s )", None),
        ("ENGINE_SAMPLING_KEY a\nENGINE_PRIMARY_KEY s, a", None),
        ("ENGINE_SAMPLING_KEY a\nENGINE_PRIMARY_KEY s", "`a` is not part of the primary key"),
        ("ENGINE_SAMPLING_KEY w", "`w` is not part of the primary key"),
        ("ENGINE_SAMPLING_KEY cityHash64(a)", "`cityHash64(a)` is not part of the primary key"),
        ("ENGINE_SAMPLING_KEY s", "needs one expression of UInt8, UInt16, UInt32 or UInt64"),
        ("ENGINE_SAMPLING_KEY i", "needs one expression of UInt8, UInt16, UInt32 or UInt64"),
        ("ENGINE_SAMPLING_KEY a, s", "needs one expression of UInt8, UInt16, UInt32 or UInt64"),
    ],
)
def test_sampling_keys(written: str, said: str | None) -> None:
    schema = "SCHEMA >\n    s String, a UInt16, i Int32, w UInt8\nENGINE MergeTree\n"
    text = f"{schema}ENGINE_SORTING_KEY s, a, cityHash64(s), i\n{written}\n"
    found = problems(text)
    assert [each.code for each in found] == (["invalid-key"] if said else [])
    assert said is None or said in found[0].message
    assert said is None or str(found[0].location).startswith("x.datasource:5:21")


@pytest.mark.parametrize(
    ("line", "code", "level"),
    [
        ("INDEXES >\n    i a TYPE minmax GRANULARITY 1", "ignored-directive", "warning"),
        ("CACHE 60", "ignored-directive", "warning"),
        ("SHARDS 4", "ignored-directive", "warning"),
        ("VERSION 3", "classic-format", "warning"),
        ("SORTING_KEY a", "classic-format", "warning"),
        ("INCLUDE common.incl", "classic-format", "error"),
        ("SOURCE s3://bucket", "classic-format", "error"),
        ("SETTINGS index_granularity = 1", "classic-format", "error"),
        ('KAFKA_CONNECTION_NAME "k"\nKAFKA_TOPIC t', "missing-directive", "warning"),
        ("KAFKA_BOOTSTRAP_SERVERS b\nKAFKA_GROUP_ID g\nKAFKA_TOPIC t", "missing-directive", "warning"),
        (f"{TOPIC}\nKAFKA_AUTO_OFFSET_RESET soonest", "invalid-value", "error"),
        (f"{TOPIC}\nKAFKA_VALUE_FORMAT protobuf", "invalid-value", "error"),
        (f"{TOPIC}\nKAFKA_STORE_HEADERS maybe", "invalid-value", "error"),
        (f"{TOPIC}\nKAFKA_TARGET_PARTITIONS auto", "ignored-directive", "warning"),
        ("IMPORT_SERVICE s3_iamrole\nIMPORT_SCHEDULE @auto", "unsupported-directive", "warning"),
        (f"{FILES}\nIMPORT_STRATEGY replace", "unsupported-directive", "warning"),
        (f"{FILES}\nIMPORT_SERVICE gcs", "unsupported-directive", "warning"),
        (f"{FILES}\nIMPORT_BUCKET_URI gs://b/*.csv", "unsupported-directive", "warning"),
        (f"{FILES}\nIMPORT_BUCKET_URI file:incoming", "unsupported-directive", "warning"),
        (f"{FILES}\nIMPORT_BUCKET_URI s3://my[bucket/x.csv", "unsupported-directive", "warning"),
        (f"{FILES}\nIMPORT_CONNECTION_NAME ''", "missing-directive", "warning"),
        (f"{FILES}\nIMPORT_SCHEDULE @soon", "invalid-value", "error"),
        (f"{FILES}\nIMPORT_SCHEDULE 61 * * * *", "invalid-value", "error"),
        (f"{FILES}\nIMPORT_FORMAT xlsx", "invalid-value", "error"),
        (f"{FILES}\nIMPORT_FROM_TIMESTAMP yesterday", "invalid-value", "error"),
        (f"{FILES}\nIMPORT_TABLE_ARN arn:x", "unsupported-directive", "warning"),
        ("IMPORT_CONNECTION_NAME k\nIMPORT_QUERY SELECT 1", "unsupported-directive", "warning"),
        ("PG_CONNECTION_NAME shop\nPG_TABLE orders", "unsupported-directive", "warning"),
        ('ENGINE "MergeTree"\nENGINE MergeTree', "duplicate-directive", "warning"),
        ("LIFE_CYCLE deletion_protect", "invalid-value", "error"),
        ("LIFE_CYCLE externally_managed", "invalid-value", "error"),
    ],
)
def test_what_the_format_has_and_means_nothing_here(line: str, code: str, level: str) -> None:
    (found,) = problems(f"SCHEMA >\n    a Int8\n{line}\n")
    assert (found.code, found.level) == (code, level)
    assert found.location is not None
    assert ("penstock migrate" in str(found.hint)) == (code == "classic-format")


def test_files_that_a_data_source_takes() -> None:
    more = "IMPORT_SCHEDULE '@AUTO'\nIMPORT_FORMAT jsonl\nIMPORT_FROM_TIMESTAMP \"2026-01-31T00:00:00Z\"\n"
    found = read(f"SCHEMA >\n    a Int8\n{FILES}\n{more}").files
    assert found == FileSource(
        "k", "s3://b/in/*.csv", "@auto", "ndjson", datetime(2026, 1, 31, tzinfo=timezone.utc), location=Location("")
    )
    plain = read(f"SCHEMA >\n    a Int8\n{FILES}\nIMPORT_SCHEDULE */5 * * * *\n").files
    assert plain is not None
    assert (plain.schedule, plain.format, plain.since) == ("*/5 * * * *", None, None)


def test_the_last_of_two_directives_counts() -> None:
    assert read("SCHEMA >\n    a Int8\nSCHEMA >\n    b Int8\nindices >\n    i b TYPE set(1)").column_names == ("b",)


@pytest.mark.parametrize(
    ("lines", "added"),
    [
        ("KAFKA_CONNECTION_NAME k\nKAFKA_TOPIC t", "__value __topic __partition __offset __timestamp __key"),
        (
            "KAFKA_TOPIC t\nKAFKA_STORE_HEADERS 'True'",
            "__value __topic __partition __offset __timestamp __key __headers",
        ),
        ("IMPORT_CONNECTION_NAME k", ""),
        ("IMPORT_TABLE_ARN 'arn:x'", "_record _old_record _timestamp _event_name _is_deleted"),
    ],
)
def test_the_columns_that_connectors_add(lines: str, added: str) -> None:
    source = read(f"SCHEMA >\n    a Int8 `json:$.a`\n{lines}\n")
    assert source.column_names == ("a", *added.split())
    assert all(column.default is not None for column in source.columns[1:])
    carried = {"KAFKA": {name: f"$.{name}" for name in added.split() if name != "__value"}}.get(lines[:5], {})
    assert {each.name: path for each in source.columns[1:] if (path := source.path_of(each))} == carried


def test_columns_of_a_topic_are_filled_by_their_names() -> None:
    whole = "SCHEMA >\n    a Int8, __key String DEFAULT 'none'\n{}KAFKA_TOPIC t\n"
    source = read(whole.format("KAFKA_STORE_RAW_VALUE True\n"))
    paths = {each.name: source.path_of(each) for each in source.columns}
    assert paths == {name: f"$.{name}" for name in ("a", "__key", "__value", *MESSAGE_COLUMNS[1:5])}
    key = source.column("__key")
    assert key is not None
    assert key.default is not None
    assert key.default.text == "'none'"
    value = read(whole.format("")).column("__value")
    assert value is not None
    assert read(whole.format("")).path_of(value) is None
    assert source.kafka is None


def test_a_whole_topic() -> None:
    source = read(f"SCHEMA >\n    a Int8\n{TOPIC}\nKAFKA_AUTO_OFFSET_RESET 'earliest'\nKAFKA_VALUE_FORMAT avro\n")
    assert source.kafka == KafkaSource("k", "t", "g", "earliest", "avro")


def test_keys_may_name_the_columns_that_kafka_adds() -> None:
    source = read(
        "SCHEMA >\n    a Int8, __offset Int64\nENGINE_PARTITION_KEY toYYYYMM(__timestamp)\n"
        "ENGINE_SORTING_KEY __timestamp\nKAFKA_TOPIC t\n"
    )
    assert source.engine.sorting_key == ("__timestamp",)
    assert [column.name for column in source.columns].count("__offset") == 1


def test_the_engine_may_name_the_columns_that_dynamodb_adds() -> None:
    source = read(
        "SCHEMA >\n    `pk` String `json:$.Item.pk`,\n    `_old_record` Nullable(String) `json:$.OldImage`\n"
        'ENGINE "ReplacingMergeTree"\nENGINE_PARTITION_KEY "toYYYYMM(toDateTime64(_timestamp, 3))"\n'
        'ENGINE_SORTING_KEY "pk"\nENGINE_VER "_timestamp"\nENGINE_IS_DELETED "_is_deleted"\n'
        "IMPORT_SERVICE 'dynamodb'\nIMPORT_CONNECTION_NAME 'c'\nIMPORT_TABLE_ARN 'arn:x'\nIMPORT_EXPORT_BUCKET 'b'\n"
    )
    assert source.engine.ver == "_timestamp"
    assert source.path_of(source.columns[1]) == "$.OldImage", "a column that the schema lists is the schema's"


def test_a_column_that_cannot_be_read_is_one_problem() -> None:
    """Not another one for each key that names it; what is wrong with the key itself stays."""
    found = problems("SCHEMA >\n    a Int99,\n    b Int8\n\nENGINE MergeTree\nENGINE_SORTING_KEY a, (\nENGINE_TTL a")
    assert [(each.code, each.location and each.location.line) for each in found if each.level == "error"] == [
        ("invalid-type", 2),
        ("invalid-key", 6),
    ]
