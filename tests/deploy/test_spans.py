"""The spans of a pipeline at work: a deployment, its steps, those of its flows, and a query."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from deploy.conftest import Running
from penstock.flow.telemetry import spans

FILES: dict[str, str | None] = {
    "traced.datasource": "SCHEMA >\n    `id` UInt32 `json:$.id`\n\nENGINE MergeTree\nENGINE_SORTING_KEY id\n",
    "halves.datasource": "SCHEMA >\n    `half` UInt32\n\nENGINE MergeTree\nENGINE_SORTING_KEY half\n",
    "to_halves.pipe": (
        "NODE n\nSQL >\n    SELECT intDiv(id, 2) AS half FROM traced\nTYPE materialized\nDATASOURCE halves\n"
    ),
}


def test_what_a_pipeline_does_is_in_spans(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(spans, "TRACER", provider.get_tracer("test"))
    made = running.deploy(FILES)
    running.post("traced", [{"id": number} for number in range(7)])
    with spans.span("call", {}):
        assert running.ask("SELECT count() FROM halves") == [(7,)]
    ended = exporter.get_finished_spans()
    wrote = {each.name: dict(each.attributes or {}) for each in ended if each.name.startswith("step ")}
    assert {name: (of["penstock.rows_written"], of["penstock.deployments"]) for name, of in wrote.items()} == {
        "step landing": (7, (made.id,)),
        "step view": (7, (made.id,)),
    }
    of = {each.name: each for each in ended}
    whole = of["deployment"]
    steps = [each for each in ended if each.name.startswith("deployment step ")]
    assert {each.name for each in steps} >= {"deployment step CreateTable", "deployment step CatchUp"}
    assert {each.parent.span_id for each in steps if each.parent} == {whole.context.span_id}
    for name in ("compile", "query"):
        assert of[name].parent == of["call"].context
    assert "halves" not in str([dict(of[name].attributes or {}) for name in ("compile", "query")])
