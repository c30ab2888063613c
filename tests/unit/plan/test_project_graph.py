from __future__ import annotations

from penstock.parse.project_loader import load_files
from penstock.plan.project_graph import ProjectGraph, draw_project

SOURCE = "SCHEMA >\n    id UInt64 `json:$.id`,\n    base String `json:$.base`\n"
FILES = {
    "rows.datasource": SOURCE,
    "sums.datasource": "SCHEMA >\n    base String,\n    n UInt64\n",
    "archive.datasource": SOURCE,
    "base.pipe": "NODE first\nSQL >\n    SELECT id, base FROM rows\nNODE n\nSQL >\n    SELECT * FROM first\n",
    "view.pipe": (
        "NODE n\nSQL >\n    SELECT base, count() AS n FROM base GROUP BY base\nTYPE materialized\nDATASOURCE sums\n"
    ),
    "save.pipe": "NODE n\nSQL >\n    SELECT id, base FROM rows\nTYPE copy\nTARGET_DATASOURCE archive\n",
    "top.pipe": (
        "NODE n\nSQL >\n    %\n    SELECT base FROM sums WHERE base IN (SELECT base FROM base)\n"
        "    {% if defined(x) %} AND n IN (SELECT id FROM archive) {% end %}\nTYPE endpoint\n"
    ),
    "other.pipe": "NODE n\nSQL >\n    SELECT id, base, (rows.id) FROM rows -- FROM sums, archive\nTYPE endpoint\n",
}


def draw(**changed: str) -> ProjectGraph:
    return draw_project(load_files(FILES | {name.replace("_", "."): text for name, text in changed.items()}))


def arrows(graph: ProjectGraph) -> set[str]:
    return {f"{each.start} {each.kind} {each.end}" for each in graph.arrows}


def test_every_way_of_the_rows_is_an_arrow() -> None:
    graph = draw()
    assert arrows(graph) == {
        "rows reads base",
        "base reads view",
        "view feeds sums",
        "rows reads save",
        "save copies archive",
        "sums reads top",
        "base reads top",
        "archive reads top",
        "rows reads other",
    }
    assert not any(node.is_broken for node in graph.nodes)
    assert graph.before("top") == ("archive", "base", "sums")
    assert graph.after("rows") == ("base", "other", "save")


def test_what_is_outside_is_where_rows_come_from_and_go_to() -> None:
    taken = "IMPORT_CONNECTION_NAME lake\nIMPORT_BUCKET_URI s3://shop/in/*.csv\n"
    read = "KAFKA_CONNECTION_NAME k\nKAFKA_TOPIC visits\nKAFKA_GROUP_ID g\n"
    out = "EXPORT_CONNECTION_NAME lake\nEXPORT_BUCKET_URI s3://shop/out\nEXPORT_FILE_TEMPLATE {base}\n"
    select = "NODE n\nSQL >\n    SELECT base FROM rows\nTYPE sink\n"
    graph = draw(
        rows_datasource=SOURCE + taken,
        archive_datasource=SOURCE + read,
        out_pipe=select + out,
        back_pipe=f"{select}EXPORT_CONNECTION_NAME k\nEXPORT_KAFKA_TOPIC visits\n",
    )
    assert {
        "s3://shop/in/*.csv takes rows",
        "topic visits takes archive",
        "out writes s3://shop/out/{base}",
        "back writes topic visits",
    } <= arrows(graph)
    kinds = {each.name: each.kind for each in graph.nodes}
    outside = {"topic visits", "s3://shop/in/*.csv", "s3://shop/out/{base}"}
    assert {name for name, kind in kinds.items() if kind == "outside"} == outside
    assert "sums" in kinds


def test_a_name_that_hides_a_resource_is_none() -> None:
    hiding = "WITH sums AS (SELECT 1 AS n), archive AS (SELECT 2 AS id) SELECT n, id FROM sums, archive"
    graph = draw(other_pipe=f"NODE n\nSQL >\n    {hiding}\nTYPE endpoint\n")
    assert graph.before("other") == ()


