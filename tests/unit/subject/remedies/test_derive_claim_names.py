"""Names of generated claims that a repeated creation hits again; with real threads and a store."""

from typing import Any

import pytest

from harness.client import apis
from harness.subject.claim_control import generating
from harness.subject.objects import claims
from harness.subject.remedies import derive_claim_names
from tests.support import api_objects, controller_worlds, local_servers

Object = dict[str, Any]
REMEDY = ["derive-claim-names"]


def wanted(pod: Object, entry: str = "x") -> Object:
    return generating.ClaimGenerator().generated_claim(pod, entry, api_objects.template(entry))


def names(pod: Object, entry: str = "x") -> list[str]:
    return [*derive_claim_names.names(wanted(pod, entry), pod)]


def test_the_names_depend_on_pod_entry_and_what_is_recorded() -> None:
    pod = api_objects.known_pod("p", templates=["x", "y"])
    other = api_objects.known_pod("p", templates=["x", "y"], uid="another")
    entry = pod["spec"]["resourceClaims"][0]["name"]
    recorded = pod | {
        "status": {"resourceClaimStatuses": [{"name": entry, "resourceClaimName": "p-x-gone5"}]}
    }
    assert names(pod) == names(pod)
    assert len({*names(pod), *names(pod, "y"), *names(other), *names(recorded)}) == (
        4 * derive_claim_names.TRIES_MAX
    )
    assert all(name.startswith("p-x-") and len(name) == len("p-x-") + 5 for name in names(pod))


@pytest.mark.parametrize("lost", [1, 3])
def test_a_creation_without_answer_makes_no_second_claim(
    server: local_servers.LocalServer, lost: int
) -> None:
    with controller_worlds.running(server, remedies=REMEDY) as world:
        world.put(apis.CLAIM_TEMPLATES, api_objects.template("x"))
        pod = world.put(apis.PODS, api_objects.pod("p", templates=["x"]))
        world.server.hold_watches("resourceclaims")
        world.server.lose_answer("POST", "/resourceclaims", times=lost)
        world.start()
        recorded = world.wait_recorded()
        assert [item["metadata"]["name"] for item in world.claims()] == [recorded["x"]]
        assert recorded["x"] == names(pod)[0]


def test_a_claim_of_another_owner_is_left_alone(server: local_servers.LocalServer) -> None:
    with controller_worlds.running(server, remedies=REMEDY) as world:
        world.put(apis.CLAIM_TEMPLATES, api_objects.template("x"))
        pod = world.put(apis.PODS, api_objects.pod("p", templates=["x"]))
        first, second, *_ = names(pod)
        world.put(apis.CLAIMS, api_objects.claim(first))
        world.start()
        assert world.wait_recorded() == {"x": second}
        claim = world.claim(second)
        assert claim is not None
        assert claims.is_for(claim, pod)


def test_a_pod_for_which_every_name_is_taken_is_told(server: local_servers.LocalServer) -> None:
    with controller_worlds.running(server, remedies=REMEDY) as world:
        world.put(apis.CLAIM_TEMPLATES, api_objects.template("x"))
        pod = world.put(apis.PODS, api_objects.pod("p", templates=["x"]))
        for name in names(pod):
            world.put(apis.CLAIMS, api_objects.claim(name))
        world.start()
        world.wait(world.events, "an event")
        assert "every name is taken" in world.events()[0]["message"]
        assert claims.recorded_names(world.pod()) == {}
