"""Which tables cannot go on because a flow fails.

In: a manifest and the flows that fail. Out: tables. Called by deploy. Invariant: a failing flow stops its
own table and those below it, and no other.
"""

from __future__ import annotations

from collections.abc import Collection

from penstock.model.manifest import Manifest


def stuck(manifest: Manifest, failing: Collection[tuple[str, str]]) -> frozenset[str]:
    """The tables into which a flow fails (given as table and flow), and all that derive from them."""
    found = [flow.table for flow in manifest.flows if (flow.table, flow.id) in failing]
    for table in found:  # grows while it is walked
        found += [
            view.table for view in manifest.views if view.trigger.binding.table == table and view.table not in found
        ]
    return frozenset(found)
