"""Books of schedulers and leftover preparations against judges that compare set by set."""

import os
import random
from typing import Any

from harness.checks import verdicts, world_states
from harness.checks.nodes import preparations
from harness.checks.progress import leftover_preparations, scheduler_books
from harness.checks.schedulers import written_books
from harness.history import records
from tests.histories import worlds

HISTORIES = int(os.environ.get("FLAKE_HUNT_HISTORIES", "3000"))
DEVICES = [worlds.device("n", index) for index in range(3)]
VALID, UNKNOWN, INVALID = verdicts.Verdict
Object = dict[str, Any]


def _world(stream: random.Random) -> worlds.World:
    """Pods, and claims that hold up to two devices, some with admin access."""
    phases = ["Running", "Running", "Pending", "Succeeded", "Failed"]
    pods = [worlds.pod(name, phase=stream.choice(phases)) for name in "pq" if stream.random() < 0.8]
    claims = []
    for name in "abc"[: stream.randrange(4)]:
        held = stream.sample(DEVICES, stream.randrange(3))
        users = stream.sample(["p", "q", "gone"], stream.randrange(3))
        made = worlds.claim(name, *held, users=users)
        for row in made["status"].get("allocation", {"devices": {"results": []}})["devices"][
            "results"
        ]:
            if stream.random() < 0.1:
                row["adminAccess"] = True
        claims.append(made)
    return worlds.World(pods=pods, claims=claims)


def _rows(claim: Object) -> list[Object]:
    found: list[Object] = claim["status"].get("allocation", {"devices": {"results": []}})[
        "devices"
    ]["results"]
    return found


def _names(rows: list[Object]) -> list[str]:
    return [f"{row['driver']}/{row['pool']}/{row['device']}" for row in rows]


# ------------------------------------------------------------------------------ books


def _books(stream: random.Random, world: worlds.World) -> written_books.Books:
    """Books that are right, but for a few mistakes."""
    devices = {
        name
        for claim in world.claims
        for name in _names([row for row in _rows(claim) if not row.get("adminAccess")])
    }
    cached = {}
    for version, claim in enumerate(world.claims, start=1):
        uid = claim["metadata"]["uid"]
        cached[uid] = written_books.CachedClaim(uid, str(version), _names(_rows(claim)))
    in_flight = []
    while stream.random() < 0.35:
        match stream.randrange(5):
            case 0:
                devices ^= {stream.choice(DEVICES)}
            case 1:
                in_flight.append(f"uid-{stream.choice('abz')}")
            case 2:
                cached["uid-z"] = written_books.CachedClaim("uid-z", "9", [])
            case 3 if cached:
                del cached[stream.choice(sorted(cached))]
            case _ if cached:
                uid = stream.choice(sorted(cached))
                seen = stream.choice([cached[uid].version, "77"])
                taken = stream.sample(DEVICES, stream.randrange(3))
                cached[uid] = written_books.CachedClaim(uid, seen, taken)
            case _:
                pass
    seconds = 60 if stream.random() < 0.9 else 0
    return written_books.Books(
        devices=devices, claims=cached, in_flight=in_flight, ts_ns=seconds * worlds.SECOND_NS
    )


def _differences(books: written_books.Books, world: worlds.World) -> int:
    held = {
        name
        for claim in world.claims
        for row, name in zip(_rows(claim), _names(_rows(claim)), strict=True)
        if not row.get("adminAccess")
    }
    count = len(books.in_flight) + len(held ^ books.devices)
    known = {claim["metadata"]["uid"]: claim for claim in world.claims}
    count += len(books.claims.keys() - known.keys())
    for version, (uid, claim) in enumerate(known.items(), start=1):
        cached = books.claims.get(uid)
        count += (
            cached is None
            or cached.version != str(version)
            or sorted(cached.devices) != sorted(_names(_rows(claim)))
        )
    return count


def test_scheduler_books() -> None:
    found_in = dict.fromkeys(verdicts.Verdict, 0)
    for seed in range(HISTORIES):
        stream = random.Random(seed)
        world = _world(stream)
        books: dict[str, written_books.Books | None] = {"scheduler": _books(stream, world)}
        if stream.random() < 0.3:
            books["scheduler-2"] = _books(stream, world) if stream.random() < 0.5 else None
        result = scheduler_books.check(worlds.judged(world, plan=worlds.plan(), books=books))
        read = [item for item in books.values() if item and item.ts_ns]
        wrong = sum(_differences(item, world) for item in read)
        expected = INVALID if wrong else VALID if read else UNKNOWN
        told = result.verdict, result.violation_count, result.examined_count
        assert told == (expected, wrong, len(read)), seed
        found_in[result.verdict] += 1
    assert all(count > HISTORIES // 50 for count in found_in.values()), found_in


# ------------------------------------------------------------------------------ preparations


def test_leftover_preparations() -> None:
    found_in = dict.fromkeys(verdicts.Verdict, 0)
    for seed in range(HISTORIES):
        stream = random.Random(seed)
        world = _world(stream)
        prepared = [
            preparations.Preparation(
                node="n",
                namespace="tests",
                name=name,
                uid=f"uid-{name}",
                exclusive=frozenset(),
                from_ns=1,
                until_ns=stream.choice([None, 7]),
            )
            for name in "abcz"
            if stream.random() < 0.4
        ]
        names = [
            "load",
            stream.choice(["stopping", "stopping", "stopping", "ended early", "found"]),
        ]
        phases = [records.Phase(name=name, ts_ns=1, detail="why") for name in names]
        final = worlds.judged(world, plan=worlds.plan())[world_states.WorldState]
        result = leftover_preparations.check(prepared, final, phases)
        running = {
            pod["metadata"]["name"]
            for pod in world.pods
            if pod["status"]["phase"] in ("Running", "Pending")
        }
        used = {
            claim["metadata"]["name"]
            for claim in world.claims
            if any(user["name"] in running for user in claim["status"].get("reservedFor", ()))
        }
        left = [item for item in prepared if item.until_ns is None and item.name not in used]
        is_over = names[1] == "stopping"
        expected = UNKNOWN
        if is_over and prepared:
            expected = INVALID if left else VALID
        told = result.verdict, result.violation_count, result.examined_count
        assert told == (expected, len(left) if is_over else 0, len(prepared)), seed
        found_in[result.verdict] += 1
    assert all(count > HISTORIES // 20 for count in found_in.values()), found_in
