"""Templates that try to get out, or never to end: each ends in a fault with a place, soon."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import Location
from penstock.model.datasource import Text
from penstock.template.errors import Fault, TemplateAbort
from penstock.template.render_frame import RenderInput
from penstock.template.rendering import render
from unit.template.helpers import fault

FORBIDDEN = [
    "{{ ().__class__ }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ x.__init__.__globals__ }}",
    "{{ '{0.__class__}'.format(x) }}",
    "{{ '{0.__class__}'.format_map(x) }}",
    "{{ f'{x.__class__}' }}",
    "{{ f'{x!r}' }}",
    "{{ f'{x:>999999999}' }}",
    "{{ __import__('os') }}",
    "{{ __builtins__ }}",
    "{{ open('/etc/passwd') }}",
    "{{ eval('1') }}",
    "{{ exec('1') }}",
    "{{ getattr(x, 'y') }}",
    "{{ globals() }}",
    "{{ type(x) }}",
    "{{ (lambda: 1)() }}",
    "{{ [1][0].real }}",
    "{{ (x := 1) }}",
    "{{ {**x} }}",
    "{{ len(*x) }}",
    "{{ String(**x) }}",
    "{{ {1, 2} }}",
    "{{ {a: 1 for a in x} }}",
    "{{ 2 ** 9 }}",
    "{{ 1 << 9 }}",
    "{{ ~1 }}",
    "{{ b'a' }}",
    "{{ 1j }}",
    "{{ ... }}",
    "{{ x.y }}",
    "{{ x.append(1) }}",
    "{{ x.encode() }}",
    "{{ x.translate({}) }}",
    "{{ print(x) }}",
    "{{ input() }}",
    "{% import os %}",
    "{% from os import path %}",
    "{% include 'a' %}",
    "{% extends 'a' %}",
    "{% module x %}",
    "{% raw x %}",
    "{% apply x %}{% end %}",
    "{% block x %}{% end %}",
    "{% autoescape None %}",
    "{{ x.first }}",
    "{{ loop.parent }}",
    "{{ {x, y} }}",
    "{% set import os %}",
    "{% set x = 1; y = 2 %}",
    "{% set def f(): pass %}",
    "{% set del x %}",
    "{% set global x %}",
    "{% set __builtins__ = 1 %}",
    "{% set x[0].y = 1 %}",
    "{% set raise x %}",
    "{% for __x in y %}{% end %}",
    "{% for x.y in z %}{% end %}",
    "{% for x in y: import os %}{% end %}",
    "{% if x: import os %}{% end %}",
    "{% while True: import os %}{% end %}",
    "{{ (yield x) }}",
    "{{ x) + (__import__('os') }}",
]

BOMBS = [
    "{% while True %}{% end %}",
    "{% while True %}a{% end %}",
    "{% set a = 'aa' %}{% while True %}{% set a = a + a %}{% end %}",
    "{% set a = [1] %}{% while True %}{% set a = a + a %}{% end %}",
    "{% set a = 2 %}{% while True %}{% set a = a * a %}{% end %}",
    "{% set a = [] %}{% while True %}{% set a.append(a) %}{% end %}",
    "{% for a in range(10000000000000000000000) %}{% end %}",
    "{% for a in range(100000) %}{% for b in range(100000) %}{% end %}{% end %}",
    "{{ 'a' * 1000000000 }}",
    "{{ [1] * 1000000000 }}",
    "{{ 1000000000 * 'a' }}",
    "{{ [a for a in range(9999) for b in range(9999) for c in range(9999)] }}",
    "{{ 'ab'.replace('', 'x' * 999999) }}",
    "{{ 'a'.join('x' * 99999).join('y' * 99999) }}",
    "{{ sum(range(999999999)) }}",
    "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "{{ " + "-" * 5000 + "1 }}",
    "{{ " + "[" * 150 + "]" * 150 + " }}",
    "{{ " + "1+" * 5000 + "1 }}",
    "{{ " + "f('" * 2000 + " }}",
    "{{ " + "9" * 5000 + " }}",
    "{{ 1e308 * 10 }}",
    "{{ int('9' * 400) }}",
    "{% if x %}" * 200 + "{% end %}" * 200,
    "{% set a = [] %}{% for i in range(5000) %}{% set a = [a] %}{% end %}{{ a }}",
    "{% set a = [] %}{% for i in range(50000) %}{% set a = [a] %}{% end %}{% set b = [] %}"
    "{% for i in range(50000) %}{% set b = [b] %}{% end %}{% if a == b %}{% end %}",
    "{{ JSON('[' * 100000) }}",
    "{{ date_diff_in_days('a' * 1000, 'b', '%Y' * 100) }}",
]


@pytest.mark.parametrize("template", FORBIDDEN)
def test_what_a_template_cannot_have_is_a_fault_when_it_is_read(template: str) -> None:
    code = fault(f"{{% if 0 %}}{template}{{% end %}}").split()[0]
    assert code in ("template-forbidden", "template-syntax", "unknown-template-function")


@pytest.mark.parametrize("template", BOMBS, ids=range(len(BOMBS)))
def test_what_would_not_end_is_a_fault(template: str) -> None:
    began = time.monotonic()
    found = fault(template, {"x": "1"})
    assert time.monotonic() - began < 5
    assert found.split()[0].startswith(("template-", "invalid-"))


_WORDS = """{{ }} {% %} {# #} if elif else end for in while set break continue x y String(x) Int32(y,1) defined(x) ( )
[ ] { } ' " ` \\ -- /* */ # $ , . : = == + - * / ** % | & ! lambda 1 9 'a' not and or is None True [1,2] JSON(x) é"""
_words = st.sampled_from([*_WORDS.split(), "\n"])
_templates = st.lists(_words | st.text(max_size=3), max_size=30).map(" ".join)


@settings(max_examples=300)
@given(_templates, st.text(max_size=9))
def test_any_text_is_sql_or_a_fault_with_a_place(template: str, value: str) -> None:
    text = Text(f"%{template}", Location("q"))
    for given_here in (RenderInput("call", {"x": value}), RenderInput("check"), RenderInput("deploy")):
        assert 0 <= _offset(text, given_here) <= len(text.text)


def _offset(text: Text, what: RenderInput) -> int:
    try:
        render(text, what)
    except (Fault, TemplateAbort) as found:
        return found.offset
    return 0


def test_a_template_of_very_many_pieces() -> None:
    assert fault("{{ 1 }} " * 5001).startswith("template-limit 1:40002: more than 5,000 expressions")
