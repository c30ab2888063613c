from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

import pytest

from penstock.deploy.lifecycle.repeated_deployment import RepeatedCall, find_repeated
from penstock.model.deployment import Deployment
from penstock.model.manifest import Manifest

NOW = datetime(2026, 11, 23, tzinfo=timezone.utc)
FILES = {"a.datasource": "SCHEMA >\n    a UInt8\n"}
ASKED: dict[str, object] = {
    "auto_promote": False,
    "allow_destructive_operations": False,
    "check_rows": True,
    "rebuilt": [],
}
MADE = Deployment(3, "first", "ready", 2, NOW, NOW, FILES, {**ASKED, "changes": []}, Manifest())
CALL = RepeatedCall(FILES, "first", 2, ASKED)


@pytest.mark.parametrize(
    "call",
    [
        replace(CALL, files={**FILES, "b.pipe": ""}),
        replace(CALL, files={"a.datasource": "SCHEMA >\n    a UInt16\n"}),
        replace(CALL, live=3),
        replace(CALL, live=None),
        replace(CALL, name="second"),
        replace(CALL, name=None),
        *(replace(CALL, asked={**ASKED, key: ["t"] if value == [] else not value}) for key, value in ASKED.items()),
    ],
)
def test_another_call_makes_another_one(call: RepeatedCall) -> None:
    assert find_repeated([MADE], call) is None


def test_one_of_a_former_release_or_a_paused_one_is_left_alone() -> None:
    assert find_repeated([replace(MADE, plan={"auto_promote": False})], CALL) is None
    assert find_repeated([replace(MADE, paused=True)], CALL) is None


def test_the_newest_one_goes_on() -> None:
    newer = replace(MADE, id=4)
    assert find_repeated([MADE, newer], CALL) == find_repeated([newer, MADE], CALL) == newer
    nameless = replace(MADE, id=5, name="")
    assert find_repeated([MADE, nameless], replace(CALL, name=None)) == nameless
