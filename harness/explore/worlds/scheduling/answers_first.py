"""Answers come before the events of what they answer, so that only other claims' traffic can hurt.

This separates the two variants of root cause A of kubernetes#136269. In the first, the event of a
write arrives before its answer. In the second, a binding thread meets the informer's thread, which
is delivering the event of a claim that has nothing to do with the binding.
"""

from collections.abc import Iterable

from harness.explore.worlds import world_fixtures, world_specs
from harness.explore.worlds.scheduling import competing_pods
from harness.model.objects import Object

UNRELATED = "unrelated-claim"
FINALIZER = "resource.kubernetes.io/delete-protection"


class AnswersFirst(competing_pods.CompetingPods):
    """Pods that compete for devices, while another client changes a claim that no pod uses.

    The claims have the finalizer already, so that a binding writes its claim once: no event of the
    same claim can be on its way. With more than two pods, the claims of the others are unrelated
    traffic as well.
    """

    def objects(self) -> Iterable[Object]:
        """Return a node with devices, the claims, and one that no pod uses."""
        for document in super().objects():
            if document["kind"] == "ResourceClaim":
                document["metadata"]["finalizers"] = [FINALIZER]
            yield document
        yield world_fixtures.claim(UNRELATED)

    def go_on(self) -> bool:
        """Have the watches deliver everything, then create the late pods if there are any."""
        return self.server.deliver_all() or self.create_late_pods()


WORLDS: dict[str, world_specs.WorldSpec] = {
    "answers-first": world_specs.spec(
        AnswersFirst,
        "answers come before their events, while another client changes an unrelated claim",
        faults=("touch-others",),
        answers_first=True,
        **competing_pods.sizes(claims=4, devices=4, faults_max=(4, 0)),
    ),
}
