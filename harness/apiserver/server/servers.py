"""The state that all connections of one API server share: store, watches, limits, group commit.

There is one thread and one event loop. `GroupCommit` sends a response once its commits are written.
"""

import asyncio
import dataclasses
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import msgspec

from harness.apiserver import persistence
from harness.apiserver.endpoints import handlers
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.server import audit_log, http_messages
from harness.apiserver.storage import watch_cache
from harness.faults import injection, stale_reads

if TYPE_CHECKING:
    from harness.apiserver.server import connections, watch_streams

Show = Callable[[], None]


class GroupCommit:
    """The responses and events of the current loop iteration."""

    def __init__(self, settle: Callable[[], bool], events_first: Callable[[], bool]) -> None:
        """`settle` writes the commits and returns whether it could; `events_first` is the coin."""
        self._settle, self._events_first = settle, events_first
        self._answers: list[Show] = []
        self._events: list[Show] = []
        self._has_waited = False
        """True if some of the events are from the iteration before."""
        self._is_ending = False
        """True if the end of the iteration is scheduled."""
        self.is_settled = False
        """True if all commits are written and responses and events are being sent."""
        self._loop = asyncio.get_running_loop()

    def show_answer(self, show: Show) -> None:
        """Call `show`, which sends responses, after the commits are written."""
        self._answers.append(show)
        self.end_soon()

    def show_events(self, show: Show) -> None:
        """Call `show`, which sends events, after the commits are written, in either order."""
        self._events.append(show)
        self.end_soon()

    def end_soon(self) -> None:
        """Write the commits after all requests of this iteration, even with nothing to send."""
        if not self._is_ending:
            self._is_ending = True
            self._loop.call_soon(self._end)

    def _end(self) -> None:
        self._is_ending = False
        if not self._settle():
            return
        self.is_settled = True
        try:
            self._show()
        finally:
            self.is_settled = False

    def _show(self) -> None:
        answers, self._answers = self._answers, []
        has_events_first = bool(self._events) and self._events_first()
        if has_events_first:
            self._show_events()
        for show in answers:
            show()
        if has_events_first:
            return
        if self._has_waited or not answers:
            self._show_events()
        elif self._events:
            self._has_waited = self._is_ending = True
            # Not before the end of the next iteration, after the requests that it reads.
            self._loop.call_soon(self._loop.call_soon, self._end)

    def _show_events(self) -> None:
        events, self._events, self._has_waited = self._events, [], False
        for show in events:
            show()


GARBAGE_DELAY_S = 0.25
"""Least age at which garbage is collected; at most twice that, so that clients can see it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits besides those on the size of a request, which are in `http_messages`."""

    watch_unread_bytes_max: int = 32 * 1024 * 1024
    """Maximum unread bytes of one watch; its connection is dropped when exceeded."""
    roles_late_s: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Time after its start in which the server answers 403 to everyone, as kube-apiserver does
    until its authorizer has read the roles."""


class Server:
    """The state that all connections of one API server share."""

    def __init__(
        self,
        store: stores.Store,
        *,
        token: str,
        now: Callable[[], str],
        coin: random.Random,
        journal: persistence.Journal | None = None,
        audit: audit_log.AuditLog | None = None,
        faults: injection.Faults | None = None,
        limits: Limits = Limits(),
        on_failure: Callable[[OSError], None] = lambda _: None,
    ) -> None:
        """Without `faults` the fault API is not served.

        `on_failure` is called once if the journal or audit log cannot be written; no response is
        sent after that.
        """
        self.store = store
        self.now = now
        self.handler = handlers.Handler(store, now=now)
        self.overlooking_handler = handlers.Handler(store, now=now, overlooks_finalizers=True)
        """Handles deletions that a fault hits."""
        self.token = token.encode()
        self.turn = GroupCommit(self._settle, lambda: coin.random() < 0.5)
        self.limits, self.audit, self._journal = limits, audit, journal
        self.serves_faults, self._on_failure = faults is not None, on_failure
        self.framer = http_messages.EventFramer()
        self._loop = asyncio.get_running_loop()
        self.faults = faults or injection.Faults(call_later=self._loop.call_later)
        self._roles_known_s = self._loop.time() + limits.roles_late_s
        self._is_controlling = False
        """True while the garbage collector works."""
        self._watches: dict[resources.ResourceType, set[watch_streams.Watch]] = {}
        self._connections: set[connections.Connection] = set()
        self._is_collecting = False
        self._has_failed = False
        self._gone = asyncio.Event()
        self.version_times = stale_reads.VersionTimes(self._loop.time)
        self.version_times.note(store.resource_version)
        store.listen(self._on_commit)
        self.collect_garbage()  # a recovered store may have some

    @property
    def knows_roles(self) -> bool:
        """True if the server can tell what users may do."""
        return self._loop.time() >= self._roles_known_s

    # -------------------------------------------------------------- connections

    def admit(self, client: "connections.Connection") -> None:
        self._connections.add(client)

    def leave(self, client: "connections.Connection") -> None:
        """Remove a connection that has ended."""
        self._connections.discard(client)
        if not self._connections:
            self._gone.set()

    async def stop(self, *, timeout_s: float) -> None:
        """Finish current requests, end watches, and close connections; abort after the timeout."""
        self.faults.clear()
        self._gone.clear()
        for client in list(self._connections):
            client.finish()
        if self._connections:
            try:
                await asyncio.wait_for(self._gone.wait(), timeout_s)
            except TimeoutError:
                self.abort_all()

    def abort_all(self) -> None:
        """Close every connection at once."""
        for client in list(self._connections):
            client.abort()

    # -------------------------------------------------------------- watches

    def add_watch(self, watch: "watch_streams.Watch") -> None:
        """Offer every commit of its resource to the watch from now on."""
        self._watches.setdefault(watch.resource_key, set()).add(watch)

    def remove_watch(self, watch: "watch_streams.Watch") -> None:
        """Stop offering commits to the watch."""
        self._watches.get(watch.resource_key, set()).discard(watch)

    # -------------------------------------------------------------- commits

    def collect_garbage(self) -> None:
        """Collect garbage after a delay, in steps, as the controllers of Kubernetes do."""
        if not self._is_collecting:
            self._is_collecting = True
            self._loop.call_later(GARBAGE_DELAY_S, self._collect_step)

    def _collect_step(self) -> None:
        self._is_controlling = True
        try:
            has_worked = self.store.collect_garbage_step()
        finally:
            self._is_controlling = False
        if has_worked:
            self._loop.call_soon(self._collect_step)
            return
        self._is_collecting = self.store.age_garbage()
        if self._is_collecting:
            self._loop.call_later(GARBAGE_DELAY_S, self._collect_step)

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        self.turn.end_soon()
        if self._is_controlling and self.audit is not None:
            self.audit.note_controller(commit)
        for watch in tuple(self._watches.get(commit.resource, ())):  # copied: a fault may end one
            watch.offer(commit)
        self.collect_garbage()

    def _settle(self) -> bool:
        """Write commits and audit events; return False, and stop the server, if that fails."""
        if self.serves_faults:  # only faults look at the past
            self.version_times.note(self.store.resource_version)
        try:
            if self.audit is not None:
                self.audit.settle()
            if self._journal is not None:
                self._journal.settle()
        except OSError as error:
            self.fail(error)
        return not self._has_failed

    def fail(self, error: OSError) -> None:
        """Report, once, that nothing can be written any more, and close every connection."""
        if not self._has_failed:
            self._on_failure(error)
        self._has_failed = True
        self.abort_all()
