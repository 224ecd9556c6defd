"""Claims that the controller generates, keeps for pods that run, and frees after others."""

import functools
from collections.abc import Iterator
from typing import Any

from harness.explore.worlds import api_server, literals, parts, world_fixtures, world_specs
from harness.explore.worlds.oracles import claim_oracles, rest_judges

_NODES = ("worker-0", "worker-1")
_TEMPLATE = literals.there(world_fixtures.template())
_spec = functools.partial(literals.spec, oracles=world_specs.CONTROLLED)
_ONE_CLAIM = (literals.pool(), *literals.claims(), literals.CONTROLLER)
_POD = literals.pod("pod-1", "claim-1")
_OTHERS = [world_fixtures.FOREIGN_CONSUMER, world_fixtures.GONE_POD]


# ------------------------------------------------------------------ claims that are generated


def _entries(sizes: world_specs.Values) -> Iterator[parts.Part]:
    yield _TEMPLATE
    yield literals.CONTROLLER
    entries = [f"entry-{number}" for number in range(1, sizes["entries"] + 1)]
    yield literals.pod_of_template("pod-1", entries=entries)


def _annotated(sizes: world_specs.Values) -> Iterator[parts.Part]:
    """Yield pods whose claims come from one template with annotations."""
    template = world_fixtures.template()
    template["spec"]["metadata"] = {"annotations": {"example.com/team": "a"}}
    yield literals.there(template)
    yield literals.CONTROLLER
    for number in range(1, sizes["pods"] + 1):
        yield literals.pod_of_template(f"pod-{number}", entries=[f"entry-{number}"])


_LOST = (
    _TEMPLATE,
    literals.CONTROLLER,
    literals.pod_of_template("pod-1"),
    literals.does("lose_claim", "pod-1", when="recorded pod-1"),
)
"""A generated claim is deleted as soon as the status of its pod names it."""


# ------------------------------------------------------------------ claims that are freed


def _sharing(sizes: world_specs.Values) -> Iterator[parts.Part]:
    yield from _ONE_CLAIM
    yield from literals.pods(sizes["pods"], "claim-1")


def _finishing(sizes: world_specs.Values) -> Iterator[parts.Part]:
    """Yield pods with an extended resource; one waits for the device of the other."""
    yield literals.pool()
    yield literals.CONTROLLER
    for number in range(1, sizes["pods"] + 1):
        name = f"pod-{number}"
        yield literals.pod(name)
        yield literals.does("finish_pod", name, when=f"bound {name}")


def _overtaken() -> Iterator[parts.Part]:
    """Yield what lets a claim be freed unseen although no watch breaks, and no answer is lost.

    The first scheduler's allocation wins, its pod ends, and the claim is freed. The second one has
    the event of that allocation, meets a conflict, reads the free claim and writes its own plan. In
    its assume cache one allocation follows the other: the event between them comes later, and is
    old. Then its next pod needs a device of its node.
    """
    yield from (literals.pool(name=name) for name in _NODES)
    yield from literals.claims(2)
    yield literals.SECOND_SCHEDULER
    yield literals.CONTROLLER
    first: dict[str, Any] = {
        "nodeSelector": {"node": _NODES[0]},
        "scheduler": world_fixtures.OTHER_SCHEDULER,
    }
    yield literals.pod("pod-1", "claim-1", nodeSelector={"node": _NODES[1]})
    yield literals.pod("pod-2", "claim-1", **first)
    yield literals.does("delete_pod", "pod-1", when="bound pod-1")
    yield literals.pod("pod-3", "claim-2", when="bound pod-2", **first)


