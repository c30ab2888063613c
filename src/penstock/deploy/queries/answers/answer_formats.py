"""Results of queries in the formats JSON, NDJSON, CSV, Parquet and Arrow, piece by piece.

In: a result and the name of a format. Out: the body as pieces, each made when it is asked for. Invariant: every format
shows the same values, by ClickHouse's conventions (see `json_values` and `arrow_answers`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Protocol

import orjson

from penstock.deploy.queries.answers.arrow_answers import write_arrow, write_parquet
from penstock.deploy.queries.answers.json_values import (
    MOST_LEVELS,
    Converter,
    NonFinite,
    bare_non_finite,
    check_levels,
    json_converter,
    null_for_non_finite,
    text_converter,
    text_for_non_finite,
)
from penstock.errors import InvalidRequest, Problem, did_you_mean
from penstock.model.types import Array, Map, Tuple, Type, unwrap_type

PIECE_ROWS = 500
"""The most rows of one piece. Few, because a thread that renders keeps the others from running for up to 5 ms."""


class Answer(Protocol):
    """The result of a query; `lake.read.query_execution.QueryResult` is one."""

    @property
    def columns(self) -> tuple[tuple[str, Type], ...]: ...
    @property
    def rows(self) -> Sequence[Sequence[object]]: ...
    @property
    def elapsed(self) -> float: ...
    @property
    def rows_read(self) -> int: ...
    @property
    def bytes_read(self) -> int: ...
    @property
    def totals(self) -> Sequence[object] | None: ...
    @property
    def is_cut(self) -> bool: ...
    @property
    def size(self) -> int: ...


class VersionAnswer(Answer, Protocol):
    """The result of a query of a version."""

    @property
    def age(self) -> float | None: ...
    @property
    def deployment(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """A format: its media type and how it writes an answer."""

    media_type: str
    write: Callable[[Answer], Iterator[bytes]]


def answer_format(name: str, *, quote_denormals: bool = False) -> AnswerFormat:
    """The format of this name; `quote_denormals` as ClickHouse's `output_format_json_quote_denormals`: inf and nan are
    texts in JSON, not null. Raises InvalidRequest if there is none."""
    found = (QUOTING_FORMATS.get(name) if quote_denormals else None) or FORMATS.get(name)
    if found is None:
        message = f"there is no format `{name[:60]}`"
        raise InvalidRequest(message, [Problem("unknown-format", message, hint=did_you_mean(name[:60], FORMATS))])
    return found


def _json(non_finite: NonFinite, answer: Answer) -> Iterator[bytes]:
    """`{"meta":…,"data":[…],"totals":…,"rows":…}`: the rows one after the other, the rest at once."""
    meta = [{"name": name, "type": str(of)} for name, of in answer.columns]
    yield b'{"meta":' + orjson.dumps(meta) + b',"data":['
    lines = map(orjson.dumps, _json_objects(answer, answer.rows, non_finite))
    first = True
    while piece := b",".join(islice(lines, PIECE_ROWS)):
        yield piece if first else b"," + piece
        first = False
    rest = {
        **({"totals": next(_json_objects(answer, [answer.totals], non_finite))} if answer.totals is not None else {}),
        "rows": len(answer.rows),
        "rows_before_limit_at_least": len(answer.rows) + answer.is_cut,
        "statistics": {
            "elapsed": answer.elapsed,
            "rows_read": answer.rows_read,
            "bytes_read": answer.bytes_read,
        },
    }
    yield b"]," + orjson.dumps(rest)[1:]


def _ndjson(non_finite: NonFinite, answer: Answer) -> Iterator[bytes]:
    rows = _json_objects(answer, answer.rows, non_finite)
    lines = (orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)
    while piece := b"".join(islice(lines, PIECE_ROWS)):
        yield piece


def _csv(answer: Answer) -> Iterator[bytes]:
    yield _csv_line([name for name, _ in answer.columns]).encode()
    lines = map(_csv_line, _csv_rows(answer, answer.rows))
    while piece := "".join(islice(lines, PIECE_ROWS)):
        yield piece.encode()
    if answer.totals is not None:
        yield ("\n" + "".join(map(_csv_line, _csv_rows(answer, [answer.totals])))).encode()


def _parquet(answer: Answer) -> Iterator[bytes]:
    """The rows without totals, for which a file has no place."""
    return write_parquet(answer.columns, answer.rows)


def _arrow(answer: Answer) -> Iterator[bytes]:
    return write_arrow(answer.columns, answer.rows)


def _csv_line(values: Sequence[object]) -> str:
    """A line of CSV: text in quotes, numbers bare, NULL as ClickHouse's \\N, documents as JSON in quotes."""
    return ",".join(map(_csv_cell, values)) + "\n"


