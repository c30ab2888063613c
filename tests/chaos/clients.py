"""The clients of a server that is killed: an operator who deploys versions, and readers who ask all the while.

In: a server that goes away and comes back. Out: threads that record what they saw. An operator repeats no call whose
effect is there already: it reads from the server what to do next.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import httpx

from chaos.killable_server import Server
from chaos.project_versions import SUMMARY, marked

PATIENCE = 600.0
"""Seconds for one step of the operator: each kill in it costs a start of Java, on a busy machine half a minute."""

BETWEEN = 0.5
"""Seconds between two questions of a reader. Without a pause two readers take most of two cores, and what
fills a history beside them gets on so slowly that few kills meet it."""

Answer = dict[str, object]


class Worker(threading.Thread):
    """A thread whose failure is told by `finish`."""

    def __init__(self, name: str):
        super().__init__(name=name, daemon=True)
        self.failure: BaseException | None = None
        self.asked_to_stop = threading.Event()

    def run(self) -> None:
        try:
            self.work()
        except BaseException as failure:
            self.failure = failure

    def work(self) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        """Stop and join. Raises what it failed with."""
        self.asked_to_stop.set()
        self.join(120)
        assert not self.is_alive(), f"{self.name} does not end"
        if self.failure is not None:
            raise self.failure


class Reader(Worker):
    """Asks live by SQL or by an endpoint, and looks at each answer: one version, no count that goes back."""

    def __init__(self, server: Server, kind: str):
        super().__init__(f"reader by {kind}")
        self.server, self.kind = server, kind
        self.answers, self.newest = 0, 0
        self.versions: set[int] = set()

    def work(self) -> None:
        while not self.asked_to_stop.is_set():
            answer = self._ask()
            if answer is not None:
                self._look(answer)
            time.sleep(BETWEEN)

    def _ask(self) -> Answer | None:
        """None while the server is away: a connection that is refused or cut, 503 while it starts or stops."""
        try:
            with self.server.client() as client:
                found = self._get(client)
        except (httpx.TransportError, FileNotFoundError):
            return None
        if found.status_code == 503:
            return None
        assert found.status_code == 200, f"{self.name}: {found.status_code} {found.text}"
        row: Answer = found.json()["data"][0]
        return row

    def _get(self, client: httpx.Client) -> httpx.Response:
        if self.kind == "sql":
            return client.get("/v0/sql", params={"q": SUMMARY, "deployment": "live"})
        return client.get("/v0/pipes/summary.json")

    def _look(self, answer: Answer) -> None:
        rows, low, high, user_low, user_high = (
            int(str(answer[each])) for each in ("rows", "low", "high", "user_low", "user_high")
        )
        assert low == high == user_low == user_high, f"{self.name} sees a mix: {answer}"
        assert rows >= self.newest, f"{self.name}: {rows} rows after {self.newest}"
        self.answers, self.newest = self.answers + 1, rows
        self.versions.add(low)


class Operator(Worker):
    """Makes versions 2, 3 … one after the other: deploy, promote, roll back, promote, retire; the last one
    stays beside the version before it."""

    def __init__(self, server: Server, versions: int):
        super().__init__("operator")
        self.server, self.versions = server, versions
        self.steps = 0

    def work(self) -> None:
        for number in range(2, self.versions + 2):
            self._make(number)
            if number <= self.versions:
                self._go(lambda: self._states().get("previous") is None, self._retire)

    def _make(self, number: int) -> None:
        name = f"version {number}"
        self._go(lambda: self._state(name) is not None, lambda: self._deploy(name, number))
        self._go(lambda: self._state(name) in ("ready", "live"), lambda: time.sleep(0.2))
        self._go(lambda: self._state(name) == "live", lambda: self._promote(name))
        self._go(lambda: self._state(name) == "ready", self._rollback)
        self._go(lambda: self._state(name) == "live", lambda: self._promote(name))

    def _go(self, there: Callable[[], bool], call: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not there():
            assert time.monotonic() < deadline, f"{self._states()} after {self.steps} steps"
            if self.asked_to_stop.is_set():
                raise AssertionError("the operator was stopped in the middle")
            call()
        self.steps += 1

    def _deploy(self, name: str, number: int) -> None:
        parts = [("files", (path, text.encode())) for path, text in marked(number).items()]
        self._post("/v1/deploy", {"auto_promote": "false", "name": name}, parts)

    def _promote(self, name: str) -> None:
        self._post(f"/v1/deployments/{self._ids()[name]}/set-live")

    def _rollback(self) -> None:
        self._post("/v1/deployments/rollback")

    def _retire(self) -> None:
        self._post("/v1/deployments/previous/retire")

    def _post(self, path: str, params: dict[str, str] | None = None, files: object = None) -> None:
        """Once: whether it had an effect, the server says. A refusal because of lag is tried again."""
        try:
            with self.server.client() as client:
                answer = client.post(path, params=params, files=files)  # type: ignore[arg-type]
        except (httpx.TransportError, FileNotFoundError):
            time.sleep(0.1)
            return
        assert answer.status_code in (200, 201, 202, 404, 409, 503), f"{path}: {answer.status_code} {answer.text}"

    def _listed(self) -> list[dict[str, object]]:
        answer = self.server.insist(lambda client: client.get("/v1/deployments"))
        assert answer.status_code == 200, answer.text
        found: list[dict[str, object]] = answer.json()["deployments"]
        return found

    def _state(self, name: str) -> str | None:
        state = next((str(each["state"]) for each in self._listed() if each["name"] == name), None)
        assert state not in ("failed", "discarded"), f"{name} is {state}"
        return state

    def _states(self) -> dict[str, object]:
        """By state, the newest deployment in it."""
        return {str(each["state"]): each["id"] for each in reversed(self._listed())}

    def _ids(self) -> dict[str, object]:
        return {str(each["name"]): each["id"] for each in self._listed()}
