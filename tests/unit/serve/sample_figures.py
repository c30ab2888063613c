"""A pipeline's figures and checks as `/metrics` and `/health/ready` get them, without a pipeline."""

from __future__ import annotations

from types import SimpleNamespace

from penstock.deploy.figures import FlowFigures, PipelineFigures, RunningDeployment
from penstock.deploy.health import DiskSpace, HealthCheck
from penstock.deploy.ingest.imports.file_import import ImportStatus
from penstock.deploy.ingest.topics.topic_status import ReadingStatus, TopicStatus
from penstock.deploy.lifecycle.deployment_events import BackfillProgress
from penstock.deploy.maintenance.maintained_tables import MaintenanceCounts
from penstock.deploy.runtime.background_reading import Reading
from penstock.flow.telemetry.step_times import StepTimes
from penstock.lake.read.history_slices import FileExtent
from penstock.lake.spark.jvm_figures import JvmFigures

WELL = tuple(HealthCheck(name, None) for name in ("store", "catalog", "spark", "disk", "landing", "lag", "flows"))


def sample_figures() -> PipelineFigures:
    return PipelineFigures(
        streams={"flights": 7},
        inbox_bytes={"flights": 123},
        deployments=(RunningDeployment(3, "v3", "live"), RunningDeployment(4, "v4", "backfilling")),
        flows=(
            FlowFigures(3, "flights__d1", "landing", "flights", 0, 0.0, 0),
            FlowFigures(3, "daily__d1", "view", "flights", 2, 1.5, 4),
        ),
        backfills=(
            (4, BackfillProgress("daily__d4", "daily", "view", FileExtent(50, 500), FileExtent(100, 1000), False)),
        ),
        steps_under_way=1,
        damaged=2,
        drifted={"yes": 1, "no": 0},
        maintenance=MaintenanceCounts({"compaction": 2}, {"expiry": 1}),
        topics=(TopicStatus("visits", "t", ReadingStatus("reading"), {0: 4}),),
        imports=(ImportStatus("visits", "s3://b/*.csv", "@auto", "idle", failed=2),),
    )


def sample_health() -> SimpleNamespace:
    jvm = JvmFigures(100, 1000, 5, 0.5, 40, 2000, 60)
    disks = (DiskSpace("inbox", 10, 100),)
    return SimpleNamespace(
        checks=lambda: WELL,
        disks=SimpleNamespace(reading=Reading(disks, 0.1, None)),
        jvm=SimpleNamespace(reading=Reading(jvm, 0.1, None)),
    )


def sample_step_times() -> StepTimes:
    times = StepTimes()
    times.observe("view", "done", 0.2)
    return times
