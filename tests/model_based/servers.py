"""The server that is compared with the reference: the store in this process, asked by requests."""

import dataclasses
import datetime
import itertools
import json
import random
from collections.abc import Mapping
from typing import Any

from harness.apiserver.endpoints import handlers, request_info, responses
from harness.apiserver.errors import status_errors
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import selectors, watch_cache

_EPOCH = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
RESOURCES = {"configmaps": resources.CONFIGMAPS, "pods": resources.PODS}
JSON = "application/json"


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """Status and decoded body."""

    status: int
    body: Any


class StoreServer:
    """The store, and what turns requests into calls of it."""

    def __init__(self, history_max: int) -> None:
        self._seconds = itertools.count()
        self.store = stores.Store(now=self._now, stream=random.Random(1), watch_history=history_max)
        self._handler = handlers.Handler(self.store, now=self._now)

    def _now(self) -> str:
        """Advance by a second at each call: a change of nothing may not depend on the time."""
        moment = _EPOCH + datetime.timedelta(seconds=next(self._seconds))
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
    ) -> Answer:
        request = request_info.Request(
            method=method,
            path=path,
            query=dict(query or {}),
            headers={"content-type": content_type, "user-agent": "stateful"},
            body=b"" if body is None else json.dumps(body).encode(),
        )
        try:
            answer = self._handler.answer(request)
        except status_errors.StatusError as error:
            answer = responses.failure(error)
        return Answer(answer.status, json.loads(answer.body))

    def watch(self, kind: str, version: int, selector: tuple[str, str] | None) -> "Watch | Answer":
        """A watch from a version on, or why there is none."""
        watch = Watch(self.store, RESOURCES[kind], version, selector)
        try:
            watch.peek()
        except status_errors.StatusError as error:
            return Answer(error.code, error.to_status())
        return watch

    def compact(self, kind: str) -> None:
        self.store.compact(RESOURCES[kind])


class Watch:
    """Follows the commits from a version on; what was told once is not asked for again."""

    def __init__(
        self,
        store: stores.Store,
        resource: resources.ResourceType,
        version: int,
        selector: tuple[str, str] | None,
    ) -> None:
        self._store, self._resource, self._version = store, resource, version
        label = selectors.label_selector("=".join(selector)) if selector else None
        self._selection = watch_cache.Selection(resource=resource, namespace="default", label=label)

    def peek(self) -> list[watch_cache.Commit]:
        return self._store.commits_after(self._resource, self._version)

    def take(self) -> list[Any]:
        commits = self.peek()
        if commits:
            self._version = commits[-1].object.resource_version
        seen = self._selection.sees_all(commits)
        return [{"type": kind, "object": stored.document()} for kind, stored in seen]
