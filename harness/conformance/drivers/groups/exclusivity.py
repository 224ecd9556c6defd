"""Rules about one device in two claims: the driver is the last one who can refuse it."""

from harness.conformance import results
from harness.conformance.drivers import benches


def device_held(bench: benches.Bench) -> None:
    """As after a pod was deleted by force, while its containers still run."""
    claim = bench.prepared_claim(bench.exclusive_device())
    if not bench.refusal(bench.claim(*claim.devices)):
        raise results.Failed("a device that one claim holds is prepared for another")


def held_after_restart(bench: benches.Bench) -> None:
    """A driver that knows it in memory only forgets it."""
    claim = bench.prepared_claim(bench.exclusive_device())
    if not bench.refusal(bench.claim(*claim.devices)):
        raise results.Skipped("the driver does not refuse it before a restart, either")
    bench.restart()
    if not bench.refusal(bench.claim(*claim.devices)):
        raise results.Failed(
            "after a restart, a device that one claim holds is prepared for another"
        )


def holder_unharmed(bench: benches.Bench) -> None:
    """The refusal changes nothing."""
    claim = bench.claim(bench.exclusive_device())
    before = bench.prepared(claim)
    second = bench.claim(*claim.devices)
    if not bench.refusal(second):
        raise results.Skipped("the driver does not refuse a device that another claim holds")
    bench.unprepared(second, "of the refused claim")
    if missing := bench.missing_ids(before):
        raise results.Failed(f"{missing[0]} of the holder is gone after another claim was refused")
    if not bench.refusal(bench.claim(*claim.devices)):
        raise results.Failed("the end of a refused claim frees the device of the holder")


def admin_access(bench: benches.Bench) -> None:
    """Such a claim has the device beside the others."""
    bench.prepared(bench.claim(bench.exclusive_device()))
    bench.prepared(
        bench.claim(bench.exclusive_device(), admin=True), "with admin access to a held device"
    )
