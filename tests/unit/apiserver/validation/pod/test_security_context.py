"""Security contexts of pods and containers."""

from typing import Any

import pytest

from harness.apiserver.validation.pod import security_context

Document = dict[str, Any]

PODS = [
    ({"runAsUser": 0, "fsGroup": 1, "supplementalGroups": [2]}, []),
    ({"runAsUser": -1}, [("s.runAsUser", "Invalid")]),
    ({"supplementalGroups": [2**31]}, [("s.supplementalGroups[0]", "Invalid")]),
    ({"fsGroupChangePolicy": "x"}, [("s.fsGroupChangePolicy", "NotSupported")]),
    ({"seccompProfile": {}}, [("s.seccompProfile.type", "Required")]),
    ({"seccompProfile": {"type": "x"}}, [("s.seccompProfile.type", "NotSupported")]),
    (
        {"seccompProfile": {"type": "Localhost"}},
        [("s.seccompProfile.localhostProfile", "Required")],
    ),
    (
        {"seccompProfile": {"type": "Unconfined", "localhostProfile": "a"}},
        [("s.seccompProfile.localhostProfile", "Invalid")],
    ),
    (
        {"appArmorProfile": {"type": "Localhost", "localhostProfile": " a"}},
        [("s.appArmorProfile.localhostProfile", "Invalid")],
    ),
    (
        {"appArmorProfile": {"type": "Localhost"}},
        [("s.appArmorProfile.localhostProfile", "Required")],
    ),
    ({"sysctls": [{"name": "kernel/shm_x", "value": "1"}]}, []),
    ({"sysctls": [{"name": "a"}, {"name": "a"}]}, [("s.sysctls[1].name", "Duplicate")]),
    ({"sysctls": [{"name": "A"}]}, [("s.sysctls[0].name", "Invalid")]),
    ({"sysctls": [{"name": "net.a"}]}, [("s.sysctls[0].name", "Invalid")]),
]


@pytest.mark.parametrize(("context", "wrong"), PODS)
def test_pods(fields: Any, context: Document, wrong: list[Any]) -> None:
    assert fields(security_context.of_pod(context, {"hostNetwork": True}, "s")) == wrong


def test_one_process_namespace(fields: Any) -> None:
    spec = {"hostPID": True, "shareProcessNamespace": True}
    assert fields(security_context.of_pod({}, spec, "s")) == [
        ("s.shareProcessNamespace", "Invalid")
    ]


CONTAINERS = [
    ({"privileged": True, "procMount": "Default"}, []),
    ({"procMount": "x"}, [("s.procMount", "NotSupported")]),
    ({"procMount": "Unmasked"}, [("s.procMount", "Invalid")]),
    ({"allowPrivilegeEscalation": False, "privileged": True}, [("s", "Invalid")]),
    (
        {"allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN"]}},
        [("s", "Invalid")],
    ),
]


@pytest.mark.parametrize(("context", "wrong"), CONTAINERS)
def test_containers(fields: Any, context: Document, wrong: list[Any]) -> None:
    assert fields(security_context.of_container(context, "s", host_users=True)) == wrong


def test_a_pod_with_its_own_users_may_see_all_of_proc(fields: Any) -> None:
    assert (
        fields(security_context.of_container({"procMount": "Unmasked"}, "s", host_users=False))
        == []
    )
