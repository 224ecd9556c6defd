"""Values that checks derive from claims, pods, slices and rules, and defaults of the API."""

import json
from typing import Any

import msgspec
import pytest

from harness.checks.observed import observations, observed_claims, observed_metadata
from tests.histories import language

META: dict[str, Any] = {"name": "x", "uid": "u", "resourceVersion": "7", "namespace": "n"}


# ------------------------------------------------------------------------------------- claims


def raw(**fields: Any) -> observed_claims.Claim:
    document = {"metadata": META, **fields}
    record = language.observation(observations.CLAIMS, 7, document, "ADDED", ts_ns=1)
    claim: observed_claims.Claim = observations.decode(record).object
    return claim


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"allocation": None},
        {"reservedFor": [{"name": "p", "uid": "u", "resource": "pods"}]},
        {"devices": [{"driver": "d", "pool": "p", "device": "x"}]},
        {
            "allocation": {"devices": {"results": [{"driver": "d", "pool": "p", "device": "x"}]}},
            "reservedFor": [{"name": "p"}],
            "devices": [{"driver": "d", "pool": "p", "device": "x", "conditions": []}],
        },
    ],
)
def test_a_claim_with_undecoded_parts_has_the_same_status(status: dict[str, Any]) -> None:
    claim = raw(status=status)
    plain = msgspec.convert(status, observed_claims.ClaimStatus)
    assert msgspec.structs.asdict(claim.status) == msgspec.structs.asdict(plain)
    assert claim.spec == observed_claims.ClaimSpec()


# ------------------------------------------------------------------------------- owners, pods


@pytest.mark.parametrize(
    ("owners", "owner"),
    [
        (None, None),
        ([{"uid": "p", "kind": "Pod", "controller": True}], "p"),
        ([{"uid": "p", "kind": "Pod"}], None),
        ([{"uid": "j", "kind": "Job", "controller": True}], None),
        ([{"uid": "j", "kind": "Job"}, {"uid": "p", "kind": "Pod", "controller": True}], "p"),
    ],
)
def test_a_claim_was_generated_for_the_pod_that_controls_it(
    owners: list[dict[str, Any]] | None, owner: str | None
) -> None:
    meta = msgspec.convert(META | {"ownerReferences": owners}, observed_metadata.Meta)
    assert meta.owner == owner


# ------------------------------------------------------------------------------ observations


@pytest.mark.parametrize(("kind", "is_gone"), [("DELETED", True), ("MODIFIED", False)])
def test_an_observation_has_its_object_byte_for_byte(kind: str, is_gone: bool) -> None:
    content = json.dumps({"metadata": META, "status": {"phase": "Running"}})
    line = (
        f'{{"record":"observation","resource":"pods","type":"{kind}",'
        f'"resource_version":7,"ts_ns":5,"object":{content}}}\n'
    )
    seen = observations.decode_line(line.encode())
    assert seen.is_gone is is_gone
    assert seen.content == content.encode()
