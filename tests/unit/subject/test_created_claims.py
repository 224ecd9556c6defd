"""Claims that the controller knows before its informer does."""

from typing import Any

from harness.subject.claim_control import created_claims
from tests.support import api_objects

POD = api_objects.known_pod("p")


def claim(name: str = "c", version: int = 1) -> dict[str, Any]:
    return api_objects.claim(name, version=version, owner=POD)


def known(created: created_claims.CreatedClaims) -> list[tuple[str, str]]:
    return [
        (item["metadata"]["name"], item["metadata"]["resourceVersion"])
        for item in created.owned_by("uid-p")
    ]


def test_a_created_claim_is_known_at_once() -> None:
    created = created_claims.CreatedClaims()
    created.add(claim())
    assert known(created) == [("c", "1")]
    assert created.get("default/c") == claim()
    assert created.owned_by("other") == []


def test_what_the_informer_said_meanwhile_stays() -> None:
    created = created_claims.CreatedClaims()
    created.on_add(claim(version=2), initial=False)
    created.add(claim(version=1))
    assert known(created) == [("c", "2")]


def test_the_informer_is_followed() -> None:
    created = created_claims.CreatedClaims()
    created.add(claim())
    created.on_add(claim(), initial=False)
    created.on_update(claim(), claim(version=3))
    assert known(created) == [("c", "3")]
    created.on_delete(claim(version=4))
    assert known(created) == []
    assert created.get("default/c") is None


def test_claims_of_an_owner_in_the_order_of_their_names() -> None:
    created = created_claims.CreatedClaims()
    for name in ("b", "a"):
        created.add(claim(name))
    created.add(api_objects.claim("free", version=1))
    assert [name for name, _ in known(created)] == ["a", "b"]
    created.on_delete(claim("a"))
    assert [name for name, _ in known(created)] == ["b"]
    assert created.get("default/free") is not None
    created.on_delete(api_objects.claim("free", version=1))
    assert created.get("default/free") is None
