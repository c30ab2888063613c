"""When a call is made again, and how long it waits before.

In: errors of calls. Out: tenacity's loops, with and without asyncio, by one policy. Invariant: nothing is tried again
after the deadline, and a wait that the server asks for is never cut short.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tenacity import AsyncRetrying, RetryCallState, Retrying, retry_if_exception, stop_before_delay
from tenacity.wait import wait_base, wait_exponential_jitter

from penstock.client.client_error import ClientError

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
LEAST_SECONDS = 1.0
"""A further attempt has this long, however near the deadline is."""


@dataclass(slots=True)
class Deadline:
    """The moment after which nothing is tried again, for the attempts of one call."""

    at: float
    attempts: int = 0
    maybe_stored: bool = False
    """Whether an attempt was sent, and nobody knows what became of it."""

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds)

    def next_attempt(self, seconds: float) -> float:
        """The seconds that the next attempt may be silent: the first as long as is given, later ones until then."""
        self.attempts += 1
        return seconds if self.attempts == 1 else min(seconds, max(LEAST_SECONDS, self.at - time.monotonic()))

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """An attempt to store something. Its error says so if it, or one before it, may have stored it."""
        try:
            yield
        except ClientError as error:
            self.maybe_stored = error.maybe_stored = self.maybe_stored or error.maybe_stored
            raise


class _Pause(wait_base):
    """What the server asks for, or longer and longer."""

    def __call__(self, retry_state: RetryCallState) -> float:
        failure = retry_state.outcome.exception() if retry_state.outcome is not None else None
        asked = failure.retry_after if isinstance(failure, ClientError) else None
        return max(asked or 0.0, _longer(retry_state))


_longer = wait_exponential_jitter(initial=FIRST_PAUSE, max=LONGEST_PAUSE, jitter=FIRST_PAUSE)


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, ClientError) and error.may_pass


def retry_loop(seconds: float) -> Retrying:
    """The loop of calls that block."""
    return Retrying(retry=retry_if_exception(_may_pass), wait=_Pause(), stop=stop_before_delay(seconds), reraise=True)


def async_retry_loop(seconds: float) -> AsyncRetrying:
    """The same of calls that are awaited."""
    return AsyncRetrying(
        retry=retry_if_exception(_may_pass), wait=_Pause(), stop=stop_before_delay(seconds), reraise=True
    )
