"""Secrets: who may read them, and that no error shows one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.deploy.queries.template_secrets import read_template_secrets
from penstock.errors import InvalidQuery, Location
from penstock.model.datasource import Text
from penstock.parse.project_loader import load_files
from penstock.redaction import forget_secrets
from penstock.sql.compile import compile_pipe, compile_sql
from penstock.template.render_frame import RenderInput


@pytest.fixture
def secrets() -> Iterator[object]:
    yield read_template_secrets({"PENSTOCK_SECRET_KEY": "it's-hidden", "OTHER": "x"})
    forget_secrets()


def compiled(secrets: object, text: str = "%SELECT {{ tb_secret('KEY', 'none') }} AS a") -> str:
    project = load_files({"p.pipe": f"NODE n\nSQL >\n    {text}\n"}).project
    assert isinstance(secrets, dict)
    return compile_pipe(project, project.pipes[0], RenderInput("call", {}, secrets)).sql


def test_a_secret_is_a_literal(secrets: object) -> None:
    assert compiled(secrets) == "SELECT 'it\\'s-hidden' AS `a`"
    assert compiled({}) == "SELECT 'none' AS `a`"
    with pytest.raises(InvalidQuery, match="cannot be compiled") as missing:
        compiled({}, "%SELECT {{ tb_secret('KEY') }} AS a")
    assert "PENSTOCK_SECRET_KEY" in str(missing.value.problems[0].hint)


def test_errors_do_not_show_it(secrets: object) -> None:
    with pytest.raises(InvalidQuery) as wrong:
        compiled(
            secrets, "%SELECT toDate(1, 2, {{ tb_secret('KEY') }}) AS a, {{ tb_secret('KEY') }} {{ tb_secret('KEY') }}"
        )
    assert "hidden" not in str(wrong.value.as_json())


def test_sql_of_ones_own_reads_none_but_the_pipe_that_it_reads_does(secrets: object) -> None:
    project = load_files({"p.pipe": "NODE n\nSQL >\n    %SELECT {{ tb_secret('KEY') }} AS a\n"}).project
    assert isinstance(secrets, dict)
    given = RenderInput("call", {}, secrets)
    assert "hidden" in compile_sql(project, Text("SELECT a FROM p", Location("q")), "clickhouse", given).sql
    with pytest.raises(InvalidQuery):
        compile_sql(project, Text("%SELECT {{ tb_secret('KEY') }} AS a", Location("q")), "clickhouse", given)
