"""Queries over HTTP: endpoints and SQL.

In: an endpoint's name or a query, and the deployment to read. Out: the result in the requested format. Invariants: a
query is read-only; it reads live unless the call names another deployment; a small answer is sent whole, a large one
as it is rendered (to a caller by HTTP/1.0 with its length, after it was).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from penstock.deploy.queries.answers.answer_formats import EXTENSIONS, AnswerFormat, VersionAnswer, answer_format
from penstock.errors import Location, NotFound, PenstockError, TooLarge, Unavailable
from penstock.model.datasource import Text
from penstock.serve.http.json_web_tokens import rights_for_endpoint, rights_for_sql
from penstock.serve.http.pipeline_host import Continued, PipelineHost
from penstock.serve.http.recorded_call import note_answer, note_parameters
from penstock.serve.http.rendered_response import AnswerBody, rendered_response, response_with_length
from penstock.serve.http.request_parameters import (
    count_parameter,
    deployment_parameter,
    flag_parameter,
    parameter_texts,
    required_parameter,
    template_parameters,
)
from penstock.sql.compile import split_format
from penstock.sql.compiler.translator import LONGEST_SQL
from penstock.template.general_parameters import EXPLAIN, GENERAL_PARAMETERS, QUOTE_DENORMALS

A = TypeVar("A", bound=VersionAnswer)


def query_endpoint(host: PipelineHost, request: Request) -> Response | Continued:
    """`GET/POST /v0/pipes/NAME.json` (csv, ndjson)."""
    pipeline = host.pipeline
    name, _, extension = request.path_params["file"].rpartition(".")
    if extension not in EXTENSIONS:
        hint = f"did you mean `{name or extension}.{next(iter(EXTENSIONS))}`?"
        raise NotFound(f"there is no `{request.path_params['file']}`", hint=hint)
    parameters = template_parameters(request)
    given = {key: value for key, value in parameters.items() if key not in GENERAL_PARAMETERS}
    texts = parameter_texts(parameters)
    ref, form = deployment_parameter(texts), EXTENSIONS[extension]
    quotes = flag_parameter(texts, QUOTE_DENORMALS)
    rights = rights_for_endpoint(request, name)
    note_parameters(request, ref, {**given, **rights.fixed})
    if EXPLAIN in texts and not pipeline.reader.has_parameter(name, EXPLAIN, ref) and flag_parameter(texts, EXPLAIN):
        shown = _run_timed(host, ("explain", ""), lambda: pipeline.reader.explain_endpoint(name, given, ref, rights))
        return _respond(host, request, shown, answer_format(form))
    answer = _run_timed(host, ("endpoint", name), lambda: pipeline.reader.endpoint(name, given, ref, rights))
    note_answer(request, answer)
    return _respond(host, request, answer, answer_format(form, quote_denormals=quotes))


def query_sql(host: PipelineHost, request: Request) -> Response | Continued:
    """`GET/POST /v0/sql?q=…`; a POST may hold the query as its body. With `row_limit`, the answer is cut there, and its
    `rows_before_limit_at_least` says whether there are more."""
    pipeline = host.pipeline
    sent = template_parameters(request, raw="q")
    parameters = parameter_texts(sent)
    given = {key: value for key, value in sent.items() if key not in {*GENERAL_PARAMETERS, *SQL_PARAMETERS}}
    text = _query_text(parameters)
    query, name = split_format(Text(text, Location("query")))
    form = answer_format(name or "JSON", quote_denormals=flag_parameter(parameters, QUOTE_DENORMALS))
    most = count_parameter(parameters, ROW_LIMIT)
    ref, rights = deployment_parameter(parameters), rights_for_sql(request)
    note_parameters(request, ref, {"q": text, **given})
    answer = _run_timed(host, ("sql", ""), lambda: pipeline.reader.sql(query.text, ref, rights, given, most))
    note_answer(request, answer)
    return _respond(host, request, answer, form)


VERSION = "Penstock-Deployment"
"""The header with the number of the version that answered."""
ROW_LIMIT = "row_limit"
SQL_PARAMETERS = frozenset({"q", ROW_LIMIT})
"""The parameters of `/v0/sql`; all others are those of a template."""


def _respond(host: PipelineHost, request: Request, answer: VersionAnswer, form: AnswerFormat) -> Response | Continued:
    body = AnswerBody(form.write(answer), form.media_type, answer.size)
    is_old = request.scope["http_version"] == "1.0"  # nginx asks so, unless `proxy_http_version 1.1` is set
    make = response_with_length if is_old else rendered_response

    def respond() -> Response:
        response = make(body, host.threads.answers, host.answers)
        response.headers.update(_headers(answer))
        return response

    return Continued("answers", respond) if is_old else respond()


def _headers(answer: VersionAnswer) -> dict[str, str]:
    """What is said of an answer beside its rows: the version that gave it, which a caller may ask for the next page."""
    age = {"Age": str(int(answer.age))} if answer.age is not None else {}
    return age | ({VERSION: str(answer.deployment)} if answer.deployment is not None else {})


def _query_text(parameters: Mapping[str, str]) -> str:
    text = required_parameter(parameters, "q")
    if len(text) > LONGEST_SQL:
        raise TooLarge(f"the query has more than {LONGEST_SQL:,} characters", hint="move a part of it into a pipe")
    return text


def _run_timed(host: PipelineHost, asked: tuple[str, str], call: Callable[[], A]) -> A:
    """The answer to a call of a kind, and of an endpoint if it has a name; counted."""
    kind, endpoint = asked
    began = time.monotonic()
    code = "internal"
    try:
        host.require_spark()
        answer = call()
        code = "ok"
        return answer
    except PenstockError as error:
        code = error.code
        raise
    finally:
        host.metrics.queries.labels(kind, code).inc()
        host.metrics.seconds.labels(kind).observe(time.monotonic() - began)
        if endpoint and code not in (NotFound.code, Unavailable.code):  # anybody can make up names
            host.metrics.observe_endpoint(endpoint, code, time.monotonic() - began)
