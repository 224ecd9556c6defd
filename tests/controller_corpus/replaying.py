"""Replays a recorded case: a list of requests, waits, restarts and expected states.

After every request the controller may work for a while; waits end early when there is nothing left
to do. The first step that goes otherwise than recorded ends the case.
"""

import json
import lzma
import pathlib
import re
from collections.abc import Callable, Iterator
from typing import Any

from harness.apiserver.storage import watch_cache
from harness.client import apis
from tests.controller_corpus import controller_worlds, namespace_states
from tests.corpus import comparing

Object = dict[str, Any]
Differences = list[str]
CORPUS = pathlib.Path(__file__).with_name("corpus.jsonl.xz")
REFERENCE = re.compile(r"\{\{([^{}]+)\}\}")
CLIENT = "controller-corpus"
"""Field manager of the requests, as recorded."""
SETTLE_S = 0.15
"""Virtual seconds after each request, as when the cases were recorded."""
REST_S = 3.0
"""Virtual seconds in which the controller must come to rest."""
COLLECTOR = "garbage-collector-controller"
PATCH_TYPES = {kind.name.lower(): kind.value for kind in apis.PatchKind}


def cases() -> Iterator[Object]:
    with lzma.open(CORPUS, "rt", encoding="utf-8") as lines:
        yield from (json.loads(namespace_states.without_reasons(line)) for line in lines)


def replay(case: Object, release: str | None) -> Differences:
    """The first differences between a recorded case and a release; none: they agree."""
    collects = COLLECTOR in case.get("needs", ())
    with controller_worlds.running(release, collects=collects) as world:
        return _Replay(world, case).differences()


class _Replay:
    def __init__(self, world: controller_worlds.World, case: Object) -> None:
        self._world, self._case = world, case
        self._namespace = f"cc-{case['group']}"
        self._names = namespace_states.Names(self._namespace)
        self._saved: dict[str, Object] = {}
        labels = case.get("namespaceLabels", {})
        meta = {"name": self._namespace, "labels": labels}
        world.api.create(apis.NAMESPACES, {"kind": "Namespace", "metadata": meta})

    def differences(self) -> Differences:
        return self._steps(self._case["steps"])

    def _steps(self, steps: list[Object]) -> Differences:
        for step in steps:
            found = self._step(step)
            if found:
                return found
        return []

    def _step(self, step: Object) -> Differences:
        match step:
            case {"do": do}:
                return self._do(do, step["status"])
            case {"wait": wait}:
                return self._wait(wait)
            case {"quiet": seconds}:
                return self._watch_writes(seconds, expected=False)
            case {"busy": seconds}:
                return self._watch_writes(seconds, expected=True)
            case {"restart": steps}:
                return self._restart(steps)
            case {"expect": {"flapping": states}}:
                return self._expect_all(states)
            case {"expect": expect}:
                return self._expect(expect)
        raise ValueError(f"expected a known step, got {step}")

    def _do(self, do: Object, status: int) -> Differences:
        path, body = self._filled(do["path"]), self._filled(do.get("body"))
        separator = "&" if "?" in path else "?"
        if do["method"] != "DELETE":
            path += f"{separator}fieldManager={CLIENT}"
        answer = self._world.send(
            do["method"],
            path,
            None if body is None else json.dumps(body).encode(),
            PATCH_TYPES.get(do.get("type", ""), "application/json"),
        )
        document = json.loads(answer.body)
        self._saved[do.get("save", "")] = document
        if document.get("kind") != "Status" and "uid" in document["metadata"]:
            self._names.uid(document["metadata"]["uid"])
        self._world.run_for(SETTLE_S)
        if answer.status == status:
            return []
        return [f"{do['method']} {path}: expected {status}, got {document}"]

    def _wait(self, wait: Object) -> Differences:
        self._world.run_for(wait.get("timeout_s", REST_S))
        answer = self._world.send("GET", self._filled(wait["get"]), None, "application/json")
        if wait["until"] == "gone":
            return [] if answer.status == 404 else [f"{wait['get']}: expected it to be gone"]
        document = json.loads(answer.body)
        return [
            f"{path}: expected {wanted}, got {_at(document, path)}"
            for path, wanted in wait["until"].items()
            if not self._holds(_at(document, path), wanted)
        ]

    def _holds(self, found: Any, wanted: Any) -> bool:
        match wanted:
            case {"len": length}:
                return len(found or []) == length
            case "<present>":
                return found is not None
        return bool(found == self._filled(wanted))

    def _watch_writes(self, seconds: float, *, expected: bool) -> Differences:
        """Compare whether pods or claims are written with what is expected."""
        before = self._versions()
        self._world.run_for(seconds)
        if (self._versions() != before) == expected:
            return []
        return [f"expected {'changes' if expected else 'no change'} within {seconds} s"]

    def _versions(self) -> dict[str, str]:
        return {
            item["metadata"]["uid"]: item["metadata"]["resourceVersion"]
            for resource in (apis.PODS, apis.CLAIMS)
            for item in self._world.api.list(resource, namespace=self._namespace).items
        }

    def _restart(self, steps: list[Object]) -> Differences:
        self._world.kill()
        found = self._steps(steps)
        self._world.start()
        return found

    def _expect(self, expect: Object) -> Differences:
        """Compare the state when the controller has come to rest, and once more later."""
        for seconds in (REST_S, expect.get("hold", 1.0)):
            self._world.run_for(seconds)
            names = self._names.copy()
            state = namespace_states.read(self._world.api, names)
            ignored = tuple(expect.get("ignore", ()))
            found = [
                str(item)
                for item in comparing.differences(expect["state"], state, "")
                if not item.path.removeprefix(".").startswith(ignored)
            ]
            if found:
                return found
        self._names = names
        return []

    def _expect_all(self, states: list[Object]) -> Differences:
        """Look for every state of a controller that never comes to rest."""
        missing = {json.dumps(state, sort_keys=True) for state in states}
        self._world.on_commit(self._state_seen(missing.discard))
        self._world.run_for(REST_S, done=lambda: not missing)
        return [f"expected the state {state}" for state in sorted(missing)]

    def _state_seen(self, seen: Callable[[str], None]) -> Callable[[watch_cache.Commit], None]:
        def listener(_commit: watch_cache.Commit) -> None:
            state = namespace_states.read(self._world.api, self._names.copy())
            seen(json.dumps(state, sort_keys=True))

        return listener

    # ------------------------------------------------------------------------ references

    def _filled(self, value: Any) -> Any:
        if isinstance(value, str):
            return REFERENCE.sub(lambda found: self._referred(found[1]), value)
        if isinstance(value, list):
            return [self._filled(one) for one in value]
        if isinstance(value, dict):
            return {self._filled(key): self._filled(one) for key, one in value.items()}
        return value

    def _referred(self, reference: str) -> str:
        match reference.split(":"):
            case ["ns"]:
                return self._namespace
            case ["obj", saved, path]:
                return str(_at(self._saved[saved], path))
            case ["claim", pod_name, entry_name]:
                pod = self._world.api.get(apis.PODS, pod_name, namespace=self._namespace)
                entries = pod["status"]["resourceClaimStatuses"]
                names = {entry["name"]: entry.get("resourceClaimName") for entry in entries}
                return str(names[entry_name])
        raise ValueError(f"expected a known reference, got {reference}")


def _at(value: Any, path: str) -> Any:
    """The value at a path like `status.phase`, None if there is none."""
    for key in path.split("."):
        if isinstance(value, list):
            value = value[int(key)] if int(key) < len(value) else None
        else:
            value = (value or {}).get(key)
    return value
