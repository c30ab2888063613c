"""What is sent of rows, in which batches, and what the result says of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime

import orjson
import pyarrow as pa
import pytest
import zstandard
from pydantic import BaseModel

from penstock.api.objects.row_insertion import FailedRecord, InsertOptions, InsertResult
from penstock.client import ClientError
from penstock.client.insertion import Insertion, InsertTarget
from penstock.client.rows.row_batches import MOST_BYTES, BatchLimits, RowBatch
from penstock.deploy.ingest.row_files.parquet_rows import parquet_rows
from unit.deploy.ingest.row_files.landings import landed, landing_of


class Row(BaseModel):
    a: int


def insertion(options: InsertOptions | None = None, model: type[BaseModel] | None = None, rows: int = 10) -> Insertion:
    return Insertion(InsertTarget("t", model), options or InsertOptions(), BatchLimits(rows, 1_000))


def insert(rows: object, made: Insertion, quarantined: int = 0) -> tuple[list[RowBatch], InsertResult]:
    """Insert with a server that takes all rows but so many of each batch."""
    sent = []
    with made.reporting():
        for batch in made.batches(rows):
            made.request(batch)
            sent.append(batch)
            answer = {"successful_rows": batch.rows - quarantined, "quarantined_rows": quarantined}
            made.confirm(202, orjson.dumps(answer))
        return sent, made.finish()


def numbers(count: int) -> Iterator[dict[str, int]]:
    return ({"a": each} for each in range(count))


def test_batches_are_bounded_by_rows_and_bytes() -> None:
    sent, result = insert(numbers(95), insertion())
    assert [batch.rows for batch in sent] == [10] * 9 + [5]
    assert [batch.is_last for batch in sent] == [False] * 9 + [True]
    assert b"".join(batch.content for batch in sent).splitlines() == [b'{"a":%d}' % each for each in range(95)]
    assert (result.successful, result.total) == (95, 95)
    long = [{"a": "x" * 600} for _ in range(4)]
    assert [batch.rows for batch in insert(long, insertion())[0]] == [1] * 4


def test_an_endless_iterator_is_read_no_further_than_it_is_sent() -> None:
    read = []

    def endless() -> Iterator[dict[str, int]]:
        while True:
            read.append(1)
            yield {"a": 1}

    batches = insertion().batches(endless())
    assert [next(batches).rows for _ in range(3)] == [10] * 3
    assert len(read) == 31


def test_the_same_rows_have_the_same_keys_and_each_batch_its_own() -> None:
    made = [insertion(InsertOptions(idempotency_key="k")) for _ in range(2)]
    keys = [[one.request(batch).headers["Idempotency-Key"] for batch in one.batches(numbers(25))] for one in made]
    assert keys == [["k-0", "k-1", "k-2"]] * 2
    own = insertion()
    assert own.result.idempotency_key != insertion().result.idempotency_key


def test_large_bodies_are_packed() -> None:
    made = insertion(rows=1_000)
    (batch,) = Insertion(InsertTarget("t"), InsertOptions(), BatchLimits()).batches(numbers(1_000))
    request = made.request(batch)
    assert request.headers["Content-Encoding"] == "zstd"
    assert zstandard.decompress(request.content) == batch.content


def test_only_the_last_batch_is_waited_for() -> None:
    made = insertion(InsertOptions(wait=True))
    asked = ["wait" in made.request(batch).parameters for batch in made.batches(numbers(25))]
    assert asked == [False, False, True]


BAD = {"a": object()}


def test_fail_fast_sends_nothing_of_a_list_with_a_bad_row() -> None:
    made = insertion()
    with pytest.raises(ClientError, match=r"row 25 \(from 0\) cannot be sent: a: ") as caught:
        insert([*numbers(25), BAD], made)
    assert (caught.value.code, caught.value.result and caught.value.result.total) == ("invalid-row", 0)


def test_fail_fast_tells_what_was_sent_of_an_iterator_before_a_bad_row() -> None:
    with pytest.raises(ClientError) as caught:
        insert(iter([*numbers(25), BAD]), insertion())
    assert caught.value.result is not None
    assert caught.value.result.successful == 20


def test_an_iterator_that_raises_tells_what_was_sent() -> None:
    def broken() -> Iterator[dict[str, int]]:
        yield from numbers(25)
        raise OSError("the disk is gone")

    with pytest.raises(ClientError, match="OSError: the disk is gone") as caught:
        insert(broken(), insertion())
    assert (caught.value.code, caught.value.result and caught.value.result.successful) == ("interrupted-rows", 20)
    assert isinstance(caught.value.__cause__, OSError)


def test_discard_leaves_bad_rows_out_and_isolate_keeps_them_too() -> None:
    rows = [*numbers(15), BAD, *numbers(2)]
    _, result = insert(rows, insertion(InsertOptions(strategy="discard")))
    assert (result.successful, result.failed, result.total, result.failed_records) == (17, 1, 18, ())
    _, result = insert(rows, insertion(InsertOptions(strategy="isolate")))
    reason = "a: a object is no value of a column"
    assert result.failed_records == (FailedRecord(BAD, reason, 15),)


def test_quarantined_rows_are_an_error_unless_they_are_allowed() -> None:
    with pytest.raises(ClientError, match="1 rows do not fit: they are in `t_quarantine`") as caught:
        insert(numbers(25), insertion(), quarantined=1)
    assert caught.value.result is not None
    assert (caught.value.result.successful, caught.value.result.quarantined) == (9, 1)
    _, result = insert(numbers(25), insertion(InsertOptions(strategy="discard")), quarantined=1)
    assert (result.successful, result.quarantined) == (22, 3)


@pytest.mark.parametrize(
    ("options", "is_too_many"),
    [
        (InsertOptions(strategy="discard", allow_errors=2), False),
        (InsertOptions(strategy="discard", allow_errors=1), True),
        (InsertOptions(strategy="isolate", allow_errors_ratio=0.1), False),
        (InsertOptions(strategy="isolate", allow_errors_ratio=0.09), True),
        (InsertOptions(strategy="isolate", allow_errors=1, allow_errors_ratio=1), True),
    ],
)
def test_more_errors_than_are_allowed(options: InsertOptions, is_too_many: bool) -> None:
    rows = [BAD, *numbers(18), BAD]
    if not is_too_many:
        assert insert(rows, insertion(options))[1].failed == 2
        return
    with pytest.raises(ClientError, match="2 of 20 rows do not fit") as caught:
        insert(rows, insertion(options))
    assert (caught.value.code, caught.value.result and caught.value.result.total) == ("too-many-errors", 2)


def test_rows_are_checked_by_the_model_unless_they_are_not() -> None:
    with pytest.raises(ClientError, match="a: Input should be a valid integer"):
        insert([{"a": "x"}], insertion(model=Row))
    assert insert([{"a": "x"}], insertion(InsertOptions(validate=False), Row))[1].successful == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"strategy": "retry"}, "strategy is one of"),
        ({"allow_errors": 1}, "fail-fast allows no errors"),
        ({"strategy": "discard", "allow_errors_ratio": 1.1}, "from 0 to 1"),
        ({"strategy": "discard", "allow_errors": -1}, "0 or more"),
        ({"idempotency_key": "ä"}, "printable characters of ASCII"),
    ],
)
def test_options_that_contradict_each_other(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        InsertOptions(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", ["text", 7, None, object()])
def test_what_has_no_rows(rows: object) -> None:
    with pytest.raises(ClientError, match="has no rows"):
        insert(rows, insertion())


def test_one_row_is_a_list_of_one() -> None:
    assert insert({"a": 1}, insertion())[1].successful == 1
    assert insert(Row(a=1), insertion())[1].successful == 1


def test_a_row_that_no_body_can_have() -> None:
    with pytest.raises(ClientError, match="more than a body may have"):
        insert(iter([{"a": "x" * MOST_BYTES}]), insertion())


def test_no_rows() -> None:
    for rows in ([], iter(()), pa.table({"a": []})):
        sent, result = insert(rows, insertion())
        assert (sent, result.total) == ([], 0)


def frames(batches: list[RowBatch]) -> pa.Table:
    return pa.concat_tables([pa.parquet.read_table(pa.BufferReader(each.content)) for each in batches])


def test_tables_of_arrow_are_divided_and_keep_their_types() -> None:
    table = pa.table({"a": pa.array(range(95), pa.uint64()), "t": pa.array([None, math.nan] + [1.5] * 93)})
    for given in (table, table.to_reader(max_chunksize=7), Stream(table)):
        sent, result = insert(given, insertion())
        assert max(batch.rows for batch in sent) <= 10
        assert {batch.form for batch in sent} == {"parquet"}
        assert (frames(sent).schema.types, result.successful) == (table.schema.types, 95)
        assert frames(sent)["a"].to_pylist() == list(range(95))
    (batch,) = table.slice(0, 5).to_batches()
    assert insert(batch, insertion())[1].successful == 5


def test_where_batches_end_depends_on_the_rows_alone() -> None:
    texts = [None if each % 7 == 0 else "x" * (each % 11) for each in range(400)]
    table = pa.table({"a": pa.array(range(400)), "b": texts, "c": [[each] * (each % 3) for each in range(400)]})
    given = [table, pa.concat_tables([table.slice(0, 3), table.slice(3, 150), table.slice(153)])]
    given += [table.set_column(1, "b", pa.array(texts).dictionary_encode())]
    given += [table.to_reader(max_chunksize=size) for size in (1, 33, 1_000)]
    cuts = [[batch.rows for batch in insert(each, insertion(rows=300))[0]] for each in given]
    assert cuts == [cuts[0]] * len(cuts)
    assert sum(cuts[0]) == 400
    assert len(cuts[0]) > 2


@pytest.mark.parametrize("kind", [pa.dictionary(pa.int32(), pa.string()), pa.string_view()])
def test_values_that_stand_elsewhere_count_once_for_each_row(kind: pa.DataType) -> None:
    """A dictionary that is larger than a batch is sent with no row."""
    texts = [f"{each:0>100}" for each in range(300)]
    column = pa.array(texts).dictionary_encode() if pa.types.is_dictionary(kind) else pa.array(texts, kind)
    made = Insertion(InsertTarget("t"), InsertOptions(), BatchLimits(300, 10_000))
    sent, _ = insert(pa.table({"a": column}), made)
    assert len(sent) < 10
    assert frames(sent)["a"].to_pylist() == texts


@pytest.mark.parametrize(
    ("column", "place"),
    [
        (pa.array([1], pa.duration("s")), "a"),
        (pa.array([[1]], pa.list_(pa.duration("ns"))), "a.item"),
        (pa.array([{"b": 1}], pa.struct([("b", pa.duration("ms"))])), "a.b"),
        (pa.array([1], pa.duration("s")).dictionary_encode(), "a"),
    ],
)
def test_durations_are_no_numbers(column: pa.Array, place: str) -> None:
    with pytest.raises(ClientError, match=f"the column `{place}` has durations"):
        insert(pa.table({"a": column}), insertion())


def test_times_without_a_zone_are_of_the_column_as_in_dicts() -> None:
    given = {"a": datetime(2024, 7, 1, 12, 0, 0, 5), "b": [datetime(2024, 7, 1, 12)]}
    landing = landing_of("`a` DateTime64(9, 'Europe/Berlin')", "`b` Array(DateTime('Europe/Berlin'))")
    (as_lines,) = insert([given], insertion())[0]
    (as_parquet,) = insert(pa.table({name: [value] for name, value in given.items()}), insertion())[0]
    expected = landed(landing, as_lines.content.splitlines())
    assert landed(landing, parquet_rows(as_parquet.content, landing, "x")) == expected


class Stream:
    """What any library may give."""

    def __init__(self, table: pa.Table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def test_columns_that_the_model_does_not_have() -> None:
    with pytest.raises(ClientError, match="Row has no column `aa`") as caught:
        insert(pa.table({"aa": [1]}), insertion(model=Row))
    assert caught.value.hint == "did you mean `a`?"
    assert insert(pa.table({"aa": [1]}), insertion(InsertOptions(validate=False), Row))[1].successful == 1


def test_frames_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "t": pandas.to_datetime(["2024-01-01 00:00:00.123456789", None])})
    assert frames(insert(frame, insertion())[0]).column_names == ["a", "t"]
    assert frames(insert(frame.set_index("a"), insertion())[0]).column_names == ["t", "a"]
    with pytest.raises(ClientError, match="Conversion failed for column a with type object"):
        insert(pandas.DataFrame({"a": [1, "x"]}, dtype=object), insertion())
    with pytest.raises(ClientError, match="the column `a` twice"):
        insert(pandas.DataFrame([[1, 2]], columns=["a", "a"]), insertion())
