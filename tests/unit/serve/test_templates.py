"""Parameters of templates over HTTP: how they come in, what OpenAPI says of them, what `custom_error` answers."""

from __future__ import annotations

import json

from starlette.requests import Request
from starlette.testclient import TestClient

from penstock.errors import Location
from penstock.parse.project_loader import load_files
from penstock.serve.calls.openapi import document_of_endpoints
from penstock.serve.http.error_response import error_response
from penstock.serve.http.request_body import BodyBudget, ReceivedBody
from penstock.serve.http.request_parameters import parameter_texts, template_parameters
from penstock.template.declared_parameters import parameters_of
from penstock.template.errors import Declined, TemplateAbort
from penstock.template.render_frame import ListParameter

PIPE = """DESCRIPTION what is most
NODE n
SQL >
    %
    SELECT 1 AS a WHERE 1 = {{ Int32(least, 5, description='At least', enum=[1, 5]) }}
    {% if defined(names) %} AND 'a' IN {{ Array(names, 'String', example='a,b') }} {% end %}
    AND {{ String(user, required=True, format='uuid') }} = '' AND {{ Boolean(all, 1) }} = {{ Float64(f, -0.5) }}
NODE e
SQL SELECT a FROM below, n
TYPE endpoint
"""
BELOW = "NODE n\nSQL >\n    %SELECT {{ Date(day) }} AS a\n"


def test_openapi_lists_the_parameters_of_the_pipe_and_of_what_it_reads() -> None:
    project = load_files({"top.pipe": PIPE, "below.pipe": BELOW}).project
    pipe = project.pipe("top")
    assert pipe is not None
    found = document_of_endpoints([(pipe, parameters_of(project, pipe))])
    operation = json.loads(json.dumps(found))["paths"]["/v0/pipes/top.json"]["get"]
    assert operation["summary"] == "what is most"
    by_name = {each["name"]: each for each in operation["parameters"]}
    assert by_name["least"] == {
        "name": "least",
        "in": "query",
        "required": False,
        "description": "At least",
        "schema": {"type": "integer", "enum": [1, 5], "x-clickhouse-type": "Int32", "default": 5},
    }
    assert by_name["names"]["schema"]["items"] == {"type": "string"}
    assert by_name["names"]["explode"] is False
    assert (by_name["user"]["required"], by_name["user"]["schema"]["format"]) == (True, "uuid")
    assert (by_name["all"]["schema"]["type"], by_name["f"]["schema"]["default"]) == ("boolean", -0.5)
    assert by_name["day"]["required"] is True
    assert "deployment" in by_name


def test_a_list_of_a_json_body_keeps_its_elements_apart() -> None:
    headers = [(b"content-type", b"application/json")]
    request = Request({"type": "http", "method": "POST", "query_string": b"a=z&f=1", "headers": headers, "path": "/"})
    request.state.body = body = ReceivedBody(BodyBudget())
    body.content = b'{"a": ["x,y", 1, null], "b": {"c": 2}, "d": true, "e": null}'
    found = template_parameters(request)
    assert found == {"a": ListParameter('["x,y",1,null]', ("x,y", "1", "null")), "b": '{"c":2}', "d": "true", "f": "1"}
    assert parameter_texts(found)["a"] == '["x,y",1,null]'


def test_the_answer_of_custom_error() -> None:
    stop = TemplateAbort("not so", 404, {"error": "not so", "error_id": 3}, 5)
    answer = error_response(Declined(stop, Location("a.pipe", 1, 6)), "/v0/pipes/a.json")
    body = json.loads(bytes(answer.body))
    assert (answer.status_code, body["error"], body["error_id"], body["code"]) == (404, "not so", 3, "declined")
    assert body["problems"][0]["column"] == 6


def test_what_the_address_gives_reaches_the_endpoint(client: TestClient) -> None:
    answer = client.get("/v0/pipes/top.json?x=1&deployment=live&token=t")
    assert json.loads(answer.json()["data"][0]["parameters"]) == {"x": "1"}
