"""Decides a recorded case as the scheduler does, inside the test's process."""

import json
from typing import Any

from harness.subject import assembling
from harness.subject.objects import claims
from harness.subject.plugin import scheduling_attempts
from tests.support import lone_schedulers

Object = dict[str, Any]
PREFIX = "fk-case-"
"""Like those of the recording, it comes after `deviceclass.resource.kubernetes.io`."""
NAMESPACE = "case-ns"


class Case:
    """One case in a cluster of its own."""

    def __init__(self, recorded: Object, release: str | None = None) -> None:
        """`release`: that of `--as`; None: the default."""
        self._case = json.loads(json.dumps(recorded).replace("{{p}}", PREFIX))
        self._scheduler = lone_schedulers.LoneScheduler(assembling.parts(release=release))

    def decide(self) -> Object:
        self._create_cluster()
        outcome = {pod["metadata"]["name"]: self._decide_pod(pod) for pod in self._case["pods"]}
        filled = json.dumps({"pods": outcome})
        return json.loads(filled.replace(NAMESPACE, "{{ns}}").replace(PREFIX, "{{p}}"))

    def _create_cluster(self) -> None:
        case, scheduler = self._case, self._scheduler
        for node in case["nodes"]:
            scheduler.add_node(node)
        for obj in case["classes"]:
            scheduler.add_class(obj)
        for obj in case.get("taintRules", ()):
            scheduler.tracker.rules.on_add(_stored(obj), initial=True)
        for obj in case["slices"]:
            scheduler.tracker.on_add(_stored(obj), initial=True)
        for obj in case["claims"]:
            _set_defaults(obj)
            scheduler.cache.on_add(_stored(obj), initial=True)

    def _decide_pod(self, raw: Object) -> Object:
        try:
            attempt, node = self._scheduler.decide(_stored(raw))
        except scheduling_attempts.Unschedulable as reason:
            return {"unschedulable": str(reason)}
        except scheduling_attempts.AttemptError as error:
            return {"unschedulable": str(error), "reason": "SchedulerError"}
        outcome: dict[str, Any] = {"node": node, "claims": lone_schedulers.allocations(attempt)}
        if attempt.mappings:
            outcome["extendedResourceMappings"] = attempt.mappings
        return outcome


def _set_defaults(claim: Object) -> None:
    """Set what the API server sets: the operator of a toleration."""
    for request in claim["spec"]["devices"].get("requests") or ():
        for option in (request.get("exactly") or {}, *(request.get("firstAvailable") or ())):
            for toleration in option.get("tolerations") or ():
                toleration.setdefault("operator", "Equal")


def _stored(obj: Object) -> Object:
    name = obj["metadata"]["name"]
    return claims.with_metadata(
        obj, namespace=NAMESPACE, uid=f"{obj['kind']}-{name}", resourceVersion="1"
    )
