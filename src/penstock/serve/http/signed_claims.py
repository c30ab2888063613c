"""What a signed token says, as a `SignedToken`.

In: the claims of a token whose signature is valid. Out: its scopes, fixed parameters, filters and limit, or
Unauthorized that says why not. Invariant: a limit that its maker meant and that cannot be kept to makes the token
invalid, however it is spelt: none is left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from penstock.errors import Unauthorized
from penstock.model.datasource import SERVICE_PREFIX
from penstock.model.service_sources import SERVICE_NAMESPACES
from penstock.serve.http.access import NAME, TOKEN_NAME
from penstock.state.tokens import ApiToken
from penstock.template.general_parameters import GENERAL_PARAMETERS
from penstock.template.render_frame import ListParameter, Parameter

SCOPES: Mapping[str, str] = {"PIPES:READ": "read", "DATASOURCES:READ": "read", "DATASOURCES:APPEND": "append"}
"""What a signed token may grant, by the name that the format has for it."""
LONGEST_FILTER = 2_000
_OF_A_SCOPE = frozenset(("type", "resource", "fixed_params", "filter"))
_MISPLACED = ("fixed_params", "filter", "resource", "rps")
"""What restricts a scope, or belongs into `limits`: beside them it would restrict nothing."""
_LIMITS = frozenset(("rps",))


@dataclass(frozen=True, slots=True)
class SignedToken(ApiToken):
    """A token that its maker signed."""

    fixed: Mapping[str, Mapping[str, Parameter]] = field(default_factory=dict)
    """The parameters that a call of an endpoint has, whatever it sends, by the endpoint."""
    filters: Mapping[str, str] = field(default_factory=dict)
    """The condition for the rows that may be read, by the data source."""
    calls_a_second: int | None = None
    digest: bytes = b""
    """Tells it from other tokens of the same name."""


@dataclass(frozen=True, slots=True)
class _Grant:
    """One scope of a token."""

    kind: str
    resource: str
    fixed: Mapping[str, Parameter]
    filter: str

    @property
    def limit(self) -> object:
        """What restricts it."""
        return self.fixed or self.filter


def invalid_token(cause: str) -> Unauthorized:
    """The error for a signed token that is not valid."""
    return Unauthorized(f"the signed token is not valid: {cause}", hint="docs/tokens.md says what it has to say")


def read_claims(claims: Mapping[str, object], digest: bytes) -> SignedToken:
    """The token of its claims. Raises Unauthorized."""
    misplaced = next((name for name in _MISPLACED if name in claims), None)
    if misplaced is not None:
        raise invalid_token(f"`{misplaced}` stands beside its scopes, where it restricts nothing")
    listed = claims.get("scopes")
    if not isinstance(listed, list) or not listed:
        raise invalid_token("it has no list of `scopes`")
    grants = [_read_scope(each) for each in listed]
    _check_limits([each for each in grants if each.kind == "read"])
    name = claims.get("name")
    is_name = isinstance(name, str) and TOKEN_NAME.fullmatch(name) is not None
    return SignedToken(
        f"jwt:{name}" if is_name else "jwt",
        tuple(dict.fromkeys(f"{each.kind}:{each.resource}" for each in grants)),
        {each.resource: each.fixed for each in grants if each.fixed},
        {each.resource: each.filter for each in grants if each.filter},
        _read_limit(claims.get("limits")),
        digest,
    )


def _check_limits(reads: Iterable[_Grant]) -> None:
    """Raises Unauthorized if scopes restrict one name in different ways, one of which would be left out."""
    limits: dict[str, object] = {}
    for each in reads:
        before = limits.setdefault(each.resource, each.limit)
        if before != each.limit:
            how = "with limits and without" if not before or not each.limit else "with different limits"
            raise invalid_token(f"it grants `{each.resource}` twice, {how}")


def _read_scope(given: object) -> _Grant:
    if not isinstance(given, dict):
        raise invalid_token("a scope is an object with `type` and `resource`")
    kind, resource = SCOPES.get(str(given.get("type"))), given.get("resource")
    if kind is None:
        raise invalid_token(f"a signed token grants {', '.join(SCOPES)}, not `{str(given.get('type'))[:60]}`")
    if isinstance(resource, str) and _is_record(resource):
        raise invalid_token(f"it grants `{resource[:60]}`: records of the server are not for signed tokens")
    if not isinstance(resource, str) or not NAME.fullmatch(resource):
        raise invalid_token("a scope names one pipe or data source as its `resource`")
    unknown = next((str(key) for key in given if key not in _OF_A_SCOPE), None)
    if unknown is not None:
        raise invalid_token(f"its scope for `{resource}` says `{unknown[:60]}`, which this server cannot keep to")
    if "fixed_params" in given and given["type"] != "PIPES:READ":
        raise invalid_token("only a scope of the type PIPES:READ has fixed parameters")
    if "filter" in given and given["type"] != "DATASOURCES:READ":
        raise invalid_token("only a scope of the type DATASOURCES:READ has a filter")
    fixed = _read_parameters(resource, given["fixed_params"]) if "fixed_params" in given else {}
    return _Grant(kind, resource, fixed, _read_filter(resource, given["filter"]) if "filter" in given else "")


def _is_record(resource: str) -> bool:
    """Whether a name is one of the server's own records, as SQL or as the server itself writes it."""
    return resource.startswith(SERVICE_PREFIX) or (resource.partition(".")[0] in SERVICE_NAMESPACES and "." in resource)


def _read_filter(resource: str, given: object) -> str:
    if not isinstance(given, str) or not given.strip() or len(given) > LONGEST_FILTER:
        raise invalid_token(f"the filter of `{resource}` is no text of 1 to {LONGEST_FILTER:,} characters")
    return given


def _read_parameters(resource: str, given: object) -> Mapping[str, Parameter]:
    if not isinstance(given, dict):
        raise invalid_token(f"the fixed parameters of `{resource}` are no object")
    return {name: _read_parameter(resource, name, value) for name, value in given.items()}


def _read_parameter(resource: str, name: str, value: object) -> Parameter:
    if name in GENERAL_PARAMETERS or not NAME.fullmatch(name):
        raise invalid_token(f"`{name[:60]}` of `{resource}` cannot be fixed: it is no parameter of a template")
    values = [_value_text(each) for each in (value if isinstance(value, list) else [value])]
    texts = tuple(each for each in values if each is not None)
    if not texts or len(texts) < len(values):
        raise invalid_token(f"`{name[:60]}` of `{resource}` cannot be fixed: write a text, a number or a list of them")
    return ListParameter(json.dumps(value), texts) if isinstance(value, list) else texts[0]


def _value_text(value: object) -> str | None:
    """The text of a value as a parameter; None if it is no text and no number."""
    if isinstance(value, bool):
        return str(value).lower()
    is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return str(value) if is_number or isinstance(value, str) else None


def _read_limit(given: object) -> int | None:
    """The calls a second; None if there is no limit."""
    if given is None:
        return None
    if not isinstance(given, dict) or given.keys() != _LIMITS:
        raise invalid_token("its `limits` are no object with `rps` alone")
    limit = given["rps"]
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise invalid_token("its limit `rps` is not a number of at least 1")
    return limit
