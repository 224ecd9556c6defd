"""Rules about NodeUnprepareResources."""

import pathlib
import uuid

from harness.conformance import results
from harness.conformance.drivers import benches, driver_calls


def never_prepared(bench: benches.Bench) -> None:
    """A claim of the API server, and one that never was."""
    bench.unprepared(bench.claim(), "of a claim that was never prepared")
    bench.unprepared(bench.never_made(), "of a claim that never was")


def twice(bench: benches.Bench) -> None:
    """Again at once, and again when the claim is gone."""
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
    if not reason:
        raise results.Skipped("the driver prepares without the CDI folder")
    require_free(bench, claim, "after a Prepare that failed, and Unprepare,")


def deleted_claim(bench: benches.Bench) -> None:
    """The API server has nothing to read any more."""
    claim = bench.prepared_claim()
    bench.remove(claim)
    bench.unprepared(claim, "of a prepared claim that was deleted")
    require_free(bench, claim, "after it was unprepared, deleted")


def frees_device(bench: benches.Bench) -> None:
    """The next claim gets it."""
    claim = bench.prepared_claim()
    bench.unprepared(claim)
    require_free(bench, claim, "after it was unprepared")


def after_restart(bench: benches.Bench) -> None:
    """By kill -9, as a crash."""
    files = set(bench.cdi())
    claim = bench.prepared_claim()
    bench.restart()
    bench.unprepared(claim, "after a restart of the driver")
    require_nothing(bench, claim, files, "after a restart of the driver and Unprepare")


def deleted_while_down(bench: benches.Bench) -> None:
    """The kubelet calls as soon as the driver is there again."""
    files = set(bench.cdi())
    claim = bench.prepared_claim()
    bench.require_restarts()
    bench.instance.kill()
    bench.remove(claim)
    bench.start_again()
    bench.unprepared(claim, "of a claim that was deleted while the driver was down")
    require_gone(bench, files, "for a claim that was deleted while the driver was down")
    require_free(bench, claim, "after it was deleted while the driver was down, and unprepared")


def reconciled(bench: benches.Bench) -> None:
    """No call ever comes for the claim."""
    claim = bench.prepared_claim()
    bench.require_restarts()
    bench.instance.kill()
    bench.remove(claim)
    bench.start_again()
    try:
        require_free(bench, claim, "of a claim that is gone, after a restart of the driver,")
    finally:
        bench.unprepared(claim)


def by_uid(bench: benches.Bench) -> None:
    """The name alone is not the claim."""
    claim = bench.claim()
    devices = bench.prepared(claim)
    namespace, name, _ = claim.reference
    other = driver_calls.Claim(namespace, name, str(uuid.uuid4()))
    bench.unprepared(benches.Claim(reference=other, devices=()), "of another uid")
    if missing := bench.missing_ids(devices):
        raise results.Failed(
            f"Unprepare of another uid has removed {missing[0]} of the prepared claim"
        )
    if not claim.devices[0].is_shared:
        _require_still_held(bench, claim)


def require_nothing(
    bench: benches.Bench, claim: benches.Claim, before: set[pathlib.Path], when: str
) -> None:
    """Raise Failed if a claim has left CDI files, or has its devices still."""
    require_gone(bench, before, when)
    require_free(bench, claim, when)


def require_gone(bench: benches.Bench, before: set[pathlib.Path], when: str) -> None:
    """Raise Failed if there are other CDI files than before."""
    if left := set(bench.cdi()) - before:
        raise results.Failed(f"{min(left).name} is left {when}")


def require_free(bench: benches.Bench, claim: benches.Claim, when: str) -> None:
    """Raise Failed if the devices of a claim cannot be prepared for another one."""
    if reason := bench.refusal(bench.claim(*claim.devices)):
        raise results.Failed(f"the device {when} cannot be prepared for another claim: {reason}")


def _require_still_held(bench: benches.Bench, claim: benches.Claim) -> None:
    """Raise Failed if a driver that refuses held devices does not hold those of the claim."""
    second = bench.claim(*claim.devices)
    if bench.refusal(second):
        return
    bench.unprepare(second, claim)
    bench.prepared(claim)
    if bench.refusal(bench.claim(*claim.devices)):
        raise results.Failed("Unprepare of another uid has freed the device of the prepared claim")
