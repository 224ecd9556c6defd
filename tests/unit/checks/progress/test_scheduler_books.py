"""The scheduler's own books against the API: what differs, and which books are not examined."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from harness import concurrency
from harness.checks import verdicts
from harness.checks.progress import scheduler_books
from harness.checks.schedulers import written_books
from harness.history import records
from harness.subject.scheduling import schedulers
from tests.histories import building, worlds

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID
D0, D1, D2 = (worlds.device("n", index) for index in range(3))
AT_NS = 60 * worlds.SECOND_NS
WORLD = worlds.World(
    claims=[
        worlds.claim("a", D0, users=["p"]),
        worlds.claim("b", D1, users=["q"]),
        worlds.claim("c"),
    ]
)
"""Versions 1 to 3, in this order."""


def steps_of(write: Callable[[], None], *, ts_ns: int = AT_NS) -> list[records.Step]:
    taken: list[records.Step] = []

    def listen(name: str, fields: concurrency.StepFields) -> None:
        document = msgspec.to_builtins(dict(fields))
        taken.append(building.step(len(taken), "MainThread", name, ts_ns, **document))

    concurrency.listen(listen)
    try:
        write()
    finally:
        concurrency.listen(None)
    return taken


def objects() -> list[dict[str, Any]]:
    return [
        msgspec.json.decode(item.object)
        for item in WORLD.observations()
        if isinstance(item, records.Observation) and item.type == "FINAL"
    ]


def written(
    *,
    devices: Sequence[str] = (D0, D1),
    in_flight: Sequence[dict[str, Any]] = (),
    cached: Sequence[dict[str, Any]] | None = None,
    ts_ns: int = AT_NS,
) -> written_books.Books:
    known = objects() if cached is None else cached
    steps = steps_of(
        lambda: schedulers.write(devices=devices, in_flight=in_flight, cached=known), ts_ns=ts_ns
    )
    books = written_books.read(steps)
    assert books is not None
    return books


def judge(
    books: dict[str, written_books.Books | None], *, world: worlds.World = WORLD
) -> verdicts.CheckResult:
    return scheduler_books.check(worlds.judged(world, plan=worlds.plan(), books=books))


def test_books_that_equal_the_api() -> None:
    result = judge({"scheduler": written()})
    assert (result.verdict, result.examined_count, result.violations) == (VALID, 1, [])
    assert result.reason == "the books of scheduler equal the API"


def test_empty_books_of_an_empty_cluster() -> None:
    result = judge({"scheduler": written(devices=(), cached=[])}, world=worlds.World())
    assert result.verdict is VALID


def with_status(claim: dict[str, Any], **status: Any) -> dict[str, Any]:
    return {**claim, "status": {**claim["status"], **status}}


def with_version(claim: dict[str, Any], version: str) -> dict[str, Any]:
    return {**claim, "metadata": {**claim["metadata"], "resourceVersion": version}}


A, B, C = objects()
GONE = with_version({**C, "metadata": {**C["metadata"], "uid": "uid-gone"}}, "9")
WRONG = {
    "a claim in flight for ever": (
        written(in_flight=[C]),
        "scheduler: claim c is still in flight",
    ),
    "a claim in flight that is gone": (
        written(in_flight=[GONE]),
        "scheduler: claim uid-gone is still in flight",
    ),
    "a device that was never given back": (
        written(devices=[D0, D1, D2]),
        f"scheduler: {D2} counts as allocated, but no claim holds it",
    ),
    "a device that looks free": (
        written(devices=[D0]),
        f"scheduler: {D1} counts as free, but b holds it",
    ),
    "a claim whose deletion was missed": (
        written(cached=[A, B, C, GONE]),
        "scheduler: the cache has a claim that does not exist",
    ),
    "a claim whose creation was missed": (
        written(cached=[A, B]),
        "scheduler: the cache has no version of claim c",
    ),
    "an update that was missed": (
        written(cached=[A, B, with_version(C, "1")]),
        "scheduler: the cache has version 1 of claim c",
    ),
    "another allocation": (
        written(cached=[A, with_status(B, allocation=A["status"]["allocation"]), C]),
        f"scheduler: the cache has an allocation with {D0} of claim b",
    ),
}


@pytest.mark.parametrize(("books", "summary"), WRONG.values(), ids=WRONG)
def test_what_differs(books: written_books.Books, summary: str) -> None:
    result = judge({"scheduler": books})
    assert (result.verdict, result.violation_count) == (INVALID, 1)
    assert result.violations[0].summary == summary
    assert result.reason == f"the books differ from the API: {summary}"


def test_admin_access_is_in_no_books_but_in_the_cache() -> None:
    claim = worlds.claim("a", D0, users=["p"])
    claim["status"]["allocation"]["devices"]["results"][0]["adminAccess"] = True
    world = worlds.World(claims=[claim])
    cached = [with_version(claim, "1")]
    assert judge({"scheduler": written(devices=(), cached=cached)}, world=world).verdict is VALID
    wrong = judge({"scheduler": written(devices=[D0], cached=cached)}, world=world)
    assert wrong.verdict is INVALID


# ------------------------------------------------------------------------- not examined


def test_a_scheduler_that_was_killed_is_not_examined() -> None:
    result = judge({"scheduler": None})
    assert (result.verdict, result.examined_count) == (UNKNOWN, 0)
    assert result.reason == "not examined: scheduler (no books: killed, or stopped before it began)"


def test_its_successor_is() -> None:
    result = judge({"scheduler": None, "scheduler.2": None, "scheduler.3": written()})
    assert (result.verdict, result.examined_count) == (VALID, 1)
    told = "the books of scheduler.3 equal the API; not examined: scheduler, scheduler.2 (no books"
    assert result.reason.startswith(told)


@pytest.mark.parametrize("ts_ns", [2, worlds.SECOND_NS])
def test_books_that_were_written_while_claims_changed_are_not_examined(ts_ns: int) -> None:
    result = judge({"scheduler": written(devices=(), ts_ns=ts_ns)})
    assert result.verdict is UNKNOWN
    assert "(stopped while claims changed, or less than 1 s afterwards)" in result.reason


def test_no_books_at_all_are_unknown() -> None:
    result = judge({})
    assert (result.verdict, result.reason) == (UNKNOWN, "no scheduler left books")


def test_an_unknown_final_state_is_unknown() -> None:
    body = WORLD.observations()[:6]
    given = worlds.judged(body, plan=worlds.plan(), books={"scheduler": written()})
    assert "the final state of the claims is not known" in scheduler_books.check(given).reason


@pytest.mark.parametrize(
    "body",
    [
        WORLD.observations()[:-2],  # a claim is missing in the final list
        worlds.World().observations()[:4],  # there is none, and nothing happened
    ],
)
def test_a_doubtful_final_state_is_unknown(body: list[records.Body]) -> None:
    given = worlds.judged(body, plan=worlds.plan(), books={"scheduler": written()})
    result = scheduler_books.check(given)
    assert (result.verdict, result.violation_count) == (UNKNOWN, 0)


@pytest.mark.parametrize(
    ("progress_s", "steps", "applies"),
    [
        (5.0, ["scheduler", "claim-controller"], True),
        (5.0, ["claim-controller"], False),
        (5.0, [], False),
        (None, ["scheduler"], False),
    ],
)
def test_a_scheduler_writes_books_where_progress_is_judged(
    progress_s: float | None, steps: list[str], applies: bool
) -> None:
    plan = msgspec.structs.replace(worlds.plan(), progress_s=progress_s, expected_steps=steps)
    assert scheduler_books.applies(plan) is applies


def test_the_reason_counts_the_other_differences() -> None:
    result = judge({"scheduler": written(devices=[])})
    first = f"scheduler: {D0} counts as free, but a holds it"
    assert result.reason == f"the books differ from the API: {first}, and 1 more"


# ------------------------------------------------------------------------------ reading


def test_many_entries_are_written_in_parts() -> None:
    devices = [worlds.device("n", index) for index in range(1201)]
    steps = steps_of(lambda: schedulers.write(devices=devices, in_flight=[], cached=objects()))
    assert [step.name for step in steps] == [
        *["scheduler.books.devices"] * 3,
        "scheduler.books.claims",
        "scheduler.books",
    ]
    books = written_books.read(steps)
    assert books is not None
    assert books.devices == set(devices)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_books_without_a_part_are_no_books(lost: int) -> None:
    steps = steps_of(lambda: schedulers.write(devices=[D0], in_flight=[], cached=objects()))
    assert written_books.read(steps[:lost] + steps[lost + 1 :]) is None


def test_steps_of_another_form_are_no_books() -> None:
    odd = building.step(0, "MainThread", "scheduler.books", AT_NS, devices="none")
    assert written_books.read([odd]) is None
