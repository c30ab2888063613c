"""Words of the journal that are no steps of a plan.

In: nothing. Out: constants. Called by deployer, executor and undo. Invariant: none of them is the JSON of
a step.
"""

from __future__ import annotations

PROMOTE = "promote"
"""A promotion that was asked for with the deployment."""
