"""The claim controller generates claims: exactly one for each entry of a pod."""

from collections.abc import Iterable

from harness.explore.worlds import world_fixtures, world_specs
from harness.explore.worlds.lifecycles import controlled_world
from harness.model.objects import Object

CONTROLLER_FAULTS = ("lose-response", "lose-request", "delay-request")


class GeneratedClaims(controlled_world.ControlledWorld):
    """A pod with several entries, a controller with two workers, and no scheduler.

    Events are late wherever the informers' threads are.
    """

    schedulers_named = ()

    def objects(self) -> Iterable[Object]:
        """Return nothing: no claim is allocated here."""
        return ()

    def begin(self) -> None:
        """Create the pod."""
        pod = world_fixtures.pod_of_template("pod-1")
        entry = pod["spec"]["resourceClaims"][0]
        pod["spec"]["resourceClaims"] = [
            {**entry, "name": f"entry-{number}"} for number in range(1, self.sizes["entries"] + 1)
        ]
        self.create(pod)

    def unfinished(self) -> str | None:
        """Return whether an entry has no claim, or is not recorded with it."""
        return None if self.is_known_to_fail else self.without_claim()


class AnnotatedTemplate(GeneratedClaims):
    """Pods whose claims come from one template with annotations, each for an entry of its own."""

    def new_template(self) -> Object:
        """Return a template that has an annotation."""
        template = super().new_template()
        template["spec"]["metadata"] = {"annotations": {"example.com/team": "a"}}
        return template

    def begin(self) -> None:
        """Create the pods."""
        for number in range(1, self.sizes["pods"] + 1):
            pod = world_fixtures.pod_of_template(f"pod-{number}")
            pod["spec"]["resourceClaims"][0]["name"] = f"entry-{number}"
            self.create(pod)


WORLDS: dict[str, world_specs.WorldSpec] = {
    "one-claim-per-entry": controlled_world.spec(
        GeneratedClaims,
        "a controller with two workers generates the claims of a pod; events are late",
        faults=("touch-objects",),
        entries=(2, 1),
        faults_max=(2, 0),
    ),
    "annotated-template": controlled_world.spec(
        AnnotatedTemplate,
        "two workers generate claims from one template that has annotations",
        pods=(2, 2),
    ),
    "creation-without-answer": controlled_world.spec(
        GeneratedClaims,
        "H8: the answer to the creation of a claim is lost, and its event is late",
        faults=CONTROLLER_FAULTS,
        entries=(1, 1),
        faults_max=(1, 0),
    ),
}
