"""The objects of a run: whose they are, and every key of a scenario in the API's words."""

from typing import Any

from harness.scenario import loading, specs
from harness.traffic import objects
from tests.histories import building
from tests.support import accepted_objects, cases

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


def test_pods_with_an_extended_resource_name_no_claim() -> None:
    """Both amounts, as the API demands that they are equal."""
    use = objects.uses_extended("example.com/gpu", 2)
    spec = objects.pod("p", use, run_id="r", scheduler="s")["spec"]
    amounts = {"example.com/gpu": "2"}
    assert spec["containers"][0]["resources"] == {"requests": amounts, "limits": amounts}
    assert "resourceClaims" not in spec


# ------------------------------------------------------------------------ specs of claims

POOLS, FULL = (cases.read(__file__, part) for part in ("pools", "claim"))


def scenario(claim: dict[str, Any], pools: dict[str, Any] = POOLS) -> specs.Scenario:
    plain = loading.load("pod-churn").scenario.model_dump(mode="json")
    return specs.Scenario.model_validate(plain | {"pools": pools, "claim": claim})


def test_every_key_arrives() -> None:
    made = scenario(FULL)
    driver = made.pools.driver
    devices = objects.claim_spec(made.claim, made.pools, of="c")["devices"]
    assert devices["requests"] == cases.read(__file__, "requests")
    assert devices["constraints"] == [
        {"matchAttribute": f"{driver}/numa", "requests": ["gpu", "any/small"]},
        {"distinctAttribute": "other.example/x"},
    ]
    assert devices["config"] == [
        {"opaque": {"driver": driver, "parameters": {"a": "b of c"}}},
    ]


def test_the_api_server_accepts_the_objects_of_every_scenario() -> None:
    shipped = {name: loading.load(name).scenario for name in loading.SHELF.names()}
    for name, found in {**shipped, "every key": scenario(FULL)}.items():
        assert accepted_objects.problems(found) == [], name
