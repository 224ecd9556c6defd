"""The objects of a script: created, found, changed, and their states."""

import contextlib
import fnmatch
from collections.abc import Callable, Mapping
from typing import Any

from harness.client import apis, journaling
from harness.model.objects import Object
from harness.run.faulting import injecting
from harness.scenario import script_specs
from harness.traffic import objects


def _pod_has(*phases: str) -> Callable[[Object], bool]:
    return lambda pod: pod.get("status", {}).get("phase") in phases


_STATES: Mapping[str, Callable[[Object], Any]] = {
    "exists": lambda _: True,
    "bound": lambda pod: pod["spec"].get("nodeName"),
    "running": _pod_has("Running"),
    "finished": _pod_has("Succeeded", "Failed"),
    "allocated": lambda claim: claim.get("status", {}).get("allocation"),
    "deallocated": lambda claim: not claim.get("status", {}).get("allocation"),
    "reserved": lambda claim: claim.get("status", {}).get("reservedFor"),
    "unreserved": lambda claim: not claim.get("status", {}).get("reservedFor"),
}


class ScriptObjects:
    """The objects of one script in the namespace of its run."""

    def __init__(self, stage: injecting.Stage) -> None:
        calls = stage.journaled(stage.directory.operations(script_specs.JOURNAL))
        self._journal = journaling.Journal(calls)
        self._api = apis.Api(
            journaling.JournalingTransport(
                stage.connected().transport, self._journal, user=script_specs.JOURNAL
            )
        )
        self._scenario = stage.scenario
        self._namespace, self._run_id = stage.plan.namespace, stage.plan.run_id

    def close(self) -> None:
        self._api.transport.close()
        self._journal.close()

    def create(self, item: script_specs.ScriptObject) -> None:
        resource = apis.BY_PLURAL[item.resource]
        self._api.create(resource, self.manifest(item), namespace=self._namespace)

    def manifest(self, item: script_specs.ScriptObject) -> Object:
        made = self._pod(item) if item.kind == "Pod" else self._claim(item)
        made["spec"] = {**made["spec"], **item.spec}
        return made

    def delete(self, text: str, *, force: bool) -> None:
        resource, name = self.find(text)
        grace_s = 0 if force else None
        self._api.delete(resource, name, namespace=self._namespace, grace_period_s=grace_s)

    def patch(self, text: str, patch: Object, *, subresource: str) -> None:
        resource, name = self.find(text)
        self._api.patch(
            resource, name, patch, namespace=self._namespace, subresource=subresource or None
        )

    def has_state(self, text: str, state: script_specs.State) -> bool:
        found = self._matching(text)
        return not found if state == "gone" else any(map(_STATES[state], found))

    def all(self, resource: apis.Resource) -> list[Object]:
        return list(self._api.list(resource, namespace=self._namespace).items)

    def delete_all(self, resource: apis.Resource) -> None:
        for item in self.all(resource):
            with contextlib.suppress(apis.ApiError):  # it has gone meanwhile
                name = item["metadata"]["name"]
                self._api.delete(resource, name, namespace=self._namespace, grace_period_s=0)

    def find(self, text: str) -> tuple[apis.Resource, str]:
        found = self._matching(text)
        name = found[0]["metadata"]["name"] if found else text.rpartition("/")[2]
        return self._resource_of(text)[0], name

    def _matching(self, text: str) -> list[Object]:
        resource, pattern = self._resource_of(text)
        listed = self._api.list(resource, namespace=self._namespace).items
        return [item for item in listed if fnmatch.fnmatchcase(item["metadata"]["name"], pattern)]

    def _resource_of(self, text: str) -> tuple[apis.Resource, str]:
        if "/" in text:
            plural, _, pattern = text.partition("/")
            return apis.BY_PLURAL[plural], pattern
        traffic = self._scenario.traffic
        assert isinstance(traffic, script_specs.ScriptTraffic)  # noqa: S101 - only scripts are played
        return apis.BY_PLURAL[traffic.object_named(text).resource], text

    # ------------------------------------------------------------------------ manifests

    def _claim(self, item: script_specs.ScriptObject) -> Object:
        kind = self._scenario.claim_kinds[item.claim]
        spec = objects.claim_spec(kind, self._scenario.pools, of=item.name)
        make = objects.claim if item.kind == "ResourceClaim" else objects.template
        return make(item.name, spec, run_id=self._run_id)

    def _pod(self, item: script_specs.ScriptObject) -> Object:
        scheduler = self._scenario.subject.schedulers[item.scheduler].scheduler_name
        use = objects.uses([*item.claims], [*item.templates])
        if item.extended:
            resource = self._scenario.pools.device_class.requested_resource
            use = objects.uses_extended(resource, self._scenario.claim.devices)
        return objects.pod(
            item.name,
            use,
            run_id=self._run_id,
            scheduler=scheduler,
            node_name=item.node,
            runs_s=item.runs_s,
        )
