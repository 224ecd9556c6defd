"""The example of a load from several pods: Kubernetes' types, and commands that fit each other."""

import copy
import pathlib
import random
from typing import Any

import pytest
import yaml

from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.serializer import strict_decoding
from harness.scenario import loading
from tests.support import called_scripts

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"
DOCUMENTS = list(yaml.safe_load_all((EXAMPLES / "traffic-workers.yaml").read_text()))
SERVICE, POLICY, RUN, WORKERS = DOCUMENTS


def options(job: dict[str, Any]) -> dict[str, Any]:
    container = job["spec"]["template"]["spec"]["containers"][0]
    return called_scripts.parsed([*container["command"], *container["args"]])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda item: item["metadata"]["name"])
def test_each_document_has_kubernetes_types(document: dict[str, Any]) -> None:
    group, _, version = document["apiVersion"].rpartition("/")
    kind = api_types.of_kind(group, version, document["kind"])
    assert strict_decoding.problems(kind, document) == []
    assert not strict_decoding.mismatch(kind, document)


@pytest.mark.parametrize("job", [RUN, WORKERS], ids=lambda item: item["metadata"]["name"])
def test_its_pods_are_valid(job: dict[str, Any]) -> None:
    pods = resources.find("", "v1", "pods")
    assert pods is not None
    store = stores.Store(now=lambda: "2026-01-01T00:00:00Z", stream=random.Random(1))
    spec = copy.deepcopy(job["spec"]["template"]["spec"])
    store.create(pods, "default", {"metadata": {"name": "p"}, "spec": spec})


def test_the_workers_find_the_run_and_are_as_many_as_it_expects() -> None:
    run, worker = options(RUN), options(WORKERS)
    overrides = [*run["override"], f"traffic.workers={run['workers']}"]
    overrides += [f'traffic.bind="{run["traffic_bind"]}"', "traffic.bind_is_open=true"]
    loaded = loading.load(str(EXAMPLES / "my-scenario.toml"), overrides=overrides)
    traffic = loaded.scenario.traffic
    assert run["i_know_it_is_open"]
    assert traffic.is_remote
    assert WORKERS["spec"]["completions"] == WORKERS["spec"]["parallelism"] == traffic.processes
    host, _, port = worker["master"].partition(":")
    assert (host, port) == (SERVICE["metadata"]["name"], run["traffic_bind"].partition(":")[2])
    assert SERVICE["spec"]["ports"][0]["port"] == int(port)
    assert worker["connect_timeout"] >= traffic.workers_wait_s


def test_only_the_workers_reach_the_port_of_the_run() -> None:
    labels = [job["spec"]["template"]["metadata"]["labels"] for job in (RUN, WORKERS)]
    assert SERVICE["spec"]["selector"] == POLICY["spec"]["podSelector"]["matchLabels"] == labels[0]
    (rule,) = POLICY["spec"]["ingress"]
    assert rule["from"] == [{"podSelector": {"matchLabels": labels[1]}}]
    assert [item["port"] for item in rule["ports"]] == [SERVICE["spec"]["ports"][0]["port"]]
