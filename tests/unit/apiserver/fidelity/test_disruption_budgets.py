"""Budgets for disruptions, without a store and in one."""

import copy

import pytest

from harness.apiserver.errors import status_errors
from harness.apiserver.fidelity import disruption_budgets
from harness.apiserver.registry import object_deletion
from harness.apiserver.scheme import resources

NOW = "2026-01-02T03:04:05Z"
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def pod(**status):
    return {"metadata": {"name": "p", "labels": {"app": "a"}}, "status": READY | status}


def budget(selector=None, *, name="b", policy=None, **status):
    spec = {"selector": {"matchLabels": {"app": "a"}} if selector is None else selector}
    if policy:
        spec["unhealthyPodEvictionPolicy"] = policy
    full = {"observedGeneration": 1, "disruptionsAllowed": 1, "desiredHealthy": 1} | status
    return {"metadata": {"name": name, "generation": 1}, "spec": spec, "status": full}


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ({"matchLabels": {"app": "a"}}, True),
        ({"matchLabels": {"app": "b"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
        ({}, False),
    ],
)
def test_which_pods_it_is_for(selector, selected):
    found = budget(selector)
    assert disruption_budgets.of(pod(), [found]) == (found if selected else None)


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
def test_pods_that_do_not_run_need_none(phase):
    assert disruption_budgets.of(pod(phase=phase), [budget(), budget()]) is None


def test_pods_that_are_on_their_way_out_need_none():
    leaving = pod()
    leaving["metadata"]["deletionTimestamp"] = NOW
    assert disruption_budgets.of(leaving, [budget()]) is None


def test_two_are_one_too_many():
    with pytest.raises(
        status_errors.StatusError, match="more than one PodDisruptionBudget"
    ) as caught:
        disruption_budgets.of(pod(), [budget(), budget()])
    assert caught.value.code == 500


@pytest.mark.parametrize(
    ("found", "asked"),
    [
        (budget(currentHealthy=0), True),
        (budget(currentHealthy=1), False),
        (budget(currentHealthy=1, desiredHealthy=0), True),
        (budget(currentHealthy=0, policy="AlwaysAllow"), False),
    ],
)
def test_pods_that_are_not_ready(found, asked):
    assert (disruption_budgets.of(pod(conditions=[]), [found]) is found) is asked
    assert disruption_budgets.of(pod(), [found]) is found


def test_what_is_left():
    found = budget(disruptionsAllowed=2)
    disruption_budgets.spend(found, "p", now=NOW)
    assert found["status"]["disruptionsAllowed"] == 1
    assert "conditions" not in found["status"]
    disruption_budgets.spend(found, "q", now=NOW)
    assert found["status"]["disruptedPods"] == {"p": NOW, "q": NOW}
    (condition,) = found["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "InsufficientPods")
    assert condition["lastTransitionTime"] == NOW


def condition(**fields):
    return [{"type": "DisruptionAllowed", "status": "False", **fields}]


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ({"observedGeneration": 0}, "The disruption budget b is still being processed"),
        ({"currentHealthy": 1}, "The disruption budget b needs 1 healthy pods and has 1 currently"),
        ({"currentHealthy": 2}, "The disruption budget b does not allow evicting pods currently"),
        (
            {"currentHealthy": 2, "conditions": condition(reason="Tired", message="not now")},
            "The disruption budget b does not allow evicting pods currently (Tired): not now",
        ),
        (
            {"currentHealthy": 0, "conditions": condition(reason="SyncFailed", message="oh")},
            "The disruption budget b does not allow evicting pods currently because it failed sync: oh",
        ),
    ],
)
def test_refusals(status, why):
    found = budget(**({"disruptionsAllowed": 0} | status))
    before = copy.deepcopy(found)
    with pytest.raises(status_errors.StatusError, match="would violate the pod's") as caught:
        disruption_budgets.spend(found, "p", now=NOW)
    assert (caught.value.code, caught.value.reason) == (429, "TooManyRequests")
    (cause,) = caught.value.details["causes"]
    assert cause["reason"] == "DisruptionBudget"
    assert cause["message"].startswith(why)
    assert ("retryAfterSeconds" in caught.value.details) is ("observedGeneration" in status)
    assert found == before


@pytest.mark.parametrize(
    "status",
    [
        {"disruptionsAllowed": -1},
        {"disruptedPods": {f"p{number}": NOW for number in range(2001)}},
    ],
)
def test_budgets_that_are_wrong(status):
    with pytest.raises(status_errors.StatusError) as caught:
        disruption_budgets.spend(budget(**status), "p", now=NOW)
    assert caught.value.code == 403


def test_an_eviction_takes_from_the_budget(store):
    made = {"metadata": {"name": "p", "labels": {"app": "a"}}, "spec": {"containers": []}}
    made["spec"]["containers"] = [{"name": "c", "image": "i"}]
    store.create(resources.PODS, "default", made)
    store.patch(
        resources.PODS, "default", "p", lambda old: old | {"status": READY}, subresource="status"
    )
    given = budget(disruptionsAllowed=0)
    store.create(
        disruption_budgets.BUDGETS, "default", {"metadata": {"name": "b"}, "spec": given["spec"]}
    )

    def allow(count):
        return lambda old: old | {"status": given["status"] | {"disruptionsAllowed": count}}

    store.patch(disruption_budgets.BUDGETS, "default", "b", allow(0), subresource="status")
    with pytest.raises(status_errors.StatusError, match="disruption budget"):
        store.evict("default", "p", object_deletion.AS_USUAL)
    assert store.has(resources.PODS, "default", "p")
    store.patch(disruption_budgets.BUDGETS, "default", "b", allow(1), subresource="status")
    store.evict("default", "p", object_deletion.DeleteOptions(dry_run=True))
    assert (
        store.get(disruption_budgets.BUDGETS, "default", "b").document()["status"][
            "disruptionsAllowed"
        ]
        == 1
    )
    store.evict("default", "p", object_deletion.AS_USUAL)
    assert not store.has(resources.PODS, "default", "p")
    status = store.get(disruption_budgets.BUDGETS, "default", "b").document()["status"]
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (0, ["p"])
