"""Rules about NodeUnprepareResources."""

import dataclasses
import uuid

from harness.conformance import benches, requirements, results


def never_prepared(bench: benches.Bench) -> None:
    bench.unprepared(bench.claim(), "of a claim that was never prepared")
    bench.unprepared(bench.never_made(), "of a claim that never was")


def twice(bench: benches.Bench) -> None:
    claim = bench.prepared_claim()
    bench.unprepared(claim)
    bench.unprepared(claim, "a second time")
    bench.remove(claim)
    bench.unprepared(claim, "of a claim that is long gone")


def after_failed_prepare(bench: benches.Bench) -> None:
    """A file stands where the CDI folder was: Prepare fails in the midst of its work."""
    claim = bench.claim()
    with bench.folders.without_cdi():
        reason = bench.refusal(claim)
    bench.unprepared(claim, "after a Prepare that failed")
    results.skip_unless(reason, "the driver prepares without the CDI folder")
    requirements.require_free(bench, claim, "after a Prepare that failed, and Unprepare,")


def deleted_claim(bench: benches.Bench) -> None:
    claim = bench.prepared_claim()
    bench.remove(claim)
    bench.unprepared(claim, "of a prepared claim that was deleted")
    requirements.require_free(bench, claim, "after it was unprepared, deleted")


def frees_device(bench: benches.Bench) -> None:
    claim = bench.prepared_claim()
    bench.unprepared(claim)
    requirements.require_free(bench, claim, "after it was unprepared")


def after_restart(bench: benches.Bench) -> None:
    claim = bench.prepared_claim()
    bench.restart()
    bench.unprepared(claim, "after a restart of the driver")
    requirements.require_nothing(bench, claim, "after a restart of the driver and Unprepare")


def deleted_while_down(bench: benches.Bench) -> None:
    claim = _deleted_while_down(bench)
    bench.unprepared(claim, "of a claim that was deleted while the driver was down")
    requirements.require_gone(bench, "for a claim that was deleted while the driver was down")
    requirements.require_free(
        bench, claim, "after it was deleted while the driver was down, and unprepared"
    )


def reconciled(bench: benches.Bench) -> None:
    """No call ever comes for the claim."""
    claim = _deleted_while_down(bench)
    try:
        requirements.require_free(
            bench, claim, "of a claim that is gone, after a restart of the driver,"
        )
    finally:
        bench.unprepared(claim)


def by_uid(bench: benches.Bench) -> None:
    """The name alone is not the claim."""
    claim = bench.claim()
    devices = bench.prepared(claim)
    other = dataclasses.replace(claim, uid=str(uuid.uuid4()))
    bench.unprepared(other, "of another uid")
    requirements.require_defined(bench, devices, "after Unprepare of another uid")
    if not claim.devices[0].is_shared:
        _require_still_held(bench, claim)


def _deleted_while_down(bench: benches.Bench) -> benches.Claim:
    claim = bench.prepared_claim()
    bench.require_restarts()
    bench.instance.kill()
    bench.remove(claim)
    bench.start_again()
    return claim


def _require_still_held(bench: benches.Bench, claim: benches.Claim) -> None:
    """Raise Failed if a driver that refuses held devices does not hold those of the claim."""
    second = bench.claim(*claim.devices)
    if bench.refusal(second):
        return
    bench.unprepare(second, claim)
    bench.prepared(claim)
    results.require(
        not bench.refusal(bench.claim(*claim.devices)),
        "Unprepare of another uid has freed the device of the prepared claim",
    )
