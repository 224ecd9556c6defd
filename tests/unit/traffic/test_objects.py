"""The objects of a run: schedulers get pods in turn, and with own devices also the claims."""

from typing import Any

from harness.scenario import loading
from harness.traffic import objects
from tests.histories import building

SELECTOR = 'device.attributes["gpu.flake-hunt.example"].index % 2 == '


def _objects(*overrides: str) -> objects.RunObjects:
    scenario = loading.load(
        "two-schedulers",
        overrides=[
            "subject.schedulers=[{kind='python', scheduler_name='one'}, {kind='python', scheduler_name='two'}]",
            *overrides,
        ],
    ).scenario
    plan = building.plan(settings=scenario.model_dump(mode="json"))
    return objects.RunObjects(plan, scenario)


def _selectors(spec: dict[str, Any]) -> list[str]:
    (request,) = spec["devices"]["requests"]
    return [item["cel"]["expression"] for item in request["exactly"].get("selectors", ())]


def _template_of(pod: dict[str, Any]) -> str:
    (entry,) = pod["spec"]["resourceClaims"]
    name: str = entry["resourceClaimTemplateName"]
    return name


def test_schedulers_get_pods_in_turn_and_share_all_devices() -> None:
    made = _objects()
    (template,) = made.templates()
    assert _selectors(template["spec"]["spec"]) == []
    pods = [made.pod(f"p{number}") for number in range(3)]
    assert [pod["spec"]["schedulerName"] for pod in pods] == ["one", "two", "one"]
    assert {_template_of(pod) for pod in pods} == {template["metadata"]["name"]}
    assert made.claim_owner() == ""


def test_own_devices_come_with_a_template_for_each_scheduler() -> None:
    made = _objects("subject.own_devices=true")
    templates = {item["metadata"]["name"]: item["spec"]["spec"] for item in made.templates()}
    for number, scheduler in enumerate(("one", "two")):
        pod = made.pod("p")
        assert pod["spec"]["schedulerName"] == scheduler
        assert _selectors(templates[_template_of(pod)]) == [f"{SELECTOR}{number}"]


def test_all_pods_of_a_claim_with_own_devices_have_its_scheduler() -> None:
    made = _objects("subject.own_devices=true")
    for number, scheduler in enumerate(("one", "two")):
        owner = made.claim_owner()
        pods = [made.pod(name, claim_name="c", owner=owner) for name in ("p", "q")]
        assert {pod["spec"]["schedulerName"] for pod in pods} == {owner} == {scheduler}
        assert _selectors(made.claim("c", owner=owner)["spec"]) == [f"{SELECTOR}{number}"]


def test_a_pod_can_be_bound_by_hand() -> None:
    pod = _objects().pod("p", claim_name="c", node_name="worker-0")
    assert pod["spec"]["nodeName"] == "worker-0"
    assert "nodeName" not in _objects().pod("p")["spec"]


def test_each_claim_of_a_pod_has_a_template_of_its_own() -> None:
    made = _objects("traffic.claims_per_pod=2")
    first, second = (template["metadata"]["name"] for template in made.templates())
    spec = made.pod("p")["spec"]
    entries = [(item["name"], item["resourceClaimTemplateName"]) for item in spec["resourceClaims"]]
    assert entries == [("device", first), ("device-2", second)]
    (container,) = spec["containers"]
    assert container["resources"]["claims"] == [{"name": "device"}, {"name": "device-2"}]


def test_a_pod_can_end_by_itself() -> None:
    """As `pod_completions` of the kubelets reads it."""
    pod = _objects().pod("p", runs_s=0.25)
    assert pod["spec"]["restartPolicy"] == "Never"
    (container,) = pod["spec"]["containers"]
    assert container["command"] == ["sleep", "0.250"]
    (other,) = _objects().pod("p")["spec"]["containers"]
    assert "command" not in other
