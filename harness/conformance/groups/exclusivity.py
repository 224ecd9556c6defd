"""Rules about one device in two claims: the driver is the last one who can refuse it."""

from harness.conformance import benches, requirements, results


def device_held(bench: benches.Bench) -> None:
    """As after a pod was deleted by force, while its containers still run."""
    claim = bench.prepared_claim(bench.devices.exclusive()[0])
    results.require(
        bench.refusal(bench.claim(*claim.devices)),
        "a device that one claim holds is prepared for another",
    )


def held_after_restart(bench: benches.Bench) -> None:
    claim = bench.prepared_claim(bench.devices.exclusive()[0])
    requirements.require_exclusive(bench, bench.claim(*claim.devices))
    bench.restart()
    results.require(
        bench.refusal(bench.claim(*claim.devices)),
        "after a restart, a device that one claim holds is prepared for another",
    )


def holder_unharmed(bench: benches.Bench) -> None:
    claim = bench.claim(bench.devices.exclusive()[0])
    before = bench.prepared(claim)
    second = bench.claim(*claim.devices)
    requirements.require_exclusive(bench, second)
    bench.unprepared(second, "of the refused claim")
    requirements.require_defined(bench, before, "after another claim than the holder was refused")
    results.require(
        bench.refusal(bench.claim(*claim.devices)),
        "the end of a refused claim frees the device of the holder",
    )


def admin_access(bench: benches.Bench) -> None:
    device = bench.devices.exclusive()[0]
    bench.prepared(bench.claim(device))
    bench.prepared(bench.claim(device, admin=True), "with admin access to a held device")
