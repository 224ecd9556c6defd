"""Rules about a device that several claims share, each by an ID and its part of the capacity."""

from harness.conformance import allocations, benches, requirements, results


def side_by_side(bench: benches.Bench) -> None:
    claims = [bench.claim(device) for device in _places(bench, 3)]
    *first, last = claims
    entries = dict(bench.prepare(*first))
    entries[last.uid] = bench.prepared(last, "with a share of a device beside others")
    requirements.require_own(claims, entries, "with shares of a device")


def unprepared_apart(bench: benches.Bench) -> None:
    first, second = _prepared(bench)
    before = bench.prepared(second)
    bench.unprepared(first)
    requirements.require_defined(bench, before, "after another share was unprepared")
    results.require(
        bench.prepared(second, "after another share was unprepared") == before,
        "Prepare answers otherwise after another share was unprepared",
    )


def two_in_one_claim(bench: benches.Bench) -> None:
    claim = bench.claim(*_places(bench, 2), apart=True)
    entry = bench.prepared(claim, "with two shares of a device")
    requirements.require_devices({claim.uid: entry})
    requirements.require_own([claim], {claim.uid: entry})
    shares = {row["shareID"] for row in claim.rows}
    named = {device.share_id for device in entry if device.share_id}
    results.require(
        not named or named == shares,
        f"the claim has the shares {shares}, and the answer names {named}",
    )


def same_after_restart(bench: benches.Bench) -> None:
    first, second = _prepared(bench)
    before = bench.prepared(first)
    bench.restart()
    after = bench.prepared(first, "with a share, after a restart of the driver,")
    results.require(
        sorted(after, key=str) == sorted(before, key=str),
        f"after a restart, a share is answered by {after}, not {before}",
    )
    bench.unprepared(first)
    bench.prepared(second, "with a share, after another one was unprepared,")


def same_id_refused(bench: benches.Bench) -> None:
    device, *_ = _places(bench, 2)
    first = bench.claim(device)
    bench.prepared(first)
    results.require(
        bench.refusal(bench.claim(device, share_id=first.rows[0]["shareID"])),
        "a share that one claim holds is prepared for another",
    )


def beyond_capacity(bench: benches.Bench) -> None:
    device, *_ = _places(bench, 2)
    results.skip_unless(device.capacity, "the shared device has no capacity, or the claim is given")
    bench.prepared(bench.claim(device, whole=True))
    results.require(
        bench.refusal(bench.claim(device, whole=True)),
        "two claims are prepared that each have all of a device's capacity",
    )


def _prepared(bench: benches.Bench) -> list[benches.Claim]:
    claims = [bench.claim(device) for device in _places(bench, 2)]
    for claim in claims:
        bench.prepared(claim, "with a share of a device")
    return claims


def _places(bench: benches.Bench, count: int) -> list[allocations.Device]:
    """Return a device that can be shared, up to `count` times. Raises Skipped if there is none."""
    shared = [device for device in bench.devices.every() if device.is_shared]
    for device in shared:
        found = allocations.side_by_side([one for one in shared if one == device], count)
        if len(found) > 1:
            return found
    raise results.Skipped("the driver has published no device that two claims can share")
