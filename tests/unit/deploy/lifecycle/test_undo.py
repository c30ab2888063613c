from __future__ import annotations

from typing import get_args

from penstock.deploy.lifecycle.undo import INVERSES
from penstock.plan.steps import Step


def test_every_step_has_an_inverse() -> None:
    assert set(INVERSES) == set(get_args(Step))
    assert all(INVERSES.values())
