"""Another policy for rows that fail moves no row, and is in the manifest; older manifests stop."""

from __future__ import annotations

import json
from dataclasses import replace

from penstock.model.manifest import Manifest
from penstock.parse.project_loader import load_files
from penstock.plan.diff.changes import MetadataChanged
from penstock.plan.plan import Live
from penstock.plan.planner import PlanOptions, make_plan
from penstock.state.manifest_codec import manifest_from_json, manifest_to_json

SCHEMA = "SCHEMA >\n    `id` UInt32\n\nENGINE MergeTree\nENGINE_SORTING_KEY id\n"
NODE = "NODE n\nSQL >\n    SELECT id FROM source\n\nTYPE materialized\nDATASOURCE target\n"


def files(policy: str) -> dict[str, str]:
    return {"source.datasource": SCHEMA, "target.datasource": SCHEMA, "to_target.pipe": NODE + policy}


def manifest_of(policy: str) -> Manifest:
    plan = make_plan(None, load_files(files(policy)).project, PlanOptions("d1"))
    assert plan.manifest is not None
    return plan.manifest


def test_a_policy_alone_moves_no_row() -> None:
    before = load_files(files("")).project
    live = Live(before, manifest_of(""), {})
    plan = make_plan(live, load_files(files("ON_ERROR quarantine\n")).project, PlanOptions("d2"))
    assert plan.manifest is not None
    assert [view.on_error for view in plan.manifest.views] == ["quarantine"]
    assert [replace(view, on_error="stop") for view in plan.manifest.views] == list(live.manifest.views)
    # A table is known to be whole only as long as no row may have been left out.
    assert [each.whole for each in live.manifest.tables if each.id == "target__d1"] == [True]
    assert plan.manifest.tables == tuple(replace(each, whole=False, filled_as="") for each in live.manifest.tables)
    assert plan.changes == (MetadataChanged("to_target", "materialized", ("ON_ERROR",)),)


def test_a_manifest_of_a_former_release_stops() -> None:
    manifest = manifest_of("ON_ERROR quarantine\n")
    assert manifest_from_json(manifest_to_json(manifest)) == manifest
    old = json.loads(manifest_to_json(manifest))
    for flow in old["flows"]:
        flow.pop("on_error", None)
    assert [view.on_error for view in manifest_from_json(json.dumps(old)).views] == ["stop"]
