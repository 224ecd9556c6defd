"""Judges, at rest, that no pod waits that could run, with the search of the check of progress.

That check shares neither code nor ideas with the scheduler. In doubt a pod cannot run, so that it
may wait, as for a device whose driver has yet to make it ready.
"""

from harness.checks.observed import observed_cluster
from harness.checks.progress import stuck_objects, world_states
from harness.explore.worlds import world_fixtures
from harness.explore.worlds.oracles import states
from harness.model.objects import Object

_SETTINGS = {"pools": {"device_class": {"name": world_fixtures.DEVICE_CLASS}}}
"""The part of the settings of a plan that tells of extended resources."""


def unbound(state: states.State) -> str | None:
    """Return which pods are not bound, whatever the reason; None if all are."""
    waiting = [pod["metadata"]["name"] for pod in state.pods if "nodeName" not in pod["spec"]]
    return f"stuck: {', '.join(waiting)} not bound" if waiting else None


def stuck(state: states.State) -> str | None:
    """Return which pod waits although it could run; None: none does."""
    if all("nodeName" in pod["spec"] for pod in state.pods):
        return None
    found = stuck_objects.find_pods(_as_observed(state), _SETTINGS).stuck
    names = (item.involved[0].metadata.name for item in found)
    waiting = {pod["metadata"]["name"] for pod in state.pods if _waits(pod)}
    return next((f"stuck: {name} could run" for name in names if name in waiting), None)


def _waits(pod: Object) -> bool:
    return "nodeName" not in pod["spec"] and "deletionTimestamp" not in pod["metadata"]


def _as_observed(state: states.State) -> world_states.WorldState:
    """Return the state as an observer knows it; of unbound pods, those that a scheduler sees."""
    world = world_states.WorldState()
    world.classes[world_fixtures.DEVICE_CLASS] = observed_cluster.DeviceClassSpec()
    world.nodes = {node["metadata"]["name"]: node["metadata"]["labels"] for node in state.nodes}
    for driver in state.tainted:
        rule = {
            "deviceSelector": {"driver": driver},
            "taint": {"key": "rule", "effect": "NoSchedule"},
        }
        world.taint_rules[driver] = states.observed(rule, observed_cluster.TaintRuleSpec)
    pods = [
        pod
        for pod in state.pods
        if "nodeName" in pod["spec"] or pod["spec"].get("schedulerName") in state.schedulers
    ]
    for resource, documents in (
        (world_states.PODS, pods),
        (world_states.CLAIMS, state.claims),
        (world_states.SLICES, state.slices),
    ):
        for document in documents:
            kind = world_states.TYPES[resource]
            world.note(states.observed(document, kind), 0, is_gone=False)
    return world
