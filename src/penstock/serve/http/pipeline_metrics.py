"""The figures of a pipeline as metrics of Prometheus; `docs/operations.md` lists them.

In: a pipeline. Out: metric families. Invariant: collected in every outage, within the seconds for which the pipeline
waits for its store; a series of a flow is there, with 0, as long as its deployment runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from penstock.deploy.figures import PipelineFigures
    from penstock.deploy.health import HealthChecks
    from penstock.deploy.pipeline import Pipeline

FLOW = ("deployment", "table", "flow", "stream")
Samples = Iterable[tuple[Sequence[object], float]]


class PipelineCollector(Collector):
    """Collects the metrics of a pipeline."""

    def __init__(self, pipeline: Pipeline):
        self._pipeline = pipeline

    def describe(self) -> Iterable[Metric]:
        """Nothing: the registry then asks for no figures when the collector is added."""
        return ()

    def collect(self) -> Iterator[Metric]:
        reading = self._pipeline.monitor.figures()
        yield _gauge("penstock_figures_age_seconds", "Age of the figures of flows and tables", reading.age)
        if reading.value is not None:
            yield from stream_metrics(reading.value)
            yield from flow_metrics(reading.value)
            yield from deployment_metrics(reading.value)
            yield from maintenance_metrics(reading.value)
        yield from health_metrics(self._pipeline.monitor.health)
        yield from self._pipeline.step_times.collect()


TOPIC = ("datasource", "topic", "partition")


def stream_metrics(found: PipelineFigures) -> Iterator[Metric]:
    """How much arrived and waits."""
    heads = (((stream,), head) for stream, head in found.streams.items())
    waiting = (((stream,), size) for stream, size in found.inbox_bytes.items())
    yield _gauges("penstock_batches", "Batches in the log since its beginning", ("stream",), heads)
    yield _gauges("penstock_inbox_bytes", "Bytes of a stream that not every table has", ("stream",), waiting)
    yield _gauge("penstock_damaged_batches", "Batches whose file is damaged", found.damaged)
    lags = (((each.datasource, each.topic, str(at)), lag) for each in found.topics for at, lag in each.lag.items())
    yield _gauges("penstock_topic_lag", "Messages of a topic that are in no batch", TOPIC, lags)
    states = (((each.datasource, each.topic, each.status.state), 1) for each in found.topics)
    yield _gauges("penstock_topic_state", "1 for the state of each reading", (*TOPIC[:2], "state"), states)
    imports = (((each.datasource, each.state), 1) for each in found.imports)
    yield _gauges("penstock_import_state", "1 for the state of each import of files", ("datasource", "state"), imports)
    failed = (((each.datasource,), each.failed) for each in found.imports)
    yield _gauges("penstock_failed_files", "Files that a data source cannot take", ("datasource",), failed)


def flow_metrics(found: PipelineFigures) -> Iterator[Metric]:
    """How far each flow is behind, and which fails."""
    keys = [(each, (str(each.deployment), each.table, each.flow, each.stream)) for each in found.flows]
    failures = {key[:3]: each.failures for each, key in keys}
    yield _gauges(
        "penstock_lag_batches",
        "Batches that a flow has not processed",
        FLOW,
        ((key, each.batches) for each, key in keys),
    )
    yield _gauges(
        "penstock_freshness_seconds",
        "Seconds that the oldest row has waited which a flow has not processed",
        FLOW,
        ((key, each.seconds) for each, key in keys),
    )
    yield _gauges("penstock_flow_failures", "Steps of a flow that failed in a row", FLOW[:3], failures.items())
    failing = len({key[1:] for key, attempts in failures.items() if attempts})
    yield _gauge("penstock_failing_flows", "Flows whose last step failed", failing)
    yield _gauge("penstock_steps_under_way", "Steps that run now", found.steps_under_way)


def deployment_metrics(found: PipelineFigures) -> Iterator[Metric]:
    """Which deployments run, which one is live, and how far their histories are."""
    running = (((str(each.id), each.name, each.state), 1) for each in found.deployments)
    yield _gauges("penstock_deployment_info", "Deployments that run", ("deployment", "name", "state"), running)
    live = next((each.id for each in found.deployments if each.state == "live"), 0)
    yield _gauge("penstock_live_deployment", "The id of the live deployment; 0: none is live", live)
    labels = ("deployment", "table", "flow")
    histories = [((str(id), each.table, each.flow), each) for id, each in found.backfills]
    yield _gauges(
        "penstock_backfill_rows",
        "Rows of a history that were read",
        labels,
        ((key, of.read.rows) for key, of in histories),
    )
    yield _gauges(
        "penstock_backfill_rows_expected", "Rows of a history", labels, ((key, of.all.rows) for key, of in histories)
    )
    drifted = (((stops,), count) for stops, count in found.drifted.items())
    yield _gauges("penstock_drift", "Changes of tables from outside; stops: whether they stop one", ("stops",), drifted)


def maintenance_metrics(found: PipelineFigures) -> Iterator[Metric]:
    """Runs of background maintenance."""
    counts = found.maintenance
    runs = [((kind, "done"), count) for kind, count in counts.done.copy().items()]
    runs += [((kind, "failed"), count) for kind, count in counts.failed.copy().items()]
    about = "Runs of background maintenance since the server started"
    yield _gauges("penstock_maintenance", about, ("kind", "result"), runs)


def health_metrics(health: HealthChecks) -> Iterator[Metric]:
    """The checks, the disks and Spark's JVM, from memory."""
    checks = (((each.name,), float(each.ok)) for each in health.checks())
    yield _gauges("penstock_check_ok", "1 if a check is well: store, catalog, spark, disk …", ("check",), checks)
    disks = health.disks.reading.value or ()
    free = [((each.folder,), each.free_bytes) for each in disks]
    yield _gauges("penstock_disk_free_bytes", "Free bytes on the disk of a folder", ("folder",), free)
    sizes = [((each.folder,), each.total_bytes) for each in disks]
    yield _gauges("penstock_disk_bytes", "Size of the disk of a folder", ("folder",), sizes)
    jvm = health.jvm.reading.value
    if jvm is not None:
        yield _gauge("penstock_jvm_heap_used_bytes", "Heap that Spark's JVM uses", jvm.heap_used_bytes)
        yield _gauge("penstock_jvm_heap_max_bytes", "Heap that Spark's JVM may use", jvm.heap_max_bytes)
        yield _gauge("penstock_jvm_resident_bytes", "Memory of the process of Spark's JVM", jvm.resident_bytes)
        yield _gauge("penstock_jvm_threads", "Threads of Spark's JVM", jvm.threads)
        yield _gauge("penstock_jvm_open_fds", "Open files of Spark's JVM", jvm.open_files)
        yield CounterMetricFamily(
            "penstock_jvm_gc_seconds", "Garbage collection of Spark's JVM", jvm.collection_seconds
        )
        yield CounterMetricFamily("penstock_jvm_gc_collections", "Its garbage collections", jvm.collections)


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value=value)


def _gauges(name: str, meaning: str, labels: Sequence[str], samples: Samples) -> Metric:
    family = GaugeMetricFamily(name, meaning, labels=labels)
    for values, value in samples:
        family.add_metric([str(each) for each in values], value)
    return family
