"""Names of tables and consumers in brokers: all can be written, and none is taken for another one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.postgres.delivery.broker_names import KAFKA_NAMES, NATS_NAMES, NameForm, durable_name

ANY = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80)
NAMES = st.one_of(ANY, st.text("a_-.=>* 6é", min_size=1, max_size=6), ANY.map(lambda name: "=" + name.encode().hex()))
FORMS = [(NATS_NAMES, r"[^\s.*>]+"), (KAFKA_NAMES, r"[A-Za-z0-9._-]+")]


@pytest.mark.parametrize(("form", "taken"), FORMS)
@given(name=NAMES)
def test_every_name_can_be_written_and_read(form: NameForm, taken: str, name: str) -> None:
    assert re.fullmatch(taken, form.encode(name))
    assert form.decode(form.encode(name)) == name


@pytest.mark.parametrize(("form", "taken"), FORMS)
@given(part=NAMES)
def test_what_somebody_else_wrote_is_no_name(form: NameForm, taken: str, part: str) -> None:
    found = form.decode(part)
    assert found is None or form.encode(found) == part or not re.fullmatch(taken, part)


@given(one=st.tuples(NAMES, NAMES), other=st.tuples(NAMES, NAMES))
def test_each_reader_has_its_own_consumer_of_a_table(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (durable_name(*one) == durable_name(*other)) == (one == other)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,200}", durable_name(*one))


def test_names_of_before_stay() -> None:
    assert durable_name("penstock", "issue_labels") == "penstock_penstock_issue_labels"
    assert (NATS_NAMES.encode("größe"), KAFKA_NAMES.encode("a.b-c_d")) == ("größe", "a.b-c_d")
    assert durable_name("a_b", "c") != durable_name("a", "b_c")
