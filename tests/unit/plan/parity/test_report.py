from __future__ import annotations

from dataclasses import replace

import orjson

from penstock.plan.parity.report import EndpointReport, TableReport
from unit.serve.sample_parity import DIFFERENT, SALES, TOP


def test_what_nobody_declared_is_a_difference_and_what_failed_too() -> None:
    assert [problem.message for problem in DIFFERENT.differences] == [
        "the rows of `sales` differ: 1 only in live (1), 2 only in ready (2)"
    ]
    assert replace(DIFFERENT, tables=(replace(SALES, declared=True),)).differences == ()
    failed = TableReport("hits", "failed", "its table is damaged")
    found = replace(DIFFERENT, tables=(failed, replace(failed, declared=True)), endpoints=())
    assert [(problem.code, problem.hint) for problem in found.differences] == [
        ("not-compared", "`--expect hits` goes on without")
    ]


def test_what_proves_nothing_or_one_version_alone_has_is_no_difference() -> None:
    alone = (TableReport("new", "only_right"), TableReport("old", "only_left"))
    assert replace(DIFFERENT, tables=alone, endpoints=(TOP, EndpointReport("x", {}, "only_left"))).differences == ()


def test_a_call_is_named_with_its_parameters_and_why_one_refuses() -> None:
    refused = EndpointReport("top", {"n": "3"}, "differs", "only deployment 2 refuses: no")
    found = replace(DIFFERENT, tables=(), endpoints=(refused,))
    assert found.differences[0].message == "the answers of top(n=3) differ: only deployment 2 refuses: no"


def test_the_document_is_json() -> None:
    document = orjson.loads(orjson.dumps(DIFFERENT.as_json()))
    assert document["same"] is False
    assert document["tables"][0]["rows"]["sample"][0]["row"] == '{"id": 7, "amount": 70}'
