"""The objects of an API server become materials, page by page; refusals are one sentence."""

import json
from typing import Any

import pytest

from harness import errors
from harness.client import apis, transports
from harness.importing import cluster_reading, materials
from tests.support import local_servers

GROUP = "/apis/resource.k8s.io"
SLICE = {
    "metadata": {"name": "s", "uid": "u", "generateName": "s-"},
    "spec": {
        "driver": "d.example",
        "nodeName": "n",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "x"}],
    },
}


@pytest.fixture
def server() -> local_servers.LocalServer:
    server = local_servers.LocalServer()
    api = apis.Api(server)
    for number in range(3):
        api.create(apis.SLICES, _slice(number))
    api.create(apis.NAMESPACES, {"metadata": {"name": "team"}})
    return server


def _slice(number: int) -> dict[str, Any]:
    typed = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice"}
    return {**typed, "metadata": {"name": f"s-{number}"}, "spec": SLICE["spec"]}


def _template(name: str) -> dict[str, Any]:
    requests = [{"name": "r", "exactly": {"deviceClassName": "c"}}]
    return {"metadata": {"name": name}, "spec": {"spec": {"devices": {"requests": requests}}}}


def read(server: "local_servers.LocalServer | Answers", namespace: str = "") -> materials.Materials:
    transport = Answers(server) if isinstance(server, local_servers.LocalServer) else server
    return cluster_reading.Reader(transport, "ours").read(namespace)


def test_all_pages_are_read(
    server: local_servers.LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_reading, "PAGE", 2)
    found = read(server)
    assert [materials.name_of(obj) for obj in found.slices] == ["s-0", "s-1", "s-2"]
    assert found.slices[0]["kind"] == "ResourceSlice"
    assert "uid" not in found.slices[0]["metadata"]


def test_a_namespace_limits_templates_and_adds_claims_and_workloads(
    server: local_servers.LocalServer,
) -> None:
    api = apis.Api(server)
    api.create(apis.NAMESPACES, {"metadata": {"name": "other"}})
    for space in ("team", "other"):
        api.create(apis.CLAIM_TEMPLATES, _template(f"of-{space}"), namespace=space)
    claim = {"metadata": {"name": "shared"}, "spec": _template("")["spec"]["spec"]}
    made = {
        **claim,
        "metadata": {"name": "made", "annotations": {"resource.kubernetes.io/pod-claim-name": "x"}},
    }
    for obj in (claim, made):
        api.create(apis.CLAIMS, obj, namespace="team")
    found = read(server, "team")
    assert [materials.name_of(obj) for obj in found.templates] == ["of-team"]
    assert [materials.name_of(obj) for obj in found.claims] == ["shared"]
    assert [materials.name_of(obj) for obj in found.workloads] == ["job", "of-cron"]
    assert found.workloads[1]["metadata"]["ownerReferences"][0]["name"] == "cron"
    assert "left out: ResourceClaim that was made for a pod" in found.notes.lines
    assert len(read(server).templates) == 2


class Answers:
    """A transport that answers for what the server in the test's process has not."""

    def __init__(self, server: local_servers.LocalServer) -> None:
        self._server = server

    def send(self, request: transports.Request) -> transports.Response:
        spec = {"template": {"spec": {"containers": [{"name": "main", "image": "i"}]}}}
        job = {"metadata": {"name": "job"}, "spec": spec}
        owner = {"kind": "CronJob", "name": "cron"}
        owned = {**job, "metadata": {"name": "of-cron", "ownerReferences": [owner]}}
        answers = {
            f"{GROUP}/v1": {"resources": [{"name": "resourceslices"}]},
            "/apis/batch/v1": {"resources": [{"name": "jobs"}]},
            "/apis/batch/v1/namespaces/team/jobs": {
                "items": [job, owned],
                "metadata": {},
            },
        }
        if (answer := answers.get(request.path.partition("?")[0])) is not None:
            return transports.Response(200, json.dumps(answer).encode())
        return self._server.send(request)

    def watch(self, request: transports.Request) -> transports.Watch:
        raise NotImplementedError

    def close(self) -> None:
        pass


class OldServer(Answers):
    """An API server that has the group in one older version."""

    def __init__(self, version: str, item: dict[str, Any]) -> None:
        self._version, self._item = version, item

    def send(self, request: transports.Request) -> transports.Response:
        path = request.path.partition("?")[0]
        answer: dict[str, Any] = {"items": [], "metadata": {}}
        if path == f"{GROUP}/{self._version}/resourceslices":
            answer["items"] = [self._item]
        elif path == f"{GROUP}/{self._version}":
            answer = {"resources": [{"name": "resourceslices"}]}
        elif path.startswith(("/api", GROUP)) and not path.startswith(
            ("/api/v1/", f"{GROUP}/{self._version}/")
        ):
            return transports.Response(404, b"{}")
        return transports.Response(200, json.dumps(answer).encode())


def test_older_versions_become_todays() -> None:
    basic = {"name": "x", "basic": {"attributes": {"a": {"int": 1}}}}
    item = {**SLICE, "spec": {**SLICE["spec"], "devices": [basic]}}
    for version, each in (("v1beta1", item), ("v1beta2", SLICE)):
        [found] = read(OldServer(version, each)).slices
        assert found["apiVersion"] == "resource.k8s.io/v1"
        assert found["spec"]["devices"][0]["name"] == "x"
        assert "basic" not in found["spec"]["devices"][0]


def test_a_server_with_none_of_the_versions_is_named() -> None:
    with pytest.raises(errors.UnusableClusterError, match=r"Kubernetes 1\.32"):
        read(OldServer("v1alpha3", SLICE))


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (401, errors.UnusableClusterError, "log in again"),
        (403, errors.UnusableClusterError, "resourceslices: 403.*use other credentials"),
        (500, errors.ClusterError, "resourceslices: 500"),
    ],
)
def test_refusals_say_what_was_asked(
    server: local_servers.LocalServer, status: int, kind: type[Exception], words: str
) -> None:
    server.refuse("GET", "resourceslices?", status=status)
    with pytest.raises(kind, match=words) as caught:
        read(server)
    assert str(caught.value).startswith("context 'ours': ")
    assert "\n" not in str(caught.value)


def test_a_lost_answer_is_a_cluster_that_cannot_be_used(server: local_servers.LocalServer) -> None:
    server.lose_answer("GET", "deviceclasses")
    with pytest.raises(errors.UnusableClusterError, match="reachable from this machine"):
        read(server)
