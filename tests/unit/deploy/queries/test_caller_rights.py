"""What a caller may read: a limit that cannot be kept to is an error, never left out."""

from __future__ import annotations

import pytest

from penstock.deploy.queries.caller_rights import NO_LIMITS, CallerRights, allow_as_pipe
from penstock.errors import Forbidden
from penstock.model.datasource import DataSource
from penstock.model.pipe import Pipe
from penstock.parse.project_loader import load_files
from penstock.sql.compile import compile_pipe
from penstock.template.render_frame import RenderInput, RenderTrace

FILES = {
    "hits.datasource": "SCHEMA >\n    `org` Int32,\n    `path` Nullable(String)\n",
    "other.pipe": "NODE n\nSQL >\n    %\n    SELECT {{Int32(only_here, 1)}} AS one\n",
}


def endpoint(template: str) -> tuple[Pipe, dict[str, str]]:
    files = {**FILES, "top.pipe": f"NODE n\nSQL >\n    %\n    {template}\nTYPE endpoint\n"}
    return load_files(files).project.pipe("top"), files  # type: ignore[return-value]


def read_by(template: str, **given: str) -> set[str]:
    """The parameters that a call of an endpoint reads."""
    pipe, files = endpoint(template)
    trace = RenderTrace()
    compile_pipe(load_files(files).project, pipe, RenderInput("call", given, trace=trace))
    return trace.read


@pytest.mark.parametrize(
    ("template", "is_read"),
    [
        ("SELECT count() AS n FROM hits WHERE org = {{Int32(org)}}", True),
        ("SELECT count() AS n FROM hits WHERE org IN {{Array(org, 'Int32')}}", True),
        ("SELECT count() AS n FROM hits {% if defined(org) %} WHERE org = {{Int32(org)}} {% end %}", True),
        ("SELECT count() AS n FROM hits WHERE {{sql_and(org=Int32(org))}}", True),
        ("{% set org = org %} SELECT count() AS n FROM hits WHERE org = {{Int32(org)}}", True),
        ("SELECT count() AS n FROM hits", False),
        ("SELECT count() AS n FROM hits WHERE org = 1 {# Int32(org) #}", False),
        ("SELECT count() AS n FROM hits {% if defined(all) %} WHERE 1 {% else %} WHERE org = {{org}} {% end %}", False),
        ("{% set org = 5 %} SELECT count() AS n FROM hits WHERE org = {{Int32(org)}}", False),
        ("{% set org = [5] %} SELECT count() AS n FROM hits WHERE org IN {{Array(org, 'Int32')}}", False),
        ("SELECT count() AS n FROM hits WHERE org = {{Int32(Org, 1)}}", False),
    ],
)
def test_only_what_a_call_reads_can_be_fixed(template: str, is_read: bool) -> None:
    rights, read = CallerRights(fixed={"org": "7"}), read_by(template, org="7", all="1")
    if is_read:
        rights.check_fixed("top", read)
    else:
        with pytest.raises(Forbidden, match="the parameter `org`, which `top` does not read"):
            rights.check_fixed("top", read)


def test_a_pipe_that_is_only_mentioned_reads_nothing() -> None:
    assert read_by("SELECT 1 AS n -- as in other", only_here="1") == set()
    assert read_by("SELECT one AS n FROM other", only_here="1") == {"only_here"}


def hits() -> DataSource:
    found = load_files(FILES).project.datasource("hits")
    assert found is not None
    return found


def test_a_filter_stands_around_the_table() -> None:
    rights = CallerRights(filters={"hits": "org = 7 AND path LIKE '/a%' -- of one"})
    assert rights.readable_rows(None, "(SELECT 1)") == "(SELECT 1)"
    assert NO_LIMITS.readable_rows(hits(), "(SELECT 1)") == "(SELECT 1)"
    made = rights.readable_rows(hits(), "(SELECT 1)")
    assert made.startswith("(SELECT * FROM (SELECT 1) WHERE (")
    assert made.endswith(") = 1)")
    assert "`org`" in made
    assert "{{" in CallerRights(filters={"hits": "path = '{{;'"}).readable_rows(hits(), "(SELECT 1)")


@pytest.mark.parametrize(
    ("condition", "cause"),
    [
        ("organisation = 1", "unknown column `organisation`"),
        ("org IN (SELECT 1)", "a SELECT is not allowed"),
        ("org = 1) OR (1 = 1", ""),
        ("1, 1, 1) -- ", ""),
        ("1, 1, 0", "expected one expression"),
        ("count() > 0", ""),
        ("/* ", ""),
        ("org = ", ""),
        ("org = {{ x }}", "it is a template"),
        ("select org = 1", "it begins with SELECT"),
        ("WHERE org = 1", "it begins with WHERE"),
        ("org = 1;", "it ends with `;`"),
        ("arrayJoin([7, 8]) = org", "arrayJoin is not allowed"),
    ],
)
def test_a_filter_that_cannot_be_kept_to_forbids_the_call(condition: str, cause: str) -> None:
    with pytest.raises(Forbidden, match=f"filter of `hits` cannot be kept to in this version: .*{cause}") as raised:
        CallerRights(filters={"hits": condition}).readable_rows(hits(), "(SELECT 1)")
    assert all(str(each.location).startswith("filter of hits") for each in raised.value.problems)


def test_a_filter_of_a_pipe_forbids_the_call() -> None:
    project = load_files(FILES).project
    CallerRights(filters={"hits": "1"}).check_filters(project, ["hits"])
    with pytest.raises(Forbidden, match="`other`, which is a pipe"):
        CallerRights(filters={"other": "1"}).check_filters(project, ["hits"])
    with pytest.raises(Forbidden, match="only some rows of `hits`"):
        CallerRights(filters={"hits": "1"}).check_all_rows("hits")


def test_a_filter_of_nothing_forbids_what_only_a_pipe_reads() -> None:
    """The data source of the filter may have another name in this version, by which its rows would be seen whole."""
    project = load_files(FILES).project
    some = {"renamed": "org = 7"}
    CallerRights(lambda name: name == "hits", filters=some).check_filters(project, ["hits", "penstock__jobs_log"])
    CallerRights(lambda name: False, filters=some).check_filters(project, [])
    for rights in (
        CallerRights(lambda name: name == "renamed", filters=some),
        CallerRights(filters=some, granted=lambda name: name == "renamed"),
    ):
        with pytest.raises(Forbidden, match="rows of `renamed`, which this version has not"):
            rights.check_filters(project, ["hits"])


def test_a_function_of_an_endpoint_asks_for_no_private_records() -> None:
    CallerRights(allow_as_pipe).check_name("hits")
    CallerRights(allow_as_pipe).check_name("penstock__jobs_log")
    with pytest.raises(Forbidden, match="may not read `penstock__audit_log`"):
        CallerRights(allow_as_pipe).check_name("penstock__audit_log")
