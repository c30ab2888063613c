"""A templated endpoint with random parameters: status 200 with the texts as they were given, or status 400."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.test_query_limits import token
from penstock.deploy.pipeline import Pipeline
from penstock.serve.http.pipeline_host import PipelineHost

_texts = st.text(st.characters(codec="utf-8"), max_size=20) | st.text("'\\\"`%-/*#{}$\n\0,;1e9", max_size=20)
_known = st.fixed_dictionaries({"raw": _texts}, optional=dict.fromkeys(("s", "a"), _texts))
_any = st.dictionaries(
    st.sampled_from(("raw", "s", "i", "f", "a", "d", "n", "limit", "other")), _texts | st.integers().map(str)
)


def test_random_parameters(host: PipelineHost, pipeline: Pipeline) -> None:
    client = token(host, pipeline, "read:chosen")

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(_known)
    def texts_come_back(parameters: dict[str, str]) -> None:
        answer = client.get("/v0/pipes/chosen.json", params=parameters)
        assert answer.status_code == 200, answer.text
        for row in answer.json()["data"]:
            assert row["s"] == parameters.get("s", "d")
            assert row["a"] == parameters.get("a", "x,y").split(",")

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(_any)
    def others_are_refused(parameters: dict[str, str]) -> None:
        answer = client.get("/v0/pipes/chosen.json", params=parameters)
        assert answer.status_code in (200, 400), answer.text
        if answer.status_code == 400:
            assert answer.json()["problems"][0]["message"]

    texts_come_back()
    others_are_refused()
