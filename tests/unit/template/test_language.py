"""The syntax of templates: pieces, blocks, variables, loops, and where each fault stands."""

from __future__ import annotations

import pytest

from unit.template.helpers import fault, sql

RENDERED = {
    "SELECT 1": "SELECT 1",
    "a{# gone {{ x }} #}b{% comment gone %}c": "abc",
    "{{!not}} {%!not%} {!x}": "{{not}} {%not%} {!x}",
    "{{{x}}}": "{'p'}",
    "{% if x == 'p' %}A{% elif x %}B{% else %}C{% end %}": "A",
    "{% if x != 'p' %}A{% elif x == 'p' and not y %}B{% else %}C{% end %}": "B",
    "{% if y %}A{% elif 1 > 2 %}B{% else %}C{% end %}": "C",
    "{% for a in ['k', 'l'] %}{{a}}{% end %}": None,
    "{% for a in ['k', 'l'] %}{{a}},{% else %}none{% end %}": "'k','l',none",
    "{% for a, b in [(1, 2), (3, 4)] %}{{a}}+{{b}} {% end %}": "1+2 3+4 ",
    "{% for i in range(9) %}{% if i == 1 %}{% continue %}{% end %}{% if i > 3 %}{% break %}{% end %}{{i}} {% end %}": (
        "0 2 3 "
    ),
    "{% for i in range(9) %}{% if i == 1 %}{% break %}{% end %}{{i}}{% else %}x{% end %}": "0",
    "{% set n = 0 %}{% while n < 3 %}{% set n += 1 %}{{n}} {% else %}end{% end %}": "1 2 3 end",
    "{% set a, b = x, 2 %}{{a}} {{b}}": "'p' 2",
    "{% set d = {'a': 1} %}{% set d['b'] = 2 %}{{d['b']}} {{d.get('c', 5)}}": "2 5",
    "{% set l = [] %}{% set l.append('q') %}{{l}}": "['q']",
    "{{ [v.upper() for v in x.split('-') if v] }}": "['P']",
    "{{ [a + b for a in ['1', '2'] for b in ['3']] }}": "['13','23']",
    "{{ 'a' if x == 'p' else 'b' }} {{ x + 'q' }} {{ f'{x}{1}' }}": "'a' 'pq' 'p1'",
    "{{ (1 +\n 2) * 3 - 4 // 2 % 5 }} {{ 7 / 2 }} {{ -3 }}": "7 3.5 -3",
    "{{ x[0] }} {{ 'abcd'[1:3] }} {{ [1, 2, 3][-1] }}": "'p' 'bc' 3",
    "{{ 1 < 2 <= 2 != 3 }} {{ 'a' in x }} {{ 'a' not in ['a'] }} {{ y is None }}": "true false false true",
    "{{ x or 'z' }} {{ y or 'z' }} {{ len(x) }} {{ max(1, 3) }} {{ sum([1, 2]) }} {{ int('4') }}": "'p' 'z' 1 3 3 4",
    "10-{{ int('-1') }}": "10- -1",
    "{% for a in [1, 2, 3] %}{{a}}{% if not loop.last %}, {% end %}{% end %}": "1, 2, 3",
    "{% for a in x %}{% if loop.first %}A{% else %}B{% end %}{{loop.index}}/{{loop.length}} {% end %}": "A1/1 ",
    "{% for a in [1, 2] %}{% for b in [5, 6, 7] %}{{loop.index0}} {% end %}|{{loop.revindex}} {% end %}": (
        "0 1 2 |2 0 1 2 |1 "
    ),
    "{% for a in [1, 2] %}{{ 0 if loop.last else 1 }} {% if loop.first %}{% continue %}{% end %}.{% end %}": ("1 0 ."),
    "{% if defined({{String(x)}}) %}A{% end %}{% set z = {{String(x)}} %}{{z}}": "A'p'",
    "{{ true }} {{ false }} {% if true and not false %}A{% end %} {{ String(x, required=true) }}": "true false A 'p'",
    "{% set true = 5 %}{{ true }}": "5",
    "{% whitespace all %}a": "a",
    "{% try %}{{int(x)}}{% except %}none{% end %}": "none",
    "{% try %}a {{int('1')}}{% except ValueError as e %}none{% else %} else{% finally %} end{% end %}": "a 1 else end",
    "{% try %}{{error('no')}}{% except Exception as e %}{{e}}{% end %}": "'no'",
    "{% try %}{% for a in [1, 2] %}{{a}} {{int(x)}}{% end %}{% except %}{% end %}b": "1 b",
    "{{Array(y, 'k,l')}} {{Array(y, default='m')}} {{Array(y, 'Int8', '1,2')}} {{Array(y, ['n'])}}": (
        "['k','l'] ['m'] [1,2] ['n']"
    ),
    "{{Array(x, 'LowCardinality(String)')}} {{Array(x, 'UUID')}} {{Array(x, 'k,l')}}": "['p'] ['p'] ['p']",
}


