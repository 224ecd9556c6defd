"""Rules about calls at the same time."""

from harness.cluster.kubelet_api import calls, preparations
from harness.conformance import results
from harness.conformance.drivers import answers, benches, driver_calls
from harness.conformance.drivers.groups import unprepare

_CALLS = 8
_ROUNDS = 5


def same_claim(bench: benches.Bench) -> None:
    """As several kubelets would, or one whose calls were cancelled."""
    claim = bench.claim()
    pending = [bench.driver.start_prepare([claim.reference]) for _ in range(_CALLS)]
    found = {str(_entry(bench, call, claim)) for call in pending}
    if len(found) > 1:
        raise results.Failed(f"calls for one claim at the same time give {' and '.join(found)}")


def different_claims(bench: benches.Bench) -> None:
    """Pods that start together."""
    claims = [bench.claim(*devices, apart=True) for devices in bench.sets(_CALLS)]
    pending = [(claim, bench.driver.start_prepare([claim.reference])) for claim in claims]
    entries = {claim.uid: _entry(bench, call, claim) for claim, call in pending}
    answers.require_own(claims, entries, "in calls at the same time")
    for claim in claims:
        if missing := bench.missing_ids(answers.devices(entries, claim)):
            raise results.Failed(f"beside other calls, no CDI file defines {missing[0]}")


def prepare_and_unprepare(bench: benches.Bench) -> None:
    """In either order."""
    files = set(bench.cdi())
    claim = bench.claim()
    for number in range(_ROUNDS):
        starts = [bench.driver.start_prepare, bench.driver.start_unprepare]
        pending = [start([claim.reference]) for start in starts[:: 1 if number % 2 else -1]]
        for call in pending:
            _entry(bench, call, claim)
    bench.unprepared(claim, "after calls at the same time")
    unprepare.require_nothing(bench, claim, files, "after calls at the same time")


def one_device(bench: benches.Bench) -> None:
    """Several times, since it depends on the moment."""
    device = bench.exclusive_device()
    for _ in range(_ROUNDS):
        claims = [bench.claim(device) for _ in range(2)]
        pending = [(claim, bench.driver.start_prepare([claim.reference])) for claim in claims]
        entries = [_entry(bench, call, claim) for claim, call in pending]
        if sum(isinstance(entry, tuple) for entry in entries) > 1:
            raise results.Failed("two claims with one device are prepared at the same time")
        bench.unprepare(*claims)


def _entry(
    bench: benches.Bench, pending: driver_calls.Pending, claim: benches.Claim
) -> driver_calls.Entry:
    try:
        answer = bench.answered(pending, "one of several calls at the same time")
    except calls.CallError as error:
        return preparations.PreparationError("CallFailed", str(error))
    return answer.get(claim.uid)
