"""What views compute from a data source is computed anew though nothing changed: the plan, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

from penstock.model.manifest import Manifest
from penstock.parse.project_loader import load_files
from penstock.plan.plan import Live, Plan, Size
from penstock.plan.planner import PlanOptions, make_plan, plan_everything
from penstock.plan.steps import CreateTable

MERGE = "ENGINE MergeTree\n"
FILES = {
    "hits.datasource": f"SCHEMA >\n    `ts` DateTime,\n    `page` String\n{MERGE}",
    "pages.datasource": f"SCHEMA >\n    `page` String\n{MERGE}",
    "long.datasource": f"SCHEMA >\n    `page` String\n{MERGE}",
    "other.datasource": f"SCHEMA >\n    `page` String\n{MERGE}",
    "beside.datasource": f"SCHEMA >\n    `page` String\n{MERGE}",
    "to_pages.pipe": "NODE n\nSQL SELECT page FROM hits\nTYPE materialized\nDATASOURCE pages\n",
    "to_long.pipe": "NODE n\nSQL SELECT page FROM pages WHERE length(page) > 9\nTYPE materialized\nDATASOURCE long\n",
    "to_beside.pipe": "NODE n\nSQL SELECT page FROM other\nTYPE materialized\nDATASOURCE beside\n",
}
JOINED = {
    **FILES,
    "to_beside.pipe": "NODE n\nSQL SELECT o.page AS page FROM other AS o JOIN hits AS h ON o.page = h.page\n"
    "TYPE materialized\nDATASOURCE beside\n",
}


def first(files: dict[str, str]) -> Manifest:
    made = make_plan(None, load_files(files).project, PlanOptions("d1"))
    assert made.errors == ()
    return made.manifest


def rebuild(files: dict[str, str], manifest: Manifest, shortened: str = "", allow: bool = False) -> Plan:
    """The plan to rebuild what derives from `hits`."""
    project = load_files(files).project
    live = Live(project, manifest, {table.id: Size(1000, 50_000) for table in manifest.tables})
    live = replace(live, shortened=frozenset(shortened.split()))
    names = frozenset(manifest.derived_names("hits"))
    options = PlanOptions("d2", allow_destructive=allow, rebuilt=names)
    made = make_plan(live, project, options)
    assert made == plan_everything(live, project, options)
    return made


def messages(plan: Plan) -> str:
    assert {each.code for each in plan.errors} <= {"rebuild-differs"}
    return "\n".join(each.message for each in plan.errors)


def test_what_derives_from_it_gets_new_tables_and_all_else_stays() -> None:
    made = rebuild(FILES, first(FILES))
    assert (made.changes, made.errors) == ((), ())
    moved = {each.name: each.strategy for each in made.resources if each.strategy != "none"}
    assert moved == {"pages": "recompute", "long": "recompute"}
    assert {step.table.id for step in made.steps if isinstance(step, CreateTable)} == {"pages__d2", "long__d2"}
    tables = {each.name: each.table for each in made.manifest.bindings}
    assert (tables["hits"], tables["beside"], tables["long"]) == ("hits__d1", "beside__d1", "long__d2")
    reads = {view.table: view.trigger.binding.table for view in made.manifest.views}
    assert reads == {"pages__d2": "hits__d1", "long__d2": "pages__d2", "beside__d1": "other__d1"}
    assert rebuild(FILES, made.manifest).errors == (), "it can be rebuilt again"


def test_nothing_to_rebuild_is_nothing_to_do() -> None:
    project, manifest = load_files(FILES).project, first(FILES)
    made = make_plan(Live(project, manifest, {}), project, PlanOptions("d2"))
    assert (made.steps, made.manifest) == ((), manifest)


def test_rows_that_its_source_has_lost_are_not_lost_there_unasked() -> None:
    manifest = first(FILES)
    assert "from `hits`, of which rows were removed before" in messages(rebuild(FILES, manifest, "hits__d1"))
    assert "would come back" in messages(rebuild(FILES, manifest, "long__d1"))
    assert rebuild(FILES, manifest, "hits__d1 long__d1", allow=True).errors == ()
    ttl = {**FILES, "hits.datasource": FILES["hits.datasource"] + "ENGINE_TTL ts + INTERVAL 1 DAY\n"}
    assert "from `hits`, whose TTL" in messages(rebuild(ttl, first(ttl)))
    null = {**FILES, "hits.datasource": FILES["hits.datasource"].replace("MergeTree", "Null")}
    assert "from `hits`, which does not keep its rows" in messages(rebuild(null, first(null)))


def test_a_joined_source_is_one_too_and_is_seen_as_it_is_now() -> None:
    manifest = first(JOINED)
    assert manifest.derived_names("hits") == ("beside", "long", "pages")
    assert "`beside` joins `hits`" in messages(rebuild(JOINED, manifest))
    made = rebuild(JOINED, manifest, allow=True)
    assert {view.table for view in made.manifest.views} == {"pages__d2", "long__d2", "beside__d2"}


def test_rows_that_its_views_have_not_made_are_kept_unless_asked() -> None:
    skips = {**FILES, "pages.datasource": FILES["pages.datasource"] + "BACKFILL skip\n"}
    assert "BACKFILL skip" in messages(rebuild(skips, first(skips)))
    project, manifest = load_files(FILES).project, first(FILES)
    shouted = {
        **FILES,
        "to_pages.pipe": FILES["to_pages.pipe"].replace("SELECT page", "SELECT upper(page) AS page"),
        "pages.datasource": FILES["pages.datasource"] + "FORWARD_QUERY >\n    SELECT page\n",
    }
    live = Live(project, manifest, {table.id: Size(1000, 50_000) for table in manifest.tables})
    kept = make_plan(live, load_files(shouted).project, PlanOptions("d2"))
    assert kept.errors == ()
    without = {**shouted, "pages.datasource": FILES["pages.datasource"]}
    found = messages(rebuild(without, kept.manifest))
    assert "`pages` took its rows over" in found
    assert "`long` took its rows over" in found, "a clone, too"
