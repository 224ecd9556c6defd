"""Defaults of kinds, and admission of pods."""

import copy

import pytest

from harness.apiserver import admission
from harness.apiserver.errors import status_errors
from harness.apiserver.registry.strategies import pods
from harness.apiserver.scheme import api_types, defaults, resources


def filled(resource, document):
    made = copy.deepcopy(document)
    defaults.fill(api_types.of(resource), made)
    return made


def _pod(**container):
    return {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "a", "image": "i", "resources": {}, **container}]},
    }


def test_pull_policies():
    always = ["i", "i:latest", "registry:5000/i", "host.example/a/i"]
    if_not_present = ["i:1", "registry:5000/i:1.2", f"i@sha256:{'0' * 64}", ""]
    assert set(map(defaults.pull_policy, always)) == {"Always"}
    assert set(map(defaults.pull_policy, if_not_present)) == {"IfNotPresent"}


def test_an_empty_text_is_a_default_unless_go_holds_it_by_a_pointer():
    pod = _pod() | {"metadata": {}}
    pod["spec"]["restartPolicy"] = ""
    priority_class = {"metadata": {}, "preemptionPolicy": ""}

    assert filled(resources.PRIORITY_CLASSES, priority_class)["preemptionPolicy"] == ""
    assert filled(resources.PODS, pod)["spec"]["restartPolicy"] == "Always"


def test_constants_are_never_shared():
    first, second = filled(resources.PODS, _pod()), filled(resources.PODS, _pod())
    first["spec"]["securityContext"]["runAsUser"] = 1

    assert second["spec"]["securityContext"] == {}


@pytest.mark.parametrize("table", [defaults.CONSTANTS, defaults.RULES])
def test_the_tables_name_types_and_fields_that_exist(table):
    for name, values in table.items():
        package = "apiextensions-apiserver.pkg.apis" if name.startswith("apiext") else "api"
        kind = api_types.definition(f"io.k8s.{package}.{name}")
        if isinstance(values, dict):
            assert set(values) <= set(kind.fields)


# ------------------------------------------------------------------ admission

NOT_READY = {
    "key": "node.kubernetes.io/not-ready",
    "operator": "Exists",
    "effect": "NoExecute",
    "tolerationSeconds": 300,
}
UNREACHABLE = NOT_READY | {"key": "node.kubernetes.io/unreachable"}


@pytest.mark.parametrize(
    ("own", "added"),
    [
        ([], [NOT_READY, UNREACHABLE]),
        ([{"key": NOT_READY["key"], "operator": "Exists"}], [UNREACHABLE]),
        ([{"operator": "Exists"}], []),
        ([{"operator": "Exists", "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
    ],
)
def test_tolerations(own, added):
    spec = {"tolerations": list(own)}
    admission.tolerate(spec)

    assert spec["tolerations"] == own + added


CLASSES = {
    "high": {"metadata": {"name": "high"}, "value": 10, "preemptionPolicy": "Never"},
    "usual": {"metadata": {"name": "usual"}, "value": 5, "globalDefault": True},
}


def _prioritised(spec, classes):
    pod = {"metadata": {"name": "p"}, "spec": spec}
    admission.prioritise(pod, classes)
    return pod["spec"]


@pytest.mark.parametrize(
    ("spec", "classes", "wanted"),
    [
        ({}, {}, (0, "PreemptLowerPriority", None)),
        ({"priorityClassName": "high"}, CLASSES, (10, "Never", "high")),
        ({}, CLASSES, (5, "PreemptLowerPriority", "usual")),
        (
            {"priorityClassName": "system-node-critical"},
            {},
            (2_000_001_000, "PreemptLowerPriority", "system-node-critical"),
        ),
        ({"priority": 10, "priorityClassName": "high"}, CLASSES, (10, "Never", "high")),
    ],
)
def test_priorities(spec, classes, wanted):
    made = _prioritised(spec, classes)

    assert (made["priority"], made["preemptionPolicy"], made.get("priorityClassName")) == wanted


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
        ({"priority": 5}, "a priority other than 0"),
        ({"preemptionPolicy": "Never"}, "a preemptionPolicy other than PreemptLowerPriority"),
    ],
)
def test_refused_priorities(spec, why):
    with pytest.raises(status_errors.StatusError, match=why) as error:
        _prioritised(spec, {})
    assert error.value.code == 403


FULL = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("containers", "wanted"),
    [
        ([{}], "BestEffort"),
        ([{"requests": {"example.com/x": "1"}}], "BestEffort"),
        ([{"requests": {"cpu": "0"}}], "BestEffort"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"requests": FULL, "limits": FULL}], "Guaranteed"),
        ([{"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": FULL}], "Guaranteed"),
        ([{"requests": FULL, "limits": {"cpu": "2", "memory": "1Gi"}}], "Burstable"),
        ([{"requests": FULL, "limits": FULL}, {}], "Burstable"),
    ],
)
def test_quality_of_service(containers, wanted):
    assert pods.of({"containers": [{"resources": item} for item in containers]}) == wanted
