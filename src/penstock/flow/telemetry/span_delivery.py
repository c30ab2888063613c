"""Sends the spans of this process to a collector of OpenTelemetry, if the settings name one.

In: `[traces] endpoint`; names, headers and sampling come from the environment variables that OpenTelemetry defines.
Out: spans by OTLP over HTTP. Invariant: nothing waits for the collector: a thread of its own sends, what it cannot send
is dropped, and the end of the process waits CLOSE_SECONDS for it at most.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable

from opentelemetry import trace

from penstock import __version__
from penstock.errors import Failed
from penstock.model.settings import TraceSettings

try:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
except ImportError:  # installed without `penstock[traces]`
    IS_INSTALLED = False
else:
    IS_INSTALLED = True

log = logging.getLogger("penstock.deploy")
CLOSE_SECONDS = 5.0


def start_span_delivery(settings: TraceSettings, process: str) -> Callable[[], None]:
    """Send the spans of this process from now on; `process` is what it is called there: `server`, `worker` or `trial`.
    Returns what ends it. Raises Failed if a collector is named and the packages are missing."""
    if settings.endpoint is None:
        return _do_nothing
    if not IS_INSTALLED:
        hint = "pip install 'penstock[traces]' where the server runs"
        raise Failed("the packages that send traces are not installed", hint=hint)
    provider = TracerProvider(resource=_describe_process(process))
    address, mark, query = settings.endpoint.partition("?")
    exporter = OTLPSpanExporter(endpoint=f"{address.rstrip('/')}/v1/traces{mark}{query}")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    log.info("traces are sent to %s", address)  # behind the mark may be a key

    def end() -> None:
        closing = threading.Thread(target=provider.shutdown, name="close traces", daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)

    return end


def _do_nothing() -> None:
    pass


def _describe_process(process: str) -> Resource:
    """Its name, place and version; `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` come first."""
    own = Resource(
        {
            "service.name": "penstock",
            "service.version": __version__,
            "host.name": socket.gethostname(),
            "penstock.process": process,
        }
    )
    return Resource.create().merge(own).merge(OTELResourceDetector().detect())
