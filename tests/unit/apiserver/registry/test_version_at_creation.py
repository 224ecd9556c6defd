"""A version that is given at creation: the storage refuses it, after everything else was judged."""

from typing import Any

import pytest

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
REFUSAL = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "resourceVersion should not be set on objects to be created",
    "code": 500,
}


def versioned(version: str, name: str = "c") -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": version}}


def test_it_is_500_without_a_reason(live: Any) -> None:
    assert live.call("POST", CONFIGMAPS, versioned("1")) == (500, REFUSAL)
    assert live.call("GET", f"{CONFIGMAPS}/c")[0] == 404


def test_it_comes_before_the_name_that_is_taken_and_after_the_rules(live: Any) -> None:
    assert live.call("POST", CONFIGMAPS, {"metadata": {"name": "c"}})[0] == 201
    assert live.call("POST", CONFIGMAPS, versioned("1"))[0] == 500
    assert live.call("POST", CONFIGMAPS, versioned("1", name="Not A Name"))[0] == 422


def test_a_dry_run_does_not_come_to_it(live: Any) -> None:
    assert live.call("POST", f"{CONFIGMAPS}?dryRun=All", versioned("1"))[0] == 201


@pytest.mark.parametrize("version", ["", "0", "00", "abc"])
def test_what_is_no_version_is_none(live: Any, version: str) -> None:
    status, body = live.call("POST", CONFIGMAPS, versioned(version))
    assert status == 201
    assert int(body["metadata"]["resourceVersion"]) > 0
