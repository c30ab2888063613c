"""Spans reach a collector of OpenTelemetry by its own protocol, and nothing waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.util._once import Once
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from penstock.errors import Conflict, Failed
from penstock.flow.telemetry import span_delivery, spans
from penstock.flow.telemetry.log_context import log_context_pairs
from penstock.model.settings import Settings, TraceSettings, secret_values
from penstock.serve.http.metrics import Metrics
from penstock.serve.http.request_ids import CALL, RequestObserver


class Collector(ThreadingHTTPServer):
    """Takes what is sent to /v1/traces."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.requests: list[ExportTraceServiceRequest] = []
        self.queries: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def spans(self) -> dict[str, Span]:
        groups = (group for each in self.requests for of in each.resource_spans for group in of.scope_spans)
        return {span.name: span for group in groups for span in group.spans}


class _Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        path, _, query = self.path.partition("?")
        if path == "/v1/traces":
            self.server.queries.append(query)
            self.server.requests.append(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as made:
        Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture
def export(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Callable[[], None]]:
    """Begins to export as a process does that has not begun yet."""

    def begin(endpoint: str) -> Callable[[], None]:
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
        monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", Once())
        end = span_delivery.start_span_delivery(TraceSettings(endpoint), "server")
        monkeypatch.setattr(spans, "TRACER", trace.get_tracer("penstock"))
        return end

    return begin


def value(span: Span, name: str) -> object:
    found = {each.key: each.value for each in span.attributes}
    return getattr(found[name], found[name].WhichOneof("value")) if name in found else None


def test_work_within_work_is_a_span_below_it(collector: Collector, export: Callable[[str], Callable[[], None]]) -> None:
    end = export(collector.address + "/")

    def fail() -> None:
        with spans.span("outer", {"penstock.table": "t"}):
            with spans.span("inner", {"penstock.deployments": (1, 2)}):
                pass
            raise Conflict("row with the password `geheim`", hint="geheim")

    with pytest.raises(Conflict):
        fail()
    end()
    outer, inner = collector.spans["outer"], collector.spans["inner"]
    assert (inner.trace_id, inner.parent_span_id) == (outer.trace_id, outer.span_id)
    assert value(outer, "penstock.table") == "t"
    assert value(outer, "error.type") == Conflict.code
    assert outer.status.code == outer.status.STATUS_CODE_ERROR
    assert inner.status.code == inner.status.STATUS_CODE_UNSET
    assert "geheim" not in str(collector.requests), "messages of errors may tell of rows"
    of = {each.key: each.value.string_value for each in collector.requests[0].resource_spans[0].resource.attributes}
    assert (of["service.name"], of["penstock.process"]) == ("penstock", "server")


def test_an_expected_end_is_no_error(collector: Collector, export: Callable[[str], Callable[[], None]]) -> None:
    end = export(collector.address)

    def split(*expected: type[Exception]) -> None:
        with spans.span(f"{len(expected)} expected", {}, *expected):
            raise Conflict("splits")

    for expected in ((), (Failed,), (Failed, Conflict)):
        with pytest.raises(Conflict):
            split(*expected)
    end()
    states = [collector.spans[f"{count} expected"].status.code for count in range(3)]
    assert states == [Status.STATUS_CODE_ERROR, Status.STATUS_CODE_ERROR, Status.STATUS_CODE_UNSET]


def test_names_of_the_environment_come_first(
    collector: Collector, export: Callable[[str], Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "orders")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0")
    end = export(collector.address)
    assert spans.TRACER.start_span("not chosen").is_recording() is False
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "1")
    end = export(collector.address)
    with spans.span("chosen", {}):
        pass
    end()
    of = {each.key: each.value.string_value for each in collector.requests[0].resource_spans[0].resource.attributes}
    assert of["service.name"] == "orders"


def test_a_call_is_below_the_span_of_its_caller(
    collector: Collector, export: Callable[[str], Callable[[], None]]
) -> None:
    end, logged = export(collector.address), []

    async def answer(request: Request) -> PlainTextResponse:
        request.scope[CALL] = "/v0/pipes/{file}"
        logged.append(dict(log_context_pairs()))
        return PlainTextResponse("", int(request.query_params["status"]))

    app = Starlette(routes=[Route("/v0/pipes/{file}", answer), Route("/health/live", answer)])
    client = TestClient(RequestObserver(app, Metrics()))
    parent = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "x-request-id": "mine"}
    client.get("/v0/pipes/sales.json?status=503&token=geheim", headers=parent)
    client.get("/health/live?status=200")
    end()
    assert [*collector.spans] == ["GET /v0/pipes/{file}"], "calls that ask how the server is have no span"
    span = collector.spans["GET /v0/pipes/{file}"]
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (
        parent["traceparent"][3:35],
        parent["traceparent"][36:52],
    )
    assert (value(span, "penstock.request_id"), value(span, "http.response.status_code")) == ("mine", 503)
    assert span.status.code == span.status.STATUS_CODE_ERROR
    assert "geheim" not in str(collector.requests)
    assert logged[0] == {"request": "mine", "trace": span.trace_id.hex()}
    assert "trace" not in logged[1]


def test_work_goes_on_without_the_collector(
    export: Callable[[str], Callable[[], None]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(span_delivery, "CLOSE_SECONDS", 0.5)
    with Collector() as gone:
        address = gone.address
    end = export(address)
    with spans.span("lost", {}):
        pass
    end()
    assert "Transient error" in caplog.text


def test_a_key_in_the_address_is_sent_and_never_logged(
    collector: Collector, export: Callable[[str], Callable[[], None]], caplog: pytest.LogCaptureFixture
) -> None:
    endpoint = f"{collector.address}/?key=sesame-of-the-collector&team=seven"
    with caplog.at_level("INFO"):
        end = export(endpoint)
    with spans.span("sent", {}):
        pass
    end()
    assert collector.queries == ["key=sesame-of-the-collector&team=seven"]
    assert "traces are sent to" in caplog.text
    assert "sesame" not in caplog.text
    assert "sesame-of-the-collector" in secret_values(Settings(traces=TraceSettings(endpoint)))


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(span_delivery, "IS_INSTALLED", False)
    span_delivery.start_span_delivery(TraceSettings(), "server")
    with pytest.raises(Failed) as refused:
        span_delivery.start_span_delivery(TraceSettings("http://127.0.0.1:4318"), "server")
    assert "penstock[traces]" in str(refused.value.hint)
