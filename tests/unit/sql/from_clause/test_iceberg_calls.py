"""`iceberg(…)` and `icebergS3(…)`: arguments as ClickHouse takes them; keys are secrets; a table tells its columns."""

from __future__ import annotations

import pytest

from penstock.errors import InvalidQuery, Problem
from penstock.model.external_tables import Bucket, BucketLogin, ExternalColumns, ExternalTable, IcebergTable
from penstock.model.types import Int, Nullable, String
from penstock.parse.project_loader import LoadedProject, load_files
from penstock.plan.pipe_check import check_pipe
from penstock.sql.compile import compile_copy
from penstock.sql.compiler.caller import Caller
from penstock.sql.query import CompiledCopy
from penstock.template.render_frame import RenderInput

KEYS = "{{ tb_secret('k') }}, {{ tb_secret('s') }}"
SECRETS = RenderInput("call", {}, {"k": "AKIA1", "s": "geheim1", "t": "geheim2"})
COPY = "TYPE copy\nTARGET_DATASOURCE t"
AMAZON = Bucket("https://s3.eu-west-1.amazonaws.com", "b", "eu-west-1", in_host=True)


def project(call: str, select: str = "id", ending: str = COPY) -> LoadedProject:
    pipe = f"NODE n\nSQL >\n    %\n    SELECT {select} FROM {call}\n{ending}\n"
    loaded = load_files({"t.datasource": "SCHEMA >\n    `id` Int64,\n    `code` String\n", "c.pipe": pipe})
    assert not loaded.problems
    return loaded


def check(call: str, ending: str = COPY) -> tuple[Problem, ...]:
    loaded = project(call, ending=ending)
    pipe = loaded.project.pipe("c")
    assert pipe is not None
    try:
        return check_pipe(loaded.project, pipe).problems
    except InvalidQuery as error:
        return error.problems


def compiled(call: str, select: str = "id") -> CompiledCopy:
    def tell(table: ExternalTable, names: frozenset[str]) -> ExternalColumns:
        return ExternalColumns({"id": Nullable(Int(64)), "code": String()}, {"at": "is of the type time"})

    loaded = project(call, select)
    pipe = loaded.project.pipe("c")
    assert pipe is not None
    assert pipe.copied is not None
    return compile_copy(loaded.project, pipe, pipe.copied, SECRETS, Caller(external=tell))


@pytest.mark.parametrize("function", ["iceberg", "icebergS3"])
@pytest.mark.parametrize(
    ("options", "login"),
    [
        ("", None),
        (", NOSIGN", None),
        (f", {KEYS}", BucketLogin("AKIA1", "geheim1")),
        (f", {KEYS}, {{{{ tb_secret('t') }}}}, Parquet", BucketLogin("AKIA1", "geheim1", "geheim2")),
        (", 'auto'", None),
    ],
)
def test_arguments_are_taken_by_their_places(function: str, options: str, login: BucketLogin | None) -> None:
    call = f"{function}('https://b.s3.eu-west-1.amazonaws.com/wh/db/t/'{options})"
    assert check(call) == ()
    made = compiled(call)
    (read,) = made.externals
    bucket = Bucket(AMAZON.endpoint, AMAZON.name, AMAZON.region, AMAZON.in_host, login)
    assert read.table == IcebergTable(function, "wh/db/t", bucket)
    assert read.columns == {"id"}
    assert "geheim" not in repr(made) + made.query.sql


def test_a_star_needs_columns_that_can_be_read() -> None:
    with pytest.raises(InvalidQuery) as refused:
        compiled("iceberg('s3://b/t')", "*")
    (found,) = refused.value.problems
    assert found.message == "the column `at` is of the type time"
    assert found.hint == "name the columns to read, without this one"


@pytest.mark.parametrize(
    ("call", "level", "told"),
    [
        ("iceberg()", "error", "`iceberg` needs an address"),
        ("iceberg('/etc/passwd')", "error", "none of an object in a bucket"),
        ("iceberg('s3://b//')", "error", "names no folder of a table"),
        ("iceberg('s3://b/t', 'AKIA', 'geheim')", "error", "the key of `iceberg` must come from a secret"),
        ("iceberg('s3://b/t', ORC)", "warning", "other formats than Parquet"),
        ("iceberg('s3://b/t', Parquet, 'id Int64')", "warning", "what the table says"),
        ("iceberg(my_collection)", "warning", "named collections"),
    ],
)
def test_what_cannot_be_read_is_told_at_its_place(call: str, level: str, told: str) -> None:
    (found,) = check(call)
    assert found.level == level
    assert told in found.message
    assert found.location is not None
    assert (found.location.file, found.location.line) == ("c.pipe", 4)
    assert "geheim" not in str(found)


def test_only_copies_read_tables() -> None:
    (found,) = check("iceberg('s3://b/t')", "TYPE endpoint")
    assert "`iceberg(…)` is read by copies only" in found.message
