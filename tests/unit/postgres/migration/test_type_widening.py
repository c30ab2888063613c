"""Which changes of a type keep every value."""

from __future__ import annotations

import pytest

from penstock.postgres.catalog.replicated_table import EnumLabel, ReplicatedType
from penstock.postgres.migration.type_widening import is_widening


def of(name: str, precision: int = -1, scale: int = 0) -> ReplicatedType:
    if name == "numeric" and precision >= 0:
        return ReplicatedType(name, ((precision << 16) | scale) + 4)
    return ReplicatedType(name, precision + 4 if precision >= 0 else -1)


def enum(*labels: str) -> ReplicatedType:
    return ReplicatedType("e", labels=tuple(EnumLabel(at, each) for at, each in enumerate(labels)))


@pytest.mark.parametrize(
    ("before", "after", "wider"),
    [
        (of("integer"), of("bigint"), True),
        (of("bigint"), of("integer"), False),
        (of("integer"), of("numeric", 12, 2), True),
        (of("integer"), of("numeric", 11, 2), False),
        (of("bigint"), of("numeric"), True),
        (of("integer"), of("text"), False),
        (of("real"), of("double precision"), True),
        (of("double precision"), of("real"), False),
        (of("character varying", 9), of("character varying", 10), True),
        (of("character varying", 10), of("character varying", 9), False),
        (of("character varying", 10), of("text"), True),
        (of("text"), of("character varying", 10), False),
        (of("numeric", 10, 2), of("numeric", 12, 2), True),
        (of("numeric", 10, 2), of("numeric", 12, 3), True),
        (of("numeric", 10, 2), of("numeric", 11, 4), False),
        (of("numeric"), of("numeric", 12, 3), False),
        (of("text"), of("jsonb"), False),
        (of("timestamp without time zone"), of("timestamp with time zone"), False),
        (enum("a"), enum("a", "b"), True),
        (enum("a", "b"), enum("a"), False),
        (enum("a"), of("text"), True),
        (of("text"), enum("a"), False),
    ],
)
def test_widening(before: ReplicatedType, after: ReplicatedType, wider: bool) -> None:
    assert is_widening(before, after) is wider
