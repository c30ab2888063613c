"""Results of queries as HTTP responses: JSON, NDJSON and CSV.

In: a result and the name of a format. Out: an HTTP response. Invariant: every format shows the same values, by
ClickHouse's conventions (see `json_values`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import orjson
from starlette.responses import Response

from penstock.errors import InvalidRequest, Problem, did_you_mean
from penstock.model.types import Type
from penstock.serve.http.json_values import json_converter


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


def render_answer(answer: Answer, form: str) -> Response:
    """The response in the format of this name. Raises InvalidRequest if there is no such format."""
    write = FORMATS.get(form)
    if write is None:
        message = f"there is no format `{form}`"
        raise InvalidRequest(message, [Problem("unknown-format", message, hint=did_you_mean(form, FORMATS))])
    return write(answer)


def _json(answer: Answer) -> Response:
    data = list(_json_objects(answer, answer.rows))
    document = {
        "meta": [{"name": name, "type": str(of)} for name, of in answer.columns],
        "data": data,
        **({"totals": next(_json_objects(answer, [answer.totals]))} if answer.totals is not None else {}),
        "rows": len(data),
        "rows_before_limit_at_least": len(data),
        "statistics": {
            "elapsed": answer.elapsed,
            "rows_read": answer.rows_read,
            "bytes_read": answer.bytes_read,
        },
    }
    return Response(orjson.dumps(document), media_type="application/json")


def _ndjson(answer: Answer) -> Response:
    lines = b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in _json_objects(answer, answer.rows))
    return Response(lines, media_type="application/x-ndjson")


def _csv(answer: Answer) -> Response:
    names = _csv_line([name for name, _ in answer.columns])
    text = names + "".join(map(_csv_line, _json_rows(answer, answer.rows)))
    if answer.totals is not None:
        text += "\n" + "".join(map(_csv_line, _json_rows(answer, [answer.totals])))
    return Response(text, media_type="text/csv")


def _csv_line(values: Sequence[object]) -> str:
    """A line of CSV: text in quotes, numbers bare, NULL as ClickHouse's \\N, other values as JSON in quotes."""
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
            return orjson.dumps(value).decode()


def _quote_csv(text: str) -> str:
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL, lineterminator="").writerow([text])
    return line.getvalue()


def _json_rows(answer: Answer, rows: Iterable[Sequence[object]]) -> Iterator[list[object]]:
    shows = [json_converter(of) for _, of in answer.columns]
    for row in rows:
        yield [show(value) for show, value in zip(shows, row, strict=True)]


def _json_objects(answer: Answer, rows: Iterable[Sequence[object]]) -> Iterator[dict[str, object]]:
    names = [name for name, _ in answer.columns]
    for line in _json_rows(answer, rows):
        yield dict(zip(names, line, strict=True))


FORMATS: Mapping[str, Callable[[Answer], Response]] = {
    "JSON": _json,
    "JSONEachRow": _ndjson,
    "CSVWithNames": _csv,
}
EXTENSIONS: Mapping[str, str] = {"json": "JSON", "ndjson": "JSONEachRow", "csv": "CSVWithNames"}
