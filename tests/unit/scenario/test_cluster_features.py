"""Features that scenarios need, by version of Kubernetes, in the profiles of clusters."""

import pytest

from harness import errors
from harness.scenario import cluster_features, loading, profiles, specs
from tests.support import cases


def scenario(name: str, *overrides: str) -> specs.Scenario:
    return loading.load(name, overrides=overrides).scenario


def switches(
    found: specs.Scenario, version: cluster_features.Version
) -> tuple[dict[str, bool], list[str]]:
    return cluster_features.switches(found, version, {}, where="mine", program="a Kubernetes")


def test_tolerations_need_the_gate_of_taints() -> None:
    for requests in (
        '[{ name = "r", tolerations = [{ key = "k" }] }]',
        '[{ name = "r", first_available = [{ name = "x", tolerations = [{ key = "k" }] }] }]',
    ):
        tolerant = scenario("pod-churn", f"claim.requests={requests}")
        assert switches(tolerant, (1, 35))[0] == {"DRADeviceTaints": True}


@pytest.mark.parametrize(("name", "version", "expected"), cases.read(__file__, "gates"))
def test_gates_that_are_off_by_default_are_switched_on(
    name: str, version: list[int], expected: list[str]
) -> None:
    major, minor = version
    assert switches(scenario(name), (major, minor))[0] == dict.fromkeys(expected, True)


def test_rules_are_served_by_the_versions_that_have_them() -> None:
    served = switches(scenario("taints-come-and-go"), (1, 36))[1]
    assert served == ["resource.k8s.io/v1beta2"]
    with pytest.raises(errors.UsageError, match=r"a Kubernetes of 1\.36 or newer .* got 1\.34"):
        switches(scenario("taints-come-and-go"), (1, 34))


def test_a_controller_that_needs_old_rules_to_evict_is_refused() -> None:
    change = "pools.changes=[{ kind = 'taint', effect = 'NoExecute', lasts_s = 0.5 }]"
    evicting = scenario("pod-churn", change)
    with pytest.raises(
        errors.UsageError, match=r"of 1\.35 or newer .* NoExecute taints, got 1\.34"
    ):
        switches(evicting, (1, 34))
    gates = {"DRADeviceTaints": True}
    assert switches(evicting, (1, 35))[0] == gates
    old = cluster_features.switches(evicting, (1, 34), {}, where="x", program="x", evicts=False)
    assert old[0] == gates


@pytest.mark.parametrize("cluster", ["local", "kind"])
def test_a_profile_gets_the_gates_and_keeps_its_own(cluster: str) -> None:
    profile = profiles.load(cluster, overrides=["feature_gates.DRAListTypeAttributes=true"])
    suited = profiles.suited(profile, scenario("taints-come-and-go"), (1, 36))
    assert isinstance(suited, profiles.LocalProfile | profiles.KindProfile)
    assert suited.feature_gates == {"DRAListTypeAttributes": True, "DRADeviceTaintRules": True}
    assert suited.runtime_config == {"resource.k8s.io/v1beta2": "true"}


def test_a_gate_that_is_needed_cannot_be_off() -> None:
    profile = profiles.load("kind-1.36", overrides=["feature_gates.DRAExtendedResource=false"])
    with pytest.raises(errors.UsageError, match="expected DRAExtendedResource to be on in kind-1"):
        profiles.suited(profile, scenario("extended-resources"), (1, 36))
