"""What becomes of a JSON document, compared with ClickHouse's JSON type (chDB)."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from chdb.session import Session
from hypothesis import given, settings
from hypothesis import strategies as st

from clickhouse_session import open_session
from penstock.model.json_documents.documents import shown_json, store_text
from penstock.model.json_documents.dynamic_values import leaf_kinds, object_at, value_at
from penstock.model.json_documents.json_syntax import InvalidDocument

SHOWN = (
    ('{"b":1,"a":2,"B":3,"é":4}', '{"B":3,"a":2,"b":1,"é":4}'),
    ('{"b":{"z":1,"y":2},"b.a":3,"c":null,"d":{},"e":[],"f":{"g":{}}}', '{"b":{"a":3,"y":2,"z":1},"e":[]}'),
    ('{"a":1.0,"b":1e3,"c":-0.0,"d":1e21,"e":1e-7}', '{"a":1,"b":1000,"c":-0,"d":1e21,"e":1e-7}'),
    ('{"a":18446744073709551616,"b":18446744073709551615}', '{"a":"18446744073709551616","b":18446744073709551615}'),
    ('{"t":"2020-01-01T10:00:00+02:00","d":"2020-1-2"}', '{"d":"2020-01-02","t":"2020-01-01 08:00:00"}'),
    ('{"l":["2020-01-01","x"],"m":[true,1],"n":[[1],null]}', '{"l":["2020-01-01","x"],"m":[1,1],"n":[[1],[]]}'),
    ('{"s":"\\u00e9\\ud83d\\ude00/\\"\\\\\\n"}', '{"s":"é😀\\/\\"\\\\\\n"}'),
    ("null", "{}"),
)
REFUSED = (
    ("[1]", "a JSON object was expected"),
    ("no", "not JSON"),
    ("", "not JSON"),
    ('{"a":NaN}', "NaN is not JSON"),
    ('{"a":1,"a":2}', "a key stands twice"),
    ('{"a":{"b":1},"a.b":2}', 'the path "a.b" stands twice'),
    ('{"a":1,"a.b":2}', '"a" is both a value and an object'),
    ('{"a":1e400}', "too large"),
    ('{"a":"\\ud800"}', "surrogate"),
    ('{"a":' * 101 + "1" + "}" * 101, "nested more than 100 deep"),
    ("[" * 100_000, "nested more than 100 deep"),
    (f'{{"a":{"1" * 5000},}}', "not JSON"),
    (f'{{"a":{"1" * 5000},"b":{"[" * 100_000}', "nested more than 100 deep"),
    (f'{{"{".".join("a" * 101)}":1}}', "nested more than 100 deep"),
)
SCALARS = st.one_of(
    st.sampled_from(("", "x", "12", "true", "2020-01-01", "2020-01-01T00:00:00Z", "2020-01-01 00:00:00.5", 'é/"\\\n')),
    st.integers(-(2**64), 2**65),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
)
LEAVES = st.one_of(
    SCALARS,
    st.none(),
    st.lists(st.integers(-3, 3) | st.none(), max_size=3),
    st.lists(st.sampled_from((1, 2.5, True)), max_size=3),
    st.lists(st.sampled_from(("x", "2020-01-01", "2020-01-01 00:00:00", True)), max_size=3),
    st.lists(st.lists(st.integers(-3, 3), min_size=1, max_size=2), max_size=2),
)
KEYS = st.sampled_from(("a", "b", "a.b", "a b", "a-", "é", "x/y", "", "A", "0"))
# No list of several objects: there ClickHouse reads a value as the type of an earlier one, and may lose digits of it.
DOCUMENTS = st.dictionaries(
    KEYS,
    st.recursive(
        LEAVES,
        lambda inner: (
            st.dictionaries(KEYS, inner, max_size=3) | st.lists(st.dictionaries(KEYS, inner, max_size=2), max_size=1)
        ),
        max_leaves=6,
    ),
    max_size=4,
)


@pytest.fixture(scope="module")
def clickhouse() -> Iterator[Session]:
    session = open_session()
    yield session
    session.close()


def in_clickhouse(session: Session, text: str) -> tuple[str, dict[str, str]] | None:
    """What ClickHouse shows for a document, and the types of its leaves; None if it refuses it."""
    literal = text.replace("\\", "\\\\").replace("'", "\\'")
    sql = f"SELECT toString(j), JSONAllPathsWithTypes(j) FROM (SELECT '{literal}'::JSON AS j)"
    try:
        shown, kinds = json.loads(session.query(sql, "JSONCompactEachRow").bytes())
    except RuntimeError:
        return None
    return shown, kinds


@pytest.mark.parametrize(("text", "shown"), SHOWN)
def test_a_document_is_kept_as_clickhouse_keeps_it(text: str, shown: str, clickhouse: Session) -> None:
    stored = store_text(text)
    assert shown_json(stored) == shown
    assert in_clickhouse(clickhouse, text) == (shown, leaf_kinds(stored))


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_no_document_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidDocument, match=message.replace("[", r"\[")):
        store_text(text)


@settings(max_examples=300)
@given(DOCUMENTS)
def test_any_document(clickhouse: Session, document: dict[str, object]) -> None:
    text = json.dumps(document, ensure_ascii=False)
    theirs = in_clickhouse(clickhouse, text)
    try:
        stored = store_text(text)
    except InvalidDocument as error:
        refused = str(error)
    else:
        refused = ""
    if refused:
        assert theirs is None or "both a value and an object" in refused
        return
    assert store_text(stored) == stored, "a stored text is its own stored text"
    assert theirs == (shown_json(stored), leaf_kinds(stored))


def test_values_at_paths() -> None:
    stored = store_text('{"a":{"b":1.0,"c":[1,null],"d":["x\'y"]},"e":[{"f":1}],"s":"x"}')
    assert value_at(stored, "a.b") == ("Float64", "1", "1")
    assert value_at(stored, "a.c") == ("Array(Nullable(Int64))", "[1,NULL]", "[1,null]")
    assert value_at(stored, "a.d") == ("Array(Nullable(String))", "['x\\'y']", '["x\'y"]')
    assert value_at(stored, "e") == (
        "Array(JSON(max_dynamic_types=16, max_dynamic_paths=256))",
        None,
        '[{"f":1}]',
    )
    assert value_at(stored, "s") == ("String", "x", '"x"')
    assert value_at(stored, "a") is None, "an object is no value"
    assert value_at(stored, "a.b.c") is None
    assert object_at(stored, "a.zz") == "{}"
    assert object_at(stored, "a") == '{"b":1.0,"c":[1,null],"d":["x\'y"]}'
    assert value_at("[1]", "a") is None
    assert value_at("no document", "a") is None


def test_the_deepest_document_can_be_read_again() -> None:
    for dots in range(95, 102):
        text = f'{{"{".".join("a" * dots)}":[1]}}'
        try:
            stored = store_text(text)
        except InvalidDocument:
            continue
        assert store_text(stored) == stored
        assert object_at(stored, "a") != "{}"
