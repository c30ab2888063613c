from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from unit.cli.conftest import Run
from unit.serve.memory import MemoryPipeline
from unit.serve.sample_parity import DIFFERENT, SAME

Json = Callable[..., tuple[int, Any]]


def test_what_differs_is_shown_with_its_rows(penstock: Run, penstock_json: Json, pipeline: MemoryPipeline) -> None:
    pipeline.comparison.report = DIFFERENT
    code, out, _ = penstock("diff")
    assert code == 1
    assert "live 1 and ready 2 (next), both with the same batches of 1 stream" in out
    for line in (
        "DIFFERS",
        "columns with another checksum: amount",
        '- {"id": 7, "amount": 70}',
        '+ {"id": 7, "amount": 71} (2 times)',
        "note was not compared: only deployment 2 has it",
        "top(country=DE)",
        "it reads a clock or random numbers",
        "1 difference; 1 not compared",
    ):
        assert line in out, line
    code, document = penstock_json("diff", "previous", "live", "--rows", "3", "--expect", "sales", "--expect", "top.n")
    assert (code, document["same"], document["tables"][0]["rows"]["only_left"]) == (1, False, 1)
    assert document["tables"][0]["rows"]["sample"][0] == {"side": "left", "times": 1, "row": {"id": 7, "amount": 70}}
    left, right, scope = pipeline.comparison.asked[-1]
    assert (left, right, scope.declared, scope.sample, scope.calls) == ("previous", "live", ("sales", "top.n"), 3, "")


def test_nothing_differs(penstock: Run, pipeline: MemoryPipeline, project: Path) -> None:
    pipeline.comparison.report = SAME
    calls = project / "calls.ndjson"
    calls.write_text('{"endpoint": "top"}\n')
    code, out, _ = penstock("diff", "live", "staging", "--params", str(calls))
    assert (code, "nothing differs that was not declared" in out) == (0, True)
    assert pipeline.comparison.asked[-1][2].calls == '{"endpoint": "top"}\n'


def test_promote_only_if_nothing_differs(penstock: Run, penstock_json: Json, pipeline: MemoryPipeline) -> None:
    penstock("deploy", "--no-promote")
    pipeline.comparison.report = DIFFERENT
    code, _, err = penstock("deployment", "promote", "--require-parity")
    assert code == 1
    assert "the rows of `sales` differ: 1 only in live (1), 2 only in ready (2)" in err
    assert "--expect sales" in err
    pipeline.comparison.report = SAME
    code, document = penstock_json("deployment", "promote", "--require-parity", "--expect", "sales")
    assert (code, document["state"]) == (0, "live")
    assert pipeline.comparison.asked[-1][2].declared == ("sales",)


def test_deploy_leaves_what_differs_ready(penstock: Run, penstock_json: Json, pipeline: MemoryPipeline) -> None:
    pipeline.comparison.report = DIFFERENT
    code, _, err = penstock("deploy", "--require-parity")
    assert (code, "the rows of `sales` differ" in err) == (1, True)
    assert penstock_json("deployment", "ls")[1]["deployments"][0]["state"] == "ready"


def test_wrong_usage(penstock: Run, pipeline: MemoryPipeline) -> None:
    for line, said in (
        (("diff", "--params", "none.ndjson"), "none.ndjson cannot be read"),
        (("diff", "--expect", "a,b"), "--expect takes one name"),
        (("deployment", "promote", "--expect", "a"), "add --require-parity"),
        (("deploy", "--require-parity", "--no-wait"), "waits and promotes"),
    ):
        code, _, err = penstock(*line)
        assert (code, said in err) == (2, True), err
