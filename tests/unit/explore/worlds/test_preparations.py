"""The oracle of preparations: by claim and node, with the claim's own parameters."""

from typing import Any

import pytest

from harness.cluster.driver import prepared_claims
from harness.explore.worlds import world_fixtures
from harness.explore.worlds.oracles import preparations

Object = dict[str, Any]
NODE, OTHER = "worker-0", "worker-1"


@pytest.fixture
def oracle() -> preparations.Preparations:
    return preparations.Preparations(unprepare_s=0.0)


def prepared(name: str, node: str) -> prepared_claims.PreparedClaim:
    return prepared_claims.PreparedClaim(
        node=node,
        namespace="default",
        name=name,
        uid=name,
        devices=(),
        exclusive=frozenset({"device-0"}),
    )


def configured(**parameters: str) -> Object:
    status = world_fixtures.allocated("device-0")
    opaque = {"driver": world_fixtures.DRIVER, "parameters": parameters}
    status["allocation"]["devices"]["config"] = [{"source": "FromClaim", "opaque": opaque}]
    return {**world_fixtures.claim("claim-1"), "status": status}


def test_a_device_of_the_network_is_prepared_once_on_each_node(
    oracle: preparations.Preparations,
) -> None:
    oracle.on_prepared(prepared("claim-1", NODE), driver="gpu")
    oracle.on_prepared(prepared("claim-1", OTHER), driver="gpu")
    assert oracle.finding is None
    oracle.on_prepared(prepared("claim-1", OTHER), driver="gpu")
    assert oracle.finding == "prepared: claim-1 was prepared again"


def test_a_device_is_not_prepared_for_another_claim_on_any_node(
    oracle: preparations.Preparations,
) -> None:
    oracle.on_prepared(prepared("claim-1", NODE), driver="gpu")
    oracle.on_prepared(prepared("claim-2", OTHER), driver="gpu")
    assert oracle.finding == "prepared: device-0 for claim-2 while it is for claim-1"


def test_a_kubelet_that_was_started_again_prepares_once_more(
    oracle: preparations.Preparations,
) -> None:
    oracle.on_prepared(prepared("claim-1", NODE), driver="gpu")
    oracle.on_restarted()
    oracle.on_prepared(prepared("claim-1", NODE), driver="gpu")
    assert oracle.finding is None
    oracle.on_prepared(prepared("claim-1", NODE), driver="gpu")
    assert oracle.finding is not None


def test_containers_get_the_parameters_of_their_claim(oracle: preparations.Preparations) -> None:
    oracle.on_configured(configured(size="1"), configured(size="1"))
    assert oracle.finding is None
    oracle.on_configured(configured(size="1"), configured(size="2"))
    assert oracle.finding is not None
    assert oracle.finding.startswith("parameters: the containers of claim-1 get")
