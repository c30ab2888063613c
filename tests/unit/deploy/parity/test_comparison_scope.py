from __future__ import annotations

import pytest

from penstock.deploy.parity.comparison_scope import ComparisonScope
from penstock.errors import InvalidRequest

SCOPE = ComparisonScope(declared=("sales", "hits.at", "top.n"))


def test_a_table_or_one_of_its_columns_may_differ() -> None:
    assert SCOPE.declares(["sales"])
    assert SCOPE.declares(["old_name", "sales"])
    assert not SCOPE.declares(["hits"])
    assert SCOPE.columns(["hits"]) == {"at"}
    assert SCOPE.columns(["sales"]) == frozenset()


def test_a_name_that_nobody_has_is_an_error() -> None:
    SCOPE.check_names(["sales", "hits", "top"])
    with pytest.raises(InvalidRequest, match=r"`top\.n`") as refused:
        SCOPE.check_names(["sales", "hits", "to_p"])
    assert refused.value.problems[0].hint is not None
