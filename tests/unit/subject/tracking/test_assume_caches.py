"""The contract of the assume cache (upstream's, kept by hand)."""

from typing import Any

import pytest

from harness import concurrency
from harness.subject.tracking import assume_caches
from tests.support import api_objects

Object = dict[str, Any]
KEY = "default/c"
TIMEOUT_S = 20.0


class Witness:
    """A handler that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, object, object]] = []

    def on_add(self, obj: Object, *, initial: bool) -> None:
        self.told.append(("add", version(obj), initial))

    def on_update(self, old: Object, new: Object) -> None:
        self.told.append(("update", version(old), version(new)))

    def on_delete(self, last: Object) -> None:
        self.told.append(("delete", version(last), None))


def version(obj: Object) -> str:
    number: str = obj["metadata"]["resourceVersion"]
    return f"{number}*" if "status" in obj else number


def claim(number: int, *, allocated: bool = False, name: str = "c") -> Object:
    return api_objects.claim(
        name, version=number, allocated=api_objects.allocation("d") if allocated else None
    )


@pytest.fixture
def witness() -> Witness:
    return Witness()


@pytest.fixture
def cache(witness: Witness) -> assume_caches.AssumeCache:
    cache = assume_caches.AssumeCache([witness])
    cache.on_add(claim(5), initial=True)
    witness.told.clear()
    return cache


def latest(cache: assume_caches.AssumeCache) -> str:
    known = cache.get(KEY)
    assert known is not None
    return version(known)


def test_versions_are_compared_as_numbers(
    cache: assume_caches.AssumeCache, witness: Witness
) -> None:
    cache.on_update({}, claim(40))
    cache.on_update({}, claim(100))
    assert latest(cache) == "100"


@pytest.mark.parametrize("number", [5, 6])
def test_an_object_that_is_not_older_is_assumed_and_handlers_have_seen_it_then(
    cache: assume_caches.AssumeCache, witness: Witness, number: int
) -> None:
    cache.assume(claim(number, allocated=True))
    assert latest(cache) == f"{number}*"
    assert witness.told == [("update", "5", f"{number}*")]


def test_an_older_object_cannot_be_assumed(
    cache: assume_caches.AssumeCache, witness: Witness
) -> None:
    with pytest.raises(assume_caches.AssumeError, match="out of sync"):
        cache.assume(claim(4, allocated=True))
    assert (latest(cache), witness.told) == ("5", [])


def test_an_object_is_deleted_when_its_deletion_has_come(cache: assume_caches.AssumeCache) -> None:
    assert not cache.has_deleted(claim(5))
    cache.on_delete(claim(7))
    assert cache.has_deleted(claim(5))
    assert cache.has_deleted(claim(7))
    assert not cache.has_deleted(claim(8)), "its creation may be still to come"


def test_an_object_of_which_no_event_has_come_is_not_deleted(
    cache: assume_caches.AssumeCache,
) -> None:
    assert not cache.has_deleted(claim(6, name="new"))
    cache.on_update(claim(5), claim(7))
    assert cache.has_deleted(claim(6, name="new"))


def test_an_object_whose_name_another_one_has_is_deleted(cache: assume_caches.AssumeCache) -> None:
    cache.on_delete(claim(6))
    cache.on_add(api_objects.claim("c", version=7, uid="another"), initial=False)
    assert cache.has_deleted(claim(5))


def test_no_object_is_deleted_before_the_end_of_a_list(cache: assume_caches.AssumeCache) -> None:
    """A list is not in the order of versions."""
    cache.on_list_begin()
    cache.on_add(claim(9, name="other"), initial=False)
    assert not cache.has_deleted(claim(8, name="new"))
    cache.on_list_end("9")
    assert cache.has_deleted(claim(8, name="new"))


def test_what_was_learnt_otherwise_tells_nothing_about_other_objects(
    cache: assume_caches.AssumeCache, witness: Witness
) -> None:
    cache.learn(claim(9))
    assert (latest(cache), witness.told) == ("9", [("update", "5", "9")])
    assert not cache.has_deleted(claim(8, name="new"))


def test_what_was_deleted_is_not_learnt(cache: assume_caches.AssumeCache, witness: Witness) -> None:
    """Its deletion has overtaken the answer of the read."""
    cache.on_delete(claim(7))
    cache.learn(claim(5))
    assert cache.get(KEY) is None
    assert witness.told == [("delete", "5", None)]


def test_restore_goes_back_to_what_the_server_had(
    cache: assume_caches.AssumeCache, witness: Witness
) -> None:
    cache.assume(claim(6, allocated=True))
    cache.restore(KEY)
    assert latest(cache) == "5"
    assert witness.told == [("update", "5", "6*"), ("update", "6*", "5")]


def test_what_the_server_says_later_replaces_what_was_assumed(
    cache: assume_caches.AssumeCache, witness: Witness
) -> None:
    cache.assume(claim(6, allocated=True))
    cache.on_update({}, claim(6, allocated=True))  # dropped: it is not newer
    cache.on_update({}, claim(7))
    cache.restore(KEY)
    assert latest(cache) == "7"
    assert witness.told == [("update", "5", "6*"), ("update", "6*", "7")]


def test_deletion_tells_the_last_known_state_not_the_servers(
    cache: assume_caches.AssumeCache, witness: Witness
) -> None:
    cache.assume(claim(6, allocated=True))
    cache.on_delete(claim(8))
    assert cache.get(KEY) is None
    assert witness.told[-1] == ("delete", "6*", None)
    cache.on_delete(claim(9))
    assert len(witness.told) == 2


def test_all_handlers_hear_an_event_before_any_hears_the_next() -> None:
    first, second = Witness(), Witness()
    order = first.told = second.told
    cache = assume_caches.AssumeCache([first, second])
    cache.on_add(claim(1), initial=False)
    cache.on_update({}, claim(2))
    assert order == [("add", "1", False)] * 2 + [("update", "1", "2")] * 2


def test_a_handler_that_fails_does_not_wedge_the_cache() -> None:
    class Failing(Witness):
        def on_add(self, obj: Object, *, initial: bool) -> None:
            super().on_add(obj, initial=initial)
            if obj["metadata"]["name"] == "bad":
                raise RuntimeError("handler")

    witness = Failing()
    cache = assume_caches.AssumeCache([witness])
    with pytest.raises(RuntimeError, match="handler"):
        cache.on_add(claim(1, name="bad"), initial=False)
    emitted = concurrency.spawn("next", lambda: cache.on_add(claim(2, name="good"), initial=False))
    emitted.join(TIMEOUT_S)
    assert not emitted.is_alive()
    assert witness.told == [("add", "1", False), ("add", "2", False)]
