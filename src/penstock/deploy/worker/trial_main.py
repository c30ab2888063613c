"""The program of the trial process: `python -m penstock.deploy.worker.trial_main`.

In: a `TrialOrder`, then trials and orders for steps, one after the other, on standard input. Out: an answer to each on
standard output. Invariant: if Spark's process ends, this one ends without an answer; it ends when its input does.
"""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
import traceback
from collections.abc import Callable
from typing import BinaryIO

from penstock.deploy.worker.opened_parts import OpenedParts, open_parts
from penstock.deploy.worker.trial_process import (
    IDLE_ENDED,
    Answer,
    TrialOrder,
    TrialRefusal,
    TrialResult,
    TrialStart,
    TrialStepResult,
)
from penstock.flow.failing.trials import StepOrder
from penstock.flow.materialized_view import SplitRequired
from penstock.flow.telemetry.span_delivery import start_span_delivery
from penstock.lake.spark.cancellation import time_limit
from penstock.lake.spark.errors import explain_error, has_spark_ended
from penstock.lake.spark.session import Lake
from penstock.model.settings import secret_values
from penstock.redaction import register_secrets

IDLE_SECONDS = 120.0
SPARK_ENDED = 3


def main() -> None:
    answers = _take_standard_output()
    requests: queue.Queue[object] = queue.Queue()
    threading.Thread(target=_read, args=(requests,), name="requests", daemon=True).start()
    order = requests.get()
    assert isinstance(order, TrialOrder), "the order comes first"
    register_secrets(secret_values(order.settings))
    start_span_delivery(order.settings.traces, "trial")
    parts = open_parts(order.settings, order.home, order.token, lambda: 0.0)
    _send(answers, TrialStart())
    while True:
        try:
            request = requests.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            os._exit(IDLE_ENDED)
        _send(answers, _answer(parts, request, float(order.settings.flow.max_step_seconds)))


def _take_standard_output() -> BinaryIO:
    """Standard output for answers alone: whatever else writes to it, writes to standard error."""
    taken = os.dup(1)
    os.dup2(2, 1)
    return open(taken, "wb")


def _read(requests: queue.Queue[object]) -> None:
    """Pass requests on; end the process when there will be no more."""
    source = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115 - as long as the process
    try:
        while True:
            requests.put(pickle.load(source))
    except EOFError:
        os._exit(1)
    except BaseException:
        traceback.print_exc()  # apart.log
        os._exit(1)


def _send(answers: BinaryIO, answer: Answer) -> None:
    pickle.dump(answer, answers)
    answers.flush()


def _answer(parts: OpenedParts, request: object, seconds: float) -> Answer:
    try:
        if isinstance(request, StepOrder):
            return _step(parts, request)
        run: Callable[[Lake], object] = request.run  # type: ignore[attr-defined]
        with time_limit(parts.lake.spark, seconds):
            return TrialResult(run(parts.lake))
    except SplitRequired as split:
        return TrialStepResult((split.table, split.deployments))
    except Exception as error:
        if has_spark_ended(error) or parts.lake.has_ended:
            os._exit(SPARK_ENDED)
        return TrialRefusal(explain_error(error))
    finally:
        parts.operations.flush()


def _step(parts: OpenedParts, order: StepOrder) -> Answer:
    for stream, batch in order.upto.items():
        parts.arrivals.add(stream, batch)
    parts.recorded.read_again(order.work.tables)  # a deployment may have changed their columns
    parts.stepper.read_again(order.work)
    with parts.stepper.limit_batches(order.upto):
        parts.stepper.step(order.work, order.failures, None, order.crashes)
    return TrialStepResult()


if __name__ == "__main__":
    main()