def test_a_table_after_in_is_read() -> None:
    graph = draw(other_pipe="NODE n\nSQL >\n    SELECT id FROM rows WHERE (base, id) IN sums\nTYPE endpoint\n")
    assert graph.before("other") == ("rows", "sums")


def test_nodes_stand_after_what_they_read() -> None:
    graph = draw()
    names = [node.name for node in graph.nodes]
    assert all(names.index(arrow.start) < names.index(arrow.end) for arrow in graph.arrows)
    assert {node.name: node.kind for node in graph.nodes}["view"] == "materialized"


def test_what_cannot_be_compiled_is_drawn_as_its_text_says() -> None:
    graph = draw(other_pipe="NODE n\nSQL >\n    SELECT leng(id) FROM rows JOIN sums USING base\nTYPE endpoint\n")
    assert [node.name for node in graph.nodes if node.is_broken] == ["other"]
    assert graph.before("other") == ("rows", "sums")


def test_a_circle_is_drawn() -> None:
    back = "NODE n\nSQL >\n    SELECT n AS id, base FROM sums\nTYPE materialized\nDATASOURCE rows\n"
    graph = draw(back_pipe=back)
    assert {"sums reads back", "back feeds rows"} <= arrows(graph)
    assert len(graph.nodes) == 9


QUARANTINE_READER = "NODE n\nSQL >\n    SELECT raw FROM {} WHERE 1\nTYPE endpoint\n"


def test_a_quarantine_that_is_read_is_drawn() -> None:
    graph = draw(other_pipe=QUARANTINE_READER.format("rows_quarantine"))
    assert {"rows rejects rows_quarantine", "rows_quarantine reads other"} <= arrows(graph)
    assert [(node.kind, node.file) for node in graph.nodes if node.name == "rows_quarantine"] == [
        ("quarantine", "rows.datasource")
    ]
    assert not any(node.kind == "quarantine" for node in draw().nodes)


def test_a_quarantine_is_read_by_the_pipe_that_names_it() -> None:
    inner = "NODE n\nSQL >\n    SELECT raw FROM rows_quarantine\n"
    graph = draw(inner_pipe=inner, other_pipe=QUARANTINE_READER.format("inner"))
    assert graph.before("other") == ("inner",)
    assert graph.before("inner") == ("rows_quarantine",)


def test_a_name_that_hides_a_quarantine_is_none() -> None:
    hiding = "WITH rows_quarantine AS (SELECT 'x' AS raw) SELECT raw FROM rows_quarantine"
    assert draw(other_pipe=f"NODE n\nSQL >\n    {hiding}\nTYPE endpoint\n").before("other") == ()


def test_records_of_the_server_are_drawn() -> None:
    """By one name, whichever namespace is written; also in a branch that is not rendered."""
    sql = (
        "%\n    SELECT count() AS n FROM tinybird.jobs_log WHERE job_id IN (SELECT pipe_id FROM penstock.pipe_stats)\n"
        "    {% if defined(x) %} OR 1 IN (SELECT rows FROM tinybird.datasources_ops_log) {% end %}"
    )
    graph = draw(other_pipe=f"NODE n\nSQL >\n    {sql}\nTYPE endpoint\n")
    assert graph.before("other") == ("penstock.datasources_ops_log", "penstock.jobs_log", "penstock.pipe_stats")
    assert {node.kind for node in graph.nodes if node.name.startswith("penstock.")} == {"records"}


def test_the_tables_that_a_function_has_as_objects_are_read() -> None:
    source = "    rows = TableName('rows')\n    other = TableName('elsewhere')\n    HANDLER = print\n"
    handled = f"NODE n\nSQL >\n    SELECT 1 AS x\nPYTHON >\n{source}RETURNS >\n    `x` UInt8\nTYPE endpoint\n"
    assert draw(other_pipe=handled).before("other") == ("rows",)
