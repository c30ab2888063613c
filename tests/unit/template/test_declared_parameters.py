"""What a template says of its parameters, and the calls that lead into each of its ways."""

from __future__ import annotations

from penstock.template.branch_variants import branch_inputs
from penstock.template.declared_parameters import DeclaredParameter, declared_parameters
from penstock.template.parser import read_template
from penstock.template.render_frame import RenderTrace


def read(template: str) -> dict[str, DeclaredParameter]:
    return {each.name: each for each in declared_parameters(read_template(f"%{template}"))}


def test_types_defaults_and_what_is_said() -> None:
    found = read(
        "{{ Int32(a, -1, description='how many', required=True, enum=[1, 2], example=2, format='n') }}"
        "{{ Array(b, 'Int64', default='1,2') }} {{ String(c) }} {{ d }} {{ column(e, 'x') }} {{ JSON(f, '[]') }}"
    )
    assert found["a"] == DeclaredParameter("a", "Int32", -1, True, "how many", (1, 2), 2, "n", typed=True)
    assert (found["b"].type, found["b"].default) == ("Array(Int64)", "1,2")
    assert [found[name].is_required for name in "cde"] == [True, True, False]
    assert found["f"].type == "JSON"


def test_the_mention_with_a_type_counts_and_the_others_fill_its_gaps() -> None:
    found = read("{% if defined(a) and a != '' %}{{ UInt8(a) }} {{ UInt8(a, 5, description='d') }}{% end %}")
    assert found["a"] == DeclaredParameter("a", "UInt8", 5, None, "d", optional=True, typed=True)


def test_variables_of_the_template_are_no_parameters() -> None:
    found = read("{% set n = Int32(n, 3) %}{% set m = q %}{% for v in w %}{{ v }}{{ m }}{% end %}{{ [k for k in q] }}")
    assert sorted(found) == ["n", "q", "w"]


def calls(template: str, seen: set[int]) -> list[dict[str, object]]:
    read = read_template(f"%{template}")
    return [
        dict(each.parameters)
        for each in branch_inputs([read], RenderTrace({read.text: seen}), declared_parameters(read))
    ]


def test_a_call_for_each_way() -> None:
    assert calls("{% if defined(a) %}1{% end %}", set()) == [{"a": "__no_value__"}]
    assert calls("{% if defined(a) %}{{ Date(a) }}{% end %}", set()) == [{"a": "2019-01-01"}]
    assert calls("{% if a == 'x' and Int32(b, 1) > 4 %}1{% elif c in ['q'] %}2{% else %}3{% end %}", {3}) == [
        {"a": "x", "b": "5"},
        {"b": "3", "c": "q"},
    ]
    assert calls("{% set k = String(a, 'day') %}{% if k == 'day' %}1{% elif k == 'hour' %}2{% end %}", {1}) == [
        {"a": "hour"}
    ]
    assert calls("{% if Boolean(a, 1) %}1{% else %}2{% end %}", {1}) == [{"a": "0"}]
    assert calls("{% if defined(a) %}{% if not defined(b) or b == 'z' %}1{% else %}2{% end %}{% end %}", set()) != []


def test_ways_that_were_seen_or_contradict_need_no_call() -> None:
    assert calls("{% if defined(a) %}1{% end %}", {1}) == []
    assert calls("{% if a == 'x' %}{% if a == 'y' %}1{% end %}{% end %}", {2}) == []
