"""Parameters of a call: from the address, a form or a JSON object.

In: a request. Out: checked values. Invariant: a wrong parameter is a 400 that names it and says what it may be.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from urllib.parse import parse_qsl

import orjson
from starlette.requests import Request

from penstock.errors import InvalidRequest, Problem, did_you_mean
from penstock.parse.sql_syntax.integer_parsing import parse_whole_number
from penstock.serve.http.request_body import body_of
from penstock.template.general_parameters import DEPLOYMENT
from penstock.template.render_frame import ListParameter, Parameter

YES, NO = ("true", "1", "yes", "on", ""), ("false", "0", "no", "off")
MOST_BYTES = 2**20
_FORM = re.compile(r"[^\s+=&()'\"*]*(?:[=&]|\Z)")
"""How a form begins: with a name, in which no SQL begins."""


def invalid_request_parameter(name: str, message: str, hint: str | None = None) -> InvalidRequest:
    """The error for a wrong parameter."""
    return InvalidRequest(message, [Problem("invalid-parameter", f"parameter `{name}`: {message}", hint=hint)])


def refuse_unknown_parameters(sent: Iterable[str], known: Collection[str]) -> None:
    """Raises InvalidRequest for a name that a call does not know: with a misspelt one it would do something else than
    what was asked for. The nearest name is in the message, as names of parameters are no secret and hints may be."""
    unknown = next((name for name in sent if name not in known), None)
    if unknown is not None:
        message = f"this call has no parameter `{unknown[:60]}`; {did_you_mean(unknown[:60], known) or 'it takes none'}"
        raise InvalidRequest(message, [Problem("unknown-parameter", message)])


def required_parameter(parameters: Mapping[str, str], name: str) -> str:
    """The value of a parameter. Raises InvalidRequest if it is missing or empty."""
    value = parameters.get(name, "")
    if not value:
        raise invalid_request_parameter(name, f"the parameter `{name}` is missing")
    return value


def flag_parameter(parameters: Mapping[str, str], name: str, default: str = "false") -> bool:
    """A parameter that is true or false. Raises InvalidRequest."""
    value = parameters.get(name, default).lower()
    if value in YES:
        return True
    if value in NO:
        return False
    raise invalid_request_parameter(name, f"`{value}` is neither true nor false")


def count_parameter(parameters: Mapping[str, str], name: str) -> int | None:
    """A parameter that is a number of at least 1; None if it is not given. Raises InvalidRequest."""
    value = parameters.get(name)
    if value is None:
        return None
    number = parse_whole_number(value)
    if number is None or number < 1:
        raise invalid_request_parameter(name, f"`{value[:60]}` is not a number of at least 1")
    return number


def limit_parameter(parameters: Mapping[str, str], usual: int, most: int) -> int:
    """The parameter `limit`: how many of a list are shown, from 0. Raises InvalidRequest."""
    text = parameters.get("limit", str(usual))
    found = parse_whole_number(text)
    if found is None or found > most:
        raise invalid_request_parameter("limit", f"`{text[:60]}` is no number from 0 to {most:,}")
    return found


def deployment_parameter(parameters: Mapping[str, str]) -> str:
    """The deployment that a call is about; live if it names none."""
    return next((parameters[name] for name in DEPLOYMENT if parameters.get(name)), "live")


def all_parameters(request: Request, raw: str | None = None) -> dict[str, str]:
    """All parameters as texts. Raises InvalidRequest."""
    return parameter_texts(template_parameters(request, raw))


def parameter_texts(parameters: Mapping[str, Parameter]) -> dict[str, str]:
    """The parameters as texts; a list as the JSON in which it was sent."""
    return {name: value if isinstance(value, str) else value.json for name, value in parameters.items()}


def template_parameters(request: Request, raw: str | None = None) -> dict[str, Parameter]:
    """The parameters of the address and of the body; those of the body win. A body that is neither form nor JSON
    becomes the parameter `raw`, if that is given; so does a text that curl's `--data` calls a form and whose first
    name is none. Raises InvalidRequest."""
    parameters: dict[str, Parameter] = dict(request.query_params)
    if request.method != "POST":
        return parameters
    body = body_of(request).content
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not body:
        return parameters
    if kind == "application/json":
        return parameters | _json(body)
    text = _text(body)
    if kind == "application/x-www-form-urlencoded" and (raw is None or _FORM.match(text)):
        return parameters | dict(parse_qsl(text, keep_blank_values=True))
    if raw is None:
        raise InvalidRequest("the body is neither a form nor JSON", hint="set Content-Type: application/json")
    return parameters | {raw: text}


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the body is not UTF-8: byte {error.start} is wrong") from error


def _json(body: bytes) -> dict[str, Parameter]:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidRequest("the body is JSON but not an object of parameters")
    return {name: _value(value) for name, value in found.items() if value is not None}


def _value(value: object) -> Parameter:
    """A value of a JSON object; elements of a list stay apart even if they contain commas."""
    if isinstance(value, list):
        return ListParameter(orjson.dumps(value).decode(), tuple(map(_value_text, value)))
    return _value_text(value)


def _value_text(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