def _csv_cell(value: object) -> str:
    match value:
        case None:
            return "\\N"
        case str():
            return _quote_csv(value)
        case dict() | list():
            return _quote_csv(orjson.dumps(value).decode())
        case _:
            return _csv_cell_of_json(orjson.dumps(value).decode())


def _csv_cell_of_json(text: str) -> str:
    """A value that is written already: a document in quotes, as its commas are no delimiters, a number bare."""
    match text[:1]:
        case '"':
            return _quote_csv(str(orjson.loads(text)))
        case "{" | "[":
            return _quote_csv(text)
        case _:
            return "\\N" if text == "null" else text


def _quote_csv(text: str) -> str:
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL, lineterminator="").writerow([text])
    return line.getvalue()


def _csv_rows(answer: Answer, rows: Iterable[Sequence[object]]) -> Iterator[list[object]]:
    """Rows for `_csv_line`: arrays, tuples and maps are texts, `['a',NULL]`."""
    check_levels(answer.columns, MOST_LEVELS)
    shows = [_csv_converter(of) for _, of in answer.columns]
    for row in rows:
        yield [show(value) for show, value in zip(shows, row, strict=True)]


def _csv_converter(of: Type) -> Converter:
    if not isinstance(unwrap_type(of), (Array, Map, Tuple)):
        return json_converter(of, bare_non_finite)
    show = text_converter(of)
    return lambda value: None if value is None else show(value)


def _json_rows(answer: Answer, rows: Iterable[Sequence[object]], non_finite: NonFinite) -> Iterator[list[object]]:
    check_levels(answer.columns, MOST_LEVELS)
    shows = [json_converter(of, non_finite) for _, of in answer.columns]
    for row in rows:
        yield [show(value) for show, value in zip(shows, row, strict=True)]


def _json_objects(
    answer: Answer, rows: Iterable[Sequence[object]], non_finite: NonFinite
) -> Iterator[dict[str, object]]:
    names = [name for name, _ in answer.columns]
    for line in _json_rows(answer, rows, non_finite):
        yield dict(zip(names, line, strict=True))


FORMATS: Mapping[str, AnswerFormat] = {
    "JSON": AnswerFormat("application/json", partial(_json, null_for_non_finite)),
    "JSONEachRow": AnswerFormat("application/x-ndjson", partial(_ndjson, null_for_non_finite)),
    "CSVWithNames": AnswerFormat("text/csv", _csv),
    "Parquet": AnswerFormat("application/vnd.apache.parquet", _parquet),
    "ArrowStream": AnswerFormat("application/vnd.apache.arrow.stream", _arrow),
}
QUOTING_FORMATS: Mapping[str, AnswerFormat] = {
    "JSON": AnswerFormat("application/json", partial(_json, text_for_non_finite)),
    "JSONEachRow": AnswerFormat("application/x-ndjson", partial(_ndjson, text_for_non_finite)),
}
"""Formats that can write inf and nan as texts."""
EXTENSIONS: Mapping[str, str] = {
    "json": "JSON",
    "ndjson": "JSONEachRow",
    "csv": "CSVWithNames",
    "parquet": "Parquet",
    "arrow": "ArrowStream",
}
