"""The pod for which a claim was generated."""

from typing import Any

import msgspec
import pytest

from harness.checks.observed import observed_metadata


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
    meta = {"name": "x", "uid": "u", "resourceVersion": "7", "ownerReferences": owners}
    assert msgspec.convert(meta, observed_metadata.Meta).owner == owner
