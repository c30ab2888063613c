"""What fields say is in the column, or it is said that it is not, at whatever depth it stands."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, RootModel, conint, create_model, field_serializer

from penstock import (
    AggregateFunction,
    ClickHouseCodec,
    ClickHouseDefault,
    ClickHouseType,
    JsonPath,
    Key,
    RenamedFrom,
)
from penstock.api.objects.columns import ModelColumn, columns_of
from penstock.api.objects.field_rules import class_rules


def column(annotation: Any, default: Any = ...) -> ModelColumn:
    (found,) = columns_of(create_model("Row", x=(annotation, default)))
    return found


class Part(BaseModel):
    a: int = Field(alias="AA")
    b: int = 3
    c: Annotated[int, Field(gt=3), RenamedFrom("old")]
    d: Key[str]


class Loop(RootModel[Any]):
    root: list[Loop]


class Parts(RootModel[list[Part]]):
    pass


def test_what_a_model_inside_a_column_says_is_warned_of_at_its_field() -> None:
    wanted = {
        "a": "inside a column JSON rows have `a`, not the alias 'AA'",
        "b": "inside a column a default is not applied to rows that arrive as JSON",
        "c": "Gt(gt=3) is not applied to the rows of a table",
        "d": "Key says nothing inside a column",
    }
    for annotation in (Part, list[Part], Part | None, dict[str, tuple[int, Part]], Parts):
        faults = column(annotation).faults
        assert all(each.is_warning and each.model is Part for each in faults)
        messages = {each.field: each.message for each in faults if "RenamedFrom" not in each.message}
        assert messages == wanted
        assert [each.field for each in faults if "RenamedFrom(name='old') says nothing" in each.message] == ["c"]


@pytest.mark.parametrize(
    "annotation",
    [list[Annotated[int, Field(gt=3)]], Annotated[int, Field(gt=3)] | None, conint(gt=3)],
)
def test_a_rule_of_a_part_is_warned_of_once(annotation: object) -> None:
    (fault,) = column(annotation).faults
    assert fault.is_warning
    assert "gt=3" in fault.message


def test_the_markers_of_a_nullable_column_are_its_own() -> None:
    assert column(Annotated[int, RenamedFrom("old")] | None).faults == ()


def test_a_root_model_is_what_is_in_it() -> None:
    class Numbers(RootModel[list[int]]):
        pass

    assert column(Numbers).text == "`x` Array(Int64)"
    assert column(dict[str, Numbers]).text == "`x` Map(String, Array(Int64))"
    assert column(Loop).faults[0].message == "Loop contains itself: Row > Loop > Loop"


REFUSED = {
    "two columns": Annotated[str, ClickHouseType("String, b String")],
    "two types in brackets": Annotated[str, ClickHouseType("Tuple(a String), b Tuple(c String)")],
    "a type with a default": Annotated[str, ClickHouseType("String DEFAULT 'x'")],
    "brackets that stay open": Annotated[str, ClickHouseType("Array(String")],
    "no type": Annotated[str, ClickHouseType("")],
    "a default and a column": Annotated[int, ClickHouseDefault("1, b String")],
    "a default that stays open": Annotated[int, ClickHouseDefault("f(1")],
    "a codec and a column": Annotated[int, ClickHouseCodec("ZSTD), b String DEFAULT (1")],
    "a former name and more": Annotated[int, RenamedFrom("a`, `b` String DEFAULT `")],
    "a path and more": Annotated[int, JsonPath("$.a`, b String `json:$.b")],
    "an alias and more": Annotated[int, Field(alias="a`b")],
    "two aliases": Annotated[int, Field(validation_alias=AliasChoices("a", "b"))],
    "a function and a column": Annotated[int, AggregateFunction("sum), b Tuple(sum", [int])],
    "a tuple of nothing": tuple[()],
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_be_more_than_one_column_is_refused(case: str) -> None:
    found = column(REFUSED[case])
    assert found.text == ""
    assert [each.is_warning for each in found.faults] == [False]


@pytest.mark.parametrize("text", ["DateTime64(3, 'UTC')", "Enum8('a)' = 1)", "Tuple(`a(` String, b Array(UInt8))"])
def test_a_type_is_taken_as_it_is(text: str) -> None:
    assert column(Annotated[Any, ClickHouseType(text)]).text == f"`x` {text}"


def test_a_default_may_have_commas_in_brackets_and_a_codec_several_parts() -> None:
    found = column(Annotated[int, ClickHouseDefault("f('),', [1, 2])"), ClickHouseCodec("Delta(4), ZSTD(1)")])
    assert found.text == "`x` Int64 DEFAULT f('),', [1, 2]) CODEC(Delta(4), ZSTD(1))"


def test_a_default_is_no_template() -> None:
    assert column(str, "{{x}}").faults[0].message == "two brackets {{ in a column begin a template"


def test_a_name_that_is_no_class_is_said() -> None:
    assert column("Undefined").faults[0].message == "there is no `Undefined`"


def test_what_a_class_does_with_its_values_is_found() -> None:
    class Row(BaseModel):
        model_config = ConfigDict(extra="allow", str_to_lower=True)
        x: int

        @field_serializer("x")
        def shown(self, x: int) -> str:
            return str(x)

    assert class_rules(Row) == ("shown", "extra='allow'", "str_to_lower=True")
    assert class_rules(Part) == ()
