"""`POST /v0/events`: append rows.

In: NDJSON or JSON, compressed or not, whether the call says so or not. Out: how many rows fit and how many are
quarantined. Invariant: 202 means that the rows are durable, 200 (with `wait`) that they can be queried; of all bodies
with the same Idempotency-Key only the first is stored, while the key is known; rows that name their source and its
positions are stored once for ever; the text of every value is stored as it was sent, so no digit is lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from penstock.errors import InvalidRequest, Problem, did_you_mean
from penstock.model.cursor import PostTerms, SourceSpan, parse_position, position_text
from penstock.serve.http.json_response import json_response
from penstock.serve.http.json_web_tokens import require_server_token
from penstock.serve.http.pipeline_host import Continued, PipelineHost
from penstock.serve.http.request_body import decompress, rows_of
from penstock.serve.http.request_parameters import flag_parameter, required_parameter

if TYPE_CHECKING:
    from penstock.deploy.ingest.event_ingestion import Receipt

SOURCE, POSITIONS = "penstock-source", "penstock-positions"
"""Headers of rows that are sent by a source which knows its positions."""
LONGEST_SOURCE = 256
WAIT_SECONDS = 60.0
LONGEST_KEY = 256
FILE_FORMATS = ("csv", "parquet")
"""Formats of files, of which one has many rows and says which columns they have; others are those of events."""


def post_events(host: PipelineHost, request: Request) -> Response | Continued:
    """Append the rows of the body; with `wait`, answer once they can be queried."""
    pipeline, parameters = host.pipeline, dict(request.query_params)
    name, waits = required_parameter(parameters, "name"), flag_parameter(parameters, "wait")
    form, terms = parameters.get("format"), _terms(request, parameters)
    encoding = request.headers.get("content-encoding", "")
    body = rows_of(request)
    receipt = pipeline.ingestion.append_on_terms(name, to_ndjson(decompress(body, encoding), form), terms)
    host.metrics.appended.labels(name).inc(receipt.successful_rows)
    host.metrics.quarantined.labels(name).inc(receipt.quarantined_rows)
    if waits:
        return Continued("waits", lambda: receipt_response(pipeline.ingestion.wait(receipt, WAIT_SECONDS), 200))
    return receipt_response(receipt, 202)


def show_positions(host: PipelineHost, request: Request) -> Response:
    """`GET /v0/datasources/NAME/positions`: how far the sources of its rows have come."""
    require_server_token(request)
    found = host.pipeline.ingestion.positions(str(request.path_params["name"]))
    return json_response({"positions": {each.source: position_text(each.position) for each in found}})


def _terms(request: Request, parameters: Mapping[str, str]) -> PostTerms:
    """What holds for a post beside its rows. Raises InvalidRequest and Forbidden."""
    columns = tuple(each for each in parameters.get("columns", "").split(",") if each)
    return PostTerms(idempotency_key(request), source_span(request), columns)


def source_span(request: Request) -> SourceSpan | None:
    """Which rows of a source a call stands for. Raises InvalidRequest and Forbidden."""
    source, positions = request.headers.get(SOURCE), request.headers.get(POSITIONS)
    if source is None and positions is None:
        return None
    require_server_token(request)
    if source is None or positions is None or not 0 < len(source) <= LONGEST_SOURCE:
        message = f"Penstock-Source is a name of 1 to {LONGEST_SOURCE} characters, and comes with Penstock-Positions"
        raise InvalidRequest(message)
    if request.headers.get("idempotency-key") is not None:
        raise InvalidRequest("rows with positions need no Idempotency-Key: their positions say what is stored")
    first, dots, last = positions.partition("..")
    after, upto = parse_position(first), parse_position(last)
    if not dots or upto is None or (first and after is None) or (after is not None and after >= upto):
        message = f"Penstock-Positions is AFTER..UPTO, such as 17.2..19.0 or ..19.0, not `{positions[:60]}`"
        raise InvalidRequest(message, hint="each is up to four whole numbers with dots between; UPTO is the greater")
    return SourceSpan(source, after, upto)


def receipt_response(receipt: Receipt, status: int) -> Response:
    """The counts of a receipt."""
    counts = {"successful_rows": receipt.successful_rows, "quarantined_rows": receipt.quarantined_rows}
    return json_response(counts, status)


def idempotency_key(request: Request) -> str | None:
    """The Idempotency-Key of a call, if it has one. Raises InvalidRequest."""
    key = request.headers.get("idempotency-key")
    if key is not None and not 0 < len(key) <= LONGEST_KEY:
        raise InvalidRequest(f"an Idempotency-Key has 1 to {LONGEST_KEY} characters")
    return key


MARK = b"\xef\xbb\xbf"
"""Some programs begin a text of UTF-8 with it."""
BLANK = " \t\r\n"
_decoder = json.JSONDecoder(parse_int=str, parse_float=str)
"""Finds where values end. Numbers stay text: Python refuses to convert an integer of thousands of digits."""


def to_ndjson(body: bytes, form: str | None) -> bytes:
    """The body as NDJSON; without a format it is NDJSON unless its beginning shows one JSON document. Raises
    InvalidRequest if the format is unknown or the body is not JSON."""
    if form is None:
        return _read_unnamed(body)
    reader = READERS.get(form.lower())
    if reader is None:
        message = f"there is no format `{form[:60]}`"
        if form.lower() in FILE_FORMATS:
            message = f"the format `{form}` is one of files, which POST /v0/datasources?name=…&format={form} takes"
        raise InvalidRequest(message, [Problem("unknown-format", message, hint=did_you_mean(form[:60], READERS))])
    return reader(body)


def _read_ndjson(body: bytes) -> bytes:
    return body.removeprefix(MARK)


def _read_unnamed(body: bytes) -> bytes:
    """A row is an object on one line: a body that begins with a list, or with a line that only opens an object, is one
    document, if it is JSON at all."""
    body = body.removeprefix(MARK)
    first, _, rest = body.lstrip().partition(b"\n")
    if not first.startswith(b"[") and not (rest and first.startswith(b"{") and not first.rstrip().endswith(b"}")):
        return body
    try:
        return _read_json(body)
    except InvalidRequest:
        return body


def _read_json(body: bytes) -> bytes:
    """NDJSON of JSON values and of the elements of arrays, one line each."""
    try:
        text = body.decode("utf-8-sig")
        rows = list(_split_values(text))
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the body is not UTF-8: byte {error.start} is wrong") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InvalidRequest(f"the body is not JSON: {error.msg} at {place}") from error
    except RecursionError as error:
        raise InvalidRequest("the body is nested too deeply") from error
    # Inside a JSON string a line break is always escaped, so a bare one only stands between tokens.
    return "\n".join(row.replace("\r", " ").replace("\n", " ") for row in rows).encode()


def _split_values(text: str) -> Iterator[str]:
    at = _skip_blanks(text, 0)
    while at < len(text):
        if text[at] == "[":
            at = yield from _split_array(text, at)
        else:
            _, end = _decoder.raw_decode(text, at)
            yield text[at:end]
            at = end
        at = _skip_blanks(text, at)


def _split_array(text: str, start: int) -> Generator[str, None, int]:
    """The elements of the array that opens at `start`; returns where it ends."""
    at = _skip_blanks(text, start + 1)
    if text[at : at + 1] == "]":
        return at + 1
    while True:
        _, end = _decoder.raw_decode(text, at)
        yield text[at:end]
        at = _skip_blanks(text, end)
        if text[at : at + 1] == "]":
            return at + 1
        if text[at : at + 1] != ",":
            raise json.JSONDecodeError("expected `,` or `]`", text, at)
        at = _skip_blanks(text, at + 1)


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in BLANK:
        at += 1
    return at


READERS: Mapping[str, Callable[[bytes], bytes]] = {"ndjson": _read_ndjson, "json": _read_json}