WORLDS: dict[str, world_specs.WorldSpec] = {
    "one-claim-per-entry": _spec(
        "a controller with two workers generates the claims of a pod; events are late",
        _entries,
        has_scheduler=False,
        faults=["touch-objects"],
        entries=(2, 1),
        faults_max=2,
    ),
    "annotated-template": _spec(
        "two workers generate claims from one template that has annotations",
        _annotated,
        has_scheduler=False,
        pods=(2, 2),
    ),
    "creation-without-answer": _spec(
        "H8: the answer to the creation of a claim is lost, and its event is late",
        _entries,
        has_scheduler=False,
        faults=api_server.LOSSES,
        entries=(1, 1),
    ),
    # The pod must be tried again when its status names the next claim.
    "claim-lost-while-pod-waits": _spec(
        "the generated claim of a waiting pod is deleted, and made again",
        [literals.pool(), *_LOST],
        at_rest=(rest_judges.unbound, rest_judges.differing_books),
        binders=1,
    ),
    "lost-claim-unseen": _spec(
        "H14: a generated claim comes and goes between two lists of the controller",
        [literals.pool(), *_LOST],
        at_rest=(rest_judges.unbound, rest_judges.differing_books),
        faults=["expire-claim-watch"],
        binders=1,
    ),
    # Of several creations of one claim, only one is stored with the remedy for H8. But one that is
    # still under way when that claim is deleted finds its name free again.
    "late-creation": _spec(
        "H17: a creation arrives when the claim of its retry was recorded and deleted",
        _LOST,
        remedies=("derive-claim-names",),
        has_scheduler=False,
        faults=["delay-request"],
    ),
    "pods-not-heard-of": _spec(
        "the controller hears of a claim's reservation before it hears of the pod",
        _sharing,
        pods=(2, 1),
    ),
    "foreign-consumer": _spec(
        "a claim is reserved for a consumer that is no pod, and for a pod that is gone",
        [*_ONE_CLAIM, literals.allocated("claim-1", _OTHERS, when=parts.BEGIN)],
        has_scheduler=False,
    ),
    # If the watch of pods has to list again, the list may come before the pod is there or after it
    # is gone, so that the controller's informer never knows of it and reports no deletion. When the
    # claim's event is handled in between, a live GET finds the pod, and the reservation is kept.
    "pod-unknown-to-informer": _spec(
        "H9: a pod comes and goes between two lists of the controller, which reads it in between",
        [
            *_ONE_CLAIM,
            literals.pod("pod-1", "claim-1", when=parts.ANY_TIME),
            literals.does("reserve_claim", "claim-1 pod-1", when="created pod-1"),
            literals.does("delete_pod", "pod-1", when="allocated claim-1"),
        ],
        at_rest=(rest_judges.left_by_controller,),
        has_scheduler=False,
        faults=["expire-watch"],
    ),
    "finished-extended-pods": _spec(
        "a pod with an extended resource finishes, and the next one waits for its device",
        _finishing,
        pods=(2, 1),
        binders=1,
    ),
    # The controller frees the claim in two writes. The next pod comes between these: the claim has
    # no allocation, but still its finalizer.
    "claim-freed-and-taken": _spec(
        "the next pod takes a claim while the controller is freeing it",
        [
            *_ONE_CLAIM,
            _POD,
            literals.does("delete_pod", "pod-1", when="bound pod-1"),
            literals.pod("pod-2", "claim-1", when="freed claim-1", is_at_once=True),
        ],
        oracles=(*world_specs.CONTROLLED, claim_oracles.AllocationFinalizers),
        binders=1,
    ),
    "finalizer-overlooked": _spec(
        "H20: a claim is deleted as it was before it got its finalizer and an allocation",
        [*_ONE_CLAIM, _POD, literals.does("delete_claim", "claim-1")],
        oracles=(claim_oracles.AllocationFinalizers, *world_specs.CONTROLLED),
        faults=["overlook-finalizers"],
        binders=1,
    ),
    # A watch that has to list again may never show that the claim was allocated.
    "freed-unseen": _spec(
        "a claim is allocated and freed while the watch of claims is broken",
        [
            literals.pool(),
            *literals.claims(2),
            literals.CONTROLLER,
            *literals.pods(2),
            literals.does("delete_pod", "pod-1", when="bound pod-1"),
            literals.does("delete_pod", "pod-2", when="bound pod-2"),
        ],
        faults=["expire-claim-watch"],
        binders=1,
    ),
    "reallocation-overtaken": _spec(
        "H2: a scheduler's write overtakes the events of a claim that was freed",
        _overtaken(),
        at_rest=(rest_judges.differing_books,),
        node_names=_NODES,
        binders=1,
    ),
}
