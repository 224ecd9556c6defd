"""Claims that the controller knows before its informer does."""

from typing import Any

from harness.subject.claim_control import created_claims
from harness.subject.defects import controller_defects
from tests.support import api_objects, controlled_runtimes

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


def test_claims_of_an_owner_in_the_order_of_their_names() -> None:
    created = created_claims.CreatedClaims()
    for name in ("b", "a"):
        created.on_add(claim(name), initial=True)
    created.on_add(api_objects.claim("free", version=1), initial=True)
    assert [name for name, _ in known(created)] == ["a", "b"]
    created.on_delete(claim("a", version=2))
    assert [name for name, _ in known(created)] == ["b"]
    assert created.get("default/free") is not None
    created.on_delete(api_objects.claim("free", version=3))
    assert created.get("default/free") is None


def test_a_claim_that_was_deleted_before_its_creation_was_answered_is_not_known() -> None:
    created = created_claims.CreatedClaims()
    created.on_add(claim(version=1), initial=False)
    created.on_delete(claim(version=2))
    created.add(claim(version=1))
    assert known(created) == []


def test_a_deleted_claim_that_a_gap_of_the_watch_hid_is_forgotten() -> None:
    """Neither its creation nor its deletion is delivered; only later events are."""
    created = created_claims.CreatedClaims()
    created.add(claim(version=3))
    created.on_add(claim("other", version=2), initial=False)
    assert [name for name, _ in known(created)] == ["c", "other"]
    created.on_update(claim("other", version=2), claim("other", version=5))
    assert known(created) == [("other", "5")]


def test_a_created_claim_that_comes_late_in_a_list_is_known_all_the_time() -> None:
    """The list is not in the order of versions, and has the claim in a later one than created."""
    created = created_claims.CreatedClaims()
    created.add(claim(version=3))
    created.on_list_begin()
    created.on_add(claim("other", version=9), initial=False)
    assert ("c", "3") in known(created)
    created.on_add(claim(version=6), initial=False)
    created.on_list_end("9")
    assert known(created) == [("c", "6"), ("other", "9")]


def test_a_claim_whose_creation_is_answered_during_a_list_is_known() -> None:
    created = created_claims.CreatedClaims()
    created.on_list_begin()
    created.on_add(claim("other", version=9), initial=False)
    created.add(claim(version=3))
    assert ("c", "3") in known(created)
    created.on_add(claim(version=6), initial=False)
    created.add(claim(version=3))
    assert ("c", "6") in known(created), "the list has it in a newer version"
    created.on_list_end("9")
    assert known(created) == [("c", "6"), ("other", "9")]


def test_a_created_claim_that_the_list_does_not_have_is_gone() -> None:
    created = created_claims.CreatedClaims()
    created.add(claim(version=3))
    created.on_list_begin()
    created.on_list_end("4")
    assert known(created) == []


def test_a_claim_that_lost_its_owner_is_not_found_for_it() -> None:
    created = created_claims.CreatedClaims()
    created.on_add(claim(version=1), initial=False)
    created.on_update(claim(version=1), api_objects.claim("c", version=2))
    assert known(created) == []
    assert created.get("default/c") is not None


# up to 1.36.2


def test_the_mutation_cache_remembers_for_an_hour(time: controlled_runtimes.VirtualTime) -> None:
    cache = controller_defects.MutationCache()
    cache.add(claim())
    time.sleep(3599)
    assert known(cache) == [("c", "1")]
    time.sleep(2)
    assert known(cache) == []


def test_the_mutation_cache_knows_what_it_has_newer_and_what_was_deleted() -> None:
    cache = controller_defects.MutationCache()
    cache.on_add(claim(), initial=False)
    cache.add(claim(version=2))
    assert known(cache) == [("c", "2")]
    cache.on_update(claim(), claim(version=3))
    assert known(cache) == [("c", "3")]
    cache.add(claim(version=3))
    cache.on_delete(claim(version=4))
    assert known(cache) == [("c", "3")]
    assert cache.get("default/c") is None
