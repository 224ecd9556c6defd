"""Answers that are lost, or late events, where the scheduler or the controller has no way back.

Random worlds have found these hazards.
"""

from collections.abc import Iterator

from harness.explore.worlds import api_server, literals, parts, world_fixtures, world_specs
from harness.explore.worlds.oracles import claim_oracles, rest_judges

_POD = "pod-1"


def _one_pod(sizes: world_specs.Values) -> Iterator[parts.Part]:
    """Yield a pod with as many claims as the size says, and a device for each."""
    count = sizes["claims"]
    yield literals.pool(count)
    yield from literals.claims(count)
    yield literals.pod(_POD, *(f"claim-{number}" for number in range(1, count + 1)))


WORLDS: dict[str, world_specs.WorldSpec] = {
    # The write of the second claim gets no answer, so that Unreserve takes back the reservation of
    # the first one by a patch. If the pod is tried again before the event of the patch has come,
    # its first claim still counts as reserved, and the pod is bound without the reservation. The
    # subject assumes the answer of the patch, unlike kube-scheduler: it fails if that is lost too.
    "reservation-taken-back": literals.spec(
        "H10: a reservation is taken back, and the pod is tried again before the event comes",
        _one_pod,
        faults=api_server.LOSSES,
        claims=(2, 1),
        binders=1,
        faults_max=2,
    ),
    # The binding is committed, or will be later: Unreserve takes back the reservation of a pod that
    # is bound.
    "binding-without-answer": literals.spec(
        "H11: the binding of a pod gets no answer, and its reservation is taken back",
        _one_pod,
        faults=[*api_server.LOSSES, api_server.OF_BINDINGS],
        claims=(1, 1),
        binders=1,
    ),
    # The answer to the creation of the claim is lost. PostFilter deletes it in a later attempt,
    # after which the pod waits for an event. The deletion is none that helps: the claim has no
    # devices, and the pod does not name it.
    "left-over-claim": literals.spec(
        "H12: a claim for extended resources is left over, and its deletion retries no pod",
        [literals.pool(), literals.pod(_POD)],
        at_rest=(rest_judges.unbound,),
        faults=api_server.LOSSES,
        binders=1,
        faults_max=2,
    ),
    # The controller knew the pod before its status named the claim. The next list is without the
    # pod, so that its deletion comes with that old state: no claim is synced.
    "pod-last-seen-without-claims": literals.spec(
        "H13: a pod is gone before the controller hears which claims were made for it",
        [
            literals.pool(2),
            literals.there(world_fixtures.template()),
            literals.CONTROLLER,
            literals.pod_of_template(_POD),
            literals.does("delete_pod", _POD, when=f"bound {_POD}"),
        ],
        oracles=world_specs.CONTROLLED,
        at_rest=(rest_judges.left_by_controller,),
        faults=["expire-watch"],
        binders=1,
    ),
    # Binding the pod fails, and so does deleting its claim. If the next attempt does not know that
    # claim yet, it makes another one, and the pod's status names only that. When the pod ends, the
    # first claim is not synced.
    "pod-ended-with-two-claims": literals.spec(
        "H13: a pod ends that has two claims for extended resources and names one",
        [
            literals.pool(2),
            literals.CONTROLLER,
            literals.pod(_POD),
            literals.does("finish_pod", _POD, when=f"bound {_POD}"),
        ],
        oracles=(claim_oracles.Reservations,),
        at_rest=(rest_judges.left_by_controller,),
        faults=["lose-response"],
        binders=1,
        faults_max=2,
    ),
}
