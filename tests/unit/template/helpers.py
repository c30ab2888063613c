"""Templates rendered in one line, for the tests of templates."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.errors import Location
from penstock.model.datasource import Text
from penstock.template.errors import Fault
from penstock.template.render_frame import Mode, Parameter, RenderInput
from penstock.template.rendering import location_in, render


def sql(template: str, parameters: Mapping[str, Parameter] | None = None, mode: Mode = "call") -> str:
    """What a template becomes; it is given without its `%`."""
    text = Text(f"%{template}", Location("a.pipe"))
    return render(text, RenderInput(mode, parameters or {})).text


def fault(template: str, parameters: Mapping[str, Parameter] | None = None, mode: Mode = "call") -> str:
    """The fault of a template as `code line:column: message (hint)`; the `%` is in column 1."""
    text = Text(f"%{template}", Location("a.pipe"))
    try:
        found = render(text, RenderInput(mode, parameters or {}))
    except Fault as wrong:
        return f"{wrong.code} {str(wrong.problem(location_in(text, wrong.offset))).removeprefix('a.pipe:')}"
    raise AssertionError(f"it became {found.text!r}")
