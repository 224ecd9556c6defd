"""Writes ResourceSlices and DeviceTaintRules, again and again until the API server has them."""

from collections.abc import Callable, Set
from typing import Any

from harness import concurrency
from harness.client import apis, backoffs, transports
from harness.cluster.pool_changes import pool_states
from harness.model import naming
from harness.model.objects import Object

RETRY_S = 0.1
"""Wait before another try while the API server is away or overloaded, in seconds."""


class Interrupted(Exception):  # noqa: N818 - the process is to end, which is no error
    """The writer had to stop before it was done."""


class PoolPublisher:
    """Publishes pools as the only writer of their slices."""

    def __init__(self, api: apis.Api, stopped: concurrency.Event, *, run_id: str) -> None:
        """`stopped` ends all waits; `run_id` labels the rules."""
        self._api, self._stopped, self._run_id = api, stopped, run_id
        self._published: dict[pool_states.PoolKey, Set[str]] = {}
        """Names of the slices by pool, once they were written here."""

    def publish(
        self, state: pool_states.PoolState, *, pause_s: float, new_generation: bool = False
    ) -> None:
        """Write the slices of a pool one after another, then delete those that are left over.

        A pool of several slices, before or after, gets a new generation: until all of its slices
        are written, it is incomplete. Raises Interrupted if it has to stop, and ApiError if the API
        server refuses a slice.
        """
        wanted = state.slices()
        names = {piece["metadata"]["name"] for piece in wanted}
        old = self._published.get(state.key, state.found)
        if new_generation or len(names | old) > 1:
            state.generation += 1
            wanted = state.slices()
        for number, piece in enumerate(wanted):
            if number:
                self._pause(pause_s)
            self._until_done(lambda piece=piece: self._put(apis.SLICES, piece))  # type: ignore[misc]
        for name in sorted(old - names):
            self._until_done(lambda name=name: self._delete(apis.SLICES, name))  # type: ignore[misc]
        self._published[state.key] = names

    def create_rule(self, name: str, spec: Object) -> None:
        """Create a DeviceTaintRule. Raises as `publish` does."""
        rule = {
            "apiVersion": apis.TAINT_RULES.api_version,
            "kind": "DeviceTaintRule",
            "metadata": {"name": name, "labels": {naming.RUN_LABEL: self._run_id}},
            "spec": spec,
        }
        self._until_done(lambda: self._put(apis.TAINT_RULES, rule))

    def delete_rule(self, name: str) -> None:
        """Delete a DeviceTaintRule. Raises as `publish` does."""
        self._until_done(lambda: self._delete(apis.TAINT_RULES, name))

    # ------------------------------------------------------------------- writes

    def _put(self, resource: apis.Resource, wanted: Object) -> None:
        """Create an object, or give it the wanted spec."""
        try:
            known = self._api.get(resource, wanted["metadata"]["name"])
        except apis.ApiError as error:
            if not error.is_not_found:
                raise
            self._api.create(resource, wanted)
            return
        self._api.update(resource, {**known, "spec": wanted["spec"]})

    def _delete(self, resource: apis.Resource, name: str) -> None:
        with apis.if_there():
            self._api.delete(resource, name)

    def _until_done(self, write: Callable[[], Any]) -> None:
        """Repeat a write that may be repeated, until the API server has confirmed it."""
        while True:
            try:
                write()
            except (apis.ApiError, transports.TransportError) as error:
                if not _may_succeed(error):
                    raise
            else:
                return
            self._pause(RETRY_S)

    def _pause(self, seconds: float) -> None:
        if self._stopped.wait(seconds):
            raise Interrupted


def _may_succeed(error: apis.ApiError | transports.TransportError) -> bool:
    if isinstance(error, apis.ApiError) and (error.is_conflict or error.is_already_exists):
        return True
    return backoffs.is_transient(error)
