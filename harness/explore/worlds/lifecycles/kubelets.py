"""Pods on nodes: kubelets that run and end them, and a controller that evicts them."""

from collections.abc import Iterator
from typing import Any

from harness.explore.worlds import literals, parts, world_fixtures, world_specs
from harness.explore.worlds.oracles import claim_oracles, preparations, states

_EXISTS = {"operator": "Exists", "effect": "NoExecute"}
_TOLERATED: dict[str, dict[str, Any]] = {
    "plain": {},
    "tolerant": {"tolerations": [_EXISTS]},
    "careless": {"tolerations": [{"operator": "Exists"}]},
    "patient": {"tolerations": [{**_EXISTS, "tolerationSeconds": 5}]},
}
"""Pods, and what the requests of their claims add."""
_STAYING = ("tolerant", "careless")


def _evicted(*pods: parts.Part) -> Iterator[parts.Part]:
    """Yield what lets all devices get a NoExecute taint when each pod has one of its own."""
    yield literals.pool(len(pods))
    yield literals.actor(parts.CONTROLLER, parts.EVICTING)
    yield from pods
    when = ", ".join(f"bound {pod.name}" for pod in pods)
    yield literals.does("taint_devices", "pool-worker-0", when=when)


def _wrongly_evicted(state: states.State) -> str | None:
    """Return which pod stays that must go, or goes that may stay; no kubelet removes it."""
    for pod in state.pods:
        name, is_gone = pod["metadata"]["name"], "deletionTimestamp" in pod["metadata"]
        if "nodeName" not in pod["spec"]:
            return f"unbound: {name} is not bound"
        if is_gone == (name in _STAYING):
            what = "is evicted, but tolerates the taint" if is_gone else "is not evicted"
            return f"eviction: {name} {what}"
    return None


def _users(sizes: world_specs.Values) -> Iterator[parts.Part]:
    """Yield the pods of users who each create one, delete it when it runs, and wait until it is
    gone, in several rounds."""
    yield literals.pool(sizes["devices"])
    yield literals.there(world_fixtures.template())
    yield literals.CONTROLLER
    yield literals.actor(parts.KUBELETS)
    for user in range(1, sizes["users"] + 1):
        when = parts.ANY_TIME
        for turn in range(1, sizes["rounds"] + 1):
            name = f"pod-{user}-{turn}"
            yield literals.pod_of_template(name, when=when)
            yield literals.does("delete_pod", name, when=f"running {name}")
            when = f"gone {name}"


def _left(state: states.State) -> str | None:
    names = ", ".join(pod["metadata"]["name"] for pod in state.pods)
    return f"stuck: {names} not done" if names else None


def _forced(kubelets: parts.Part) -> Iterator[parts.Part]:
    """Yield two pods with the same device, one after the other, and the kubelet of their node.

    The first one is deleted by force as soon as it runs. Then its claim loses the device, and that
    of the second pod gets it, as claim controller and scheduler would have it.
    """
    yield from literals.claims(2)
    for number in (1, 2):
        yield literals.there(world_fixtures.pod(f"pod-{number}", f"claim-{number}"))
    yield kubelets
    yield literals.does("reserve_claim", "claim-1 pod-1")
    yield literals.does("bind_pod", "pod-1", when="allocated claim-1")
    yield literals.does("kill_pod", "pod-1", when="running pod-1")
    yield literals.does("free_claim", "claim-1", when="gone pod-1")
    yield literals.does("reserve_claim", "claim-2 pod-2", when="freed claim-1")
    yield literals.does("bind_pod", "pod-2", when="allocated claim-2")


def _not_running(state: states.State) -> str | None:
    """Return whether the second pod does not run in the end."""
    phases = {pod["metadata"]["name"]: pod.get("status", {}).get("phase") for pod in state.pods}
    return None if phases.get("pod-2") == "Running" else "stuck: pod-2 does not run"


_PREPARED: tuple[world_specs.MakeOracle, ...] = (
    claim_oracles.DeviceExclusivity,
    preparations.Preparations,
)

WORLDS: dict[str, world_specs.WorldSpec] = {
    "two-users-one-device": literals.spec(
        "two users create, run and delete pods in turn, with claim controller and kubelet",
        _users,
        oracles=world_specs.CONTROLLED,
        at_rest=(_left,),
        devices=(1, 1),
        users=(2, 1),
        rounds=(2, 1),
    ),
    "taint-evictions": literals.spec(
        "all devices get a NoExecute taint that some of their pods tolerate",
        [
            *(
                literals.there(world_fixtures.claim(name, **added))
                for name, added in _TOLERATED.items()
            ),
            *_evicted(*(literals.pod(name, name) for name in _TOLERATED)),
        ],
        oracles=world_specs.CONTROLLED,
        at_rest=(_wrongly_evicted,),
    ),
    # Only the status of the second pod names its claim.
    "extended-evictions": literals.spec(
        "devices of an extended resource get a NoExecute taint",
        [
            literals.there(world_fixtures.claim("plain")),
            *_evicted(literals.pod("plain", "plain"), literals.pod("extended")),
        ],
        oracles=world_specs.CONTROLLED,
        at_rest=(_wrongly_evicted,),
    ),
    "forced-deletion": literals.spec(
        "a pod is deleted by force and runs on, while another claim gets its device",
        _forced(literals.actor(parts.KUBELETS)),
        oracles=_PREPARED,
        at_rest=(_not_running,),
        has_scheduler=False,
    ),
    "forced-deletion-unguarded": literals.spec(
        "kubernetes#141471: the same with a driver that does not refuse a device in use",
        _forced(literals.actor(parts.KUBELETS, parts.UNGUARDED)),
        oracles=_PREPARED,
        at_rest=(_not_running,),
        has_scheduler=False,
    ),
}
