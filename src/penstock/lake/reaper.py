"""End a local Spark in which a task goes on although it was cancelled.

In: the Spark context and the job group that was cancelled. Out: nothing; its process may be ended, and the server
begins anew (serve/rebirth). Called by jobs. Source: a task ends where Spark looks whether it was cancelled, which is
between rows of what is read; a nested loop or an expression of one row that takes minutes does not look (Spark's
documentation of spark.task.reaper). Invariant: a core that was to be freed is free, or Spark ends, within seconds.
"""

from __future__ import annotations

import logging
import threading

from pyspark import SparkContext

LOOKS, PAUSE = 20, 1.0
"""A task has so many looks, so many seconds apart, to end. Looks, since a machine that slept looks no more often."""
REAPER = {"spark.task.reaper.enabled": "true", "spark.task.reaper.killTimeout": f"{LOOKS * PAUSE:.0f}s"}
"""What does the same on a cluster: the executor is ended, and its other tasks are given to others. (In a local
Spark, where executor and driver are one process, it does nothing.)"""
log = logging.getLogger("penstock.lake")


def watch(context: SparkContext, group: str) -> None:
    """Look, in a thread of its own, whether the group's tasks end."""
    if (context.master or "").startswith("local"):
        threading.Thread(target=_look, args=(context, group), name=f"ends {group}", daemon=True).start()


def _look(context: SparkContext, group: str) -> None:
    pause = threading.Event()
    for _ in range(LOOKS):
        if not running(context, group):
            return
        pause.wait(PAUSE)
    log.critical("what was cancelled goes on after %.0f s and takes a core: Spark's process is ended", LOOKS * PAUSE)
    gateway = context._gateway
    assert gateway is not None, "the context was opened here"
    gateway.proc.kill()


def running(context: SparkContext, group: str) -> int:
    """How many tasks of the group run. None of a Spark that has ended."""
    try:
        tracker = context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        return sum(stage.numActiveTasks for stage in stages if stage is not None)
    except Exception as error:  # py4j's many, while Spark ends or after that
        log.debug("whether %s ends cannot be seen", group, exc_info=error)
        return 0