@pytest.mark.parametrize("template", RENDERED)
def test_what_becomes_of_it(template: str) -> None:
    if RENDERED[template] is None:
        assert fault(template, {"x": "p"}).startswith("template-quotes")  # 'k''l' would be one text
    else:
        assert sql(template, {"x": "p"}) == RENDERED[template]


FAULTS = {
    "{{ loop.last }}": "template-syntax 1:5: `loop.last` outside of a loop (it belongs to a `for`)",
    "{% for a in x %}{% end %}{{ loop.last }}": (
        "template-syntax 1:30: `loop.last` outside of a loop (it belongs to a `for`)"
    ),
    "{% try %}{% else %}{% end %}": "template-syntax 1:11: `{% else %}` stands in the wrong place",
    "{% try %}{% finally %}{% except %}{% end %}": ("template-syntax 1:24: `{% except %}` stands in the wrong place"),
    "{% try %}{{int(x)}}{% finally %}{% end %}": "invalid-parameter 1:13: `int`: 'p' is no number",
    "{{Array(y, 'UUID')}}": "missing-parameter 1:4: the parameter `y` is missing",
    "{{ x": "template-syntax 1:2: `{{` is not closed (write `}}` at its end)",
    "\n  {% if x %}": "template-syntax 2:3: `{% if %}` is not closed (write `{% end %}` at its end)",
    "{% end %}": "template-syntax 1:2: `{% end %}` without a block (remove it)",
    "{% endif %}": "template-syntax 1:2: unknown statement `endif` (blocks end with `{% end %}`)",
    "{% fi x %}": "template-syntax 1:2: unknown statement `fi` "
    "(available: break, comment, continue, elif, else, end, except, finally, for, if, …)",
    "{% else %}": "template-syntax 1:2: `{% else %}` stands alone (it belongs to an `{% if %}`)",
    "{% if 1 %}{% else %}{% else %}{% end %}": (
        "template-syntax 1:22: `{% else %}` stands alone (it belongs to an `{% if %}`)"
    ),
    "{% break %}": "template-syntax 1:2: `{% break %}` outside of a loop (remove it)",
    "{{ }}": "template-syntax 1:2: an empty expression (write something between the braces)",
    "é\n{{ 'ü' + 1 +  }}": "template-syntax 2:4: invalid expression in `'ü' + 1 +`: invalid syntax",
    "{{ Date(from, '2024-01-01') }}": "template-syntax 1:10: invalid expression in `Date(from, '2024-01-01')`: "
    "`from` is a word of the language of templates, so no parameter can have that name",
    "{% if defined(in) %}{% end %}": "template-syntax 1:16: invalid expression in `defined(in)`: "
    "`in` is a word of the language of templates, so no parameter can have that name",
    "{{ class }}": "template-syntax 1:5: invalid expression in `class`: "
    "`class` is a word of the language of templates, so no parameter can have that name",
    "é\n  {{ 'ü' + strr(1) }}": "unknown-template-function 2:12: unknown function `strr` (did you mean `str`?)",
    "{{ Strng(x) }}": "unknown-template-function 1:5: unknown function `Strng` (did you mean `String`?)",
    "{{ x.spilt(',') }}": "unknown-template-function 1:5: unknown method `.spilt` (did you mean `split`?)",
    "{{ Int32(x, 1, descripton='a') }}": (
        "template-call 1:5: `Int32` has no argument `descripton` (did you mean `description`?)"
    ),
    "{{ Int32() }}": "template-call 1:5: `Int32` needs the argument `x`",
    "{{ len(1, 2) }}": "template-call 1:5: `len` takes at most 1 arguments, 2 are given",
    "{{ z }}": "missing-parameter 1:2: `z` has no value (give it a type and a default: `String(x, '')`)",
    "{% if z > 3 %}{% end %}": "template-type 1:8: `>` cannot compare no value with a number "
    "(give the parameter a type and a default: `Int32(x, 0)`)",
    "{{ 'a' + 1 }}": (
        "template-type 1:5: `+` cannot be applied to a text and a number (convert one of them: `int(x)`, `str(x)`)"
    ),
    "{{ {'a': 1} }}": "template-type 1:2: `{'a': 1}` cannot be written into SQL: it is an object",
    "{{ 1 / 0 }}": "template-value 1:5: division by zero",
    "{% if defined({x, y}) %}{% end %}": "template-forbidden 1:16: a template cannot have sets "
    "(write `{% set x = String(y) %}`, without `{{ }}` inside)",
    "{% set x.y = 1 %}": "template-forbidden 1:9: only variables can be set (write `{% set name = value %}`)",
}


@pytest.mark.parametrize("template", FAULTS)
def test_each_fault_has_its_place(template: str) -> None:
    assert fault(template, {"x": "p"}) == FAULTS[template]
