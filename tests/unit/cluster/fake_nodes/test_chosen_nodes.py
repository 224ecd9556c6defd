"""Nodes that kubelets cannot act for are refused, with those that are known."""

import pathlib
from types import SimpleNamespace

import pytest

from harness import errors
from harness.cluster.dra import node_claims
from harness.cluster.fake_nodes import kubelet_process
from harness.scenario import driver_specs
from tests.support import api_objects


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ("worker-2", r"got 'worker-2'. Known: worker-0, worker-1. Did you mean 'worker-1'\?"),
        ("real", r"expected fake nodes of this cluster for --node, got 'real'. Known: worker-0"),
    ],
)
def test_a_kubelet_for_a_node_that_is_not_there(node: str, message: str) -> None:
    nodes = [api_objects.node(name) for name in ("worker-0", "worker-1", "real")]
    for one in nodes[:2]:
        one["metadata"]["annotations"] = {"kwok.x-k8s.io/node": "fake"}
    api = SimpleNamespace(list=lambda _: SimpleNamespace(items=nodes))
    options = kubelet_process.KubeletOptions(
        kubeconfig=pathlib.Path("none"),
        claims=node_claims.NodeClaimsOptions(driver=driver_specs.DriverSpec()),
        only_nodes=("worker-0", node),
    )
    with pytest.raises(errors.UsageError, match=message):
        kubelet_process._nodes(api, options)
