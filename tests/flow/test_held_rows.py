"""Views that read, from memory, several commits of their source at once."""

from __future__ import annotations

from manual_pipeline import MakePipeline, ManualPipeline

FILES = {
    "datasources/events.datasource": "SCHEMA >\n    `id` UInt32 `json:$.id`\n",
    "datasources/odd.datasource": "SCHEMA >\n    `id` UInt32\n",
    "datasources/all.datasource": "SCHEMA >\n    `id` UInt32\n",
    "pipes/odd_mv.pipe": "NODE n\nSQL >\n    SELECT id FROM events WHERE id % 2\nTYPE materialized\nDATASOURCE odd\n",
    "pipes/all_mv.pipe": "NODE n\nSQL >\n    SELECT id FROM odd\nTYPE materialized\nDATASOURCE all\n",
}


def step(pipeline: ManualPipeline, flow: str) -> None:
    for work in pipeline.runnable():
        if work.flow.startswith(flow):
            pipeline.stepper.step(work)


def ids(pipeline: ManualPipeline, name: str) -> list[object]:
    return sorted(row[0] for row in pipeline.read(name, ["id"]))  # type: ignore[type-var]


def post_and_step(pipeline: ManualPipeline, lines: list[bytes], *flows: str) -> None:
    """Post one row, then some more, each in a batch of its own that only these flows take before the next comes."""
    pipeline.post("events", [b'{"id":1}'])
    pipeline.drain()
    for line in lines:
        pipeline.post("events", [line])
        for flow in flows:
            step(pipeline, flow)
    pipeline.drain()


def test_rows_after_a_batch_of_which_all_are_rejected(make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline(FILES)
    post_and_step(pipeline, [b'{"id":3}', b'{"id":"none"}', b'{"id":5}'], "landing.events")
    assert ids(pipeline, "odd") == [1, 3, 5]
    assert ids(pipeline, "all") == [1, 3, 5]


def test_rows_after_a_batch_of_which_a_view_keeps_none(make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline(FILES)
    post_and_step(pipeline, [b'{"id":3}', b'{"id":4}', b'{"id":5}'], "landing.events", "odd_mv")
    assert ids(pipeline, "odd") == [1, 3, 5]
    assert ids(pipeline, "all") == [1, 3, 5]
