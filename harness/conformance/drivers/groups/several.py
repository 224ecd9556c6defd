"""Rules about calls with several claims: a pod may have many."""

import contextlib
from collections.abc import Callable, Sequence

from harness.cluster.kubelet_api import calls, preparations
from harness.conformance import results
from harness.conformance.drivers import answers, benches, driver_calls
from harness.conformance.drivers.groups import unprepare


def all_prepared(bench: benches.Bench) -> None:
    """Three claims, or as many as there are devices."""
    claims = _claims(bench)
    _require_entries(_called(lambda: bench.prepare(*claims)), claims, "NodePrepareResources")


def own_devices(bench: benches.Bench) -> None:
    """Claims of two requests, where the devices are enough; each is prepared alone before."""
    claims = _claims(bench)
    alone = {claim.uid: _edits_alone(bench, claim) for claim in claims}
    answer = _called(lambda: bench.prepare(*claims))
    answers.require_devices(answer)
    answers.require_own(claims, answer)
    for claim in claims:
        edits = {*bench.edits(answers.devices(answer, claim))} - {*alone[claim.uid]}
        if any(edits & {*alone[other.uid]} for other in claims):
            raise results.Failed("the CDI ids of a claim have the edits of another one")
    for number, claim in enumerate(claims):
        bench.unprepared(claim)
        for other in claims[number + 1 :]:
            if missing := bench.missing_ids(answers.devices(answer, other)):
                raise results.Failed(f"the end of a claim takes {missing[0]} of another one")


def all_unprepared(bench: benches.Bench) -> None:
    """The same ones."""
    claims = _claims(bench)
    bench.prepare(*claims)
    _require_entries(_called(lambda: bench.unprepare(*claims)), claims, "NodeUnprepareResources")


def one_bad(bench: benches.Bench) -> None:
    """The bad one is not in the API server."""
    *good, bad = _claims(bench)
    bench.remove(bad)
    try:
        answer = bench.prepare(*good, bad)
    except calls.CallError as error:
        raise results.Failed(f"a claim that is gone fails the whole call: {error}") from None
    if not isinstance(answer.get(bad.uid), preparations.PreparationError):
        raise results.Failed("the claim that is gone has no error in the answer")
    answers.require_own(good, answer, "beside a bad one")


def one_bad_then_good(bench: benches.Bench) -> None:
    """The kubelet leaves the bad one out, when its pod is gone."""
    *good, bad = _claims(bench)
    files = set(bench.cdi())
    bench.remove(bad)
    with contextlib.suppress(calls.CallError):  # the whole call may be refused
        bench.prepare(*good, bad)
    for claim in good:
        entry = bench.prepared(claim, "after a call with a bad one")
        answers.require_own([claim], {claim.uid: entry}, "after a call with a bad one")
        bench.unprepared(claim)
    bench.unprepared(bad, "of the bad claim")
    unprepare.require_gone(bench, files, "after a call with a bad claim")
    for claim in (*good, bad):
        unprepare.require_free(bench, claim, "after a call with a bad claim")


def unprepare_one_unknown(bench: benches.Bench) -> None:
    """The kubelet calls for claims that it never got to prepare."""
    claims = _claims(bench)
    bench.prepare(*claims)
    unknown = bench.never_made()
    answer = _called(lambda: bench.unprepare(unknown, *claims))
    for uid, entry in answer.items():
        if entry is not None:
            raise results.Failed(f"beside an unknown claim, claim {uid} is not unprepared: {entry}")
    _require_entries(answer, [unknown, *claims], "NodeUnprepareResources")
    for claim in claims:
        unprepare.require_free(bench, claim, "after a call with an unknown claim")


def none(bench: benches.Bench) -> None:
    """Both calls."""
    answers = [_called(bench.prepare), _called(bench.unprepare)]
    if any(answers):
        raise results.Failed("a call without claims is answered with claims")


def _claims(bench: benches.Bench) -> list[benches.Claim]:
    """Return two or three claims of one or two requests. Raises Skipped if there are not two."""
    return [bench.claim(*devices, apart=True) for devices in bench.sets(3)]


def _edits_alone(bench: benches.Bench, claim: benches.Claim) -> list[str]:
    edits = bench.edits(bench.prepared(claim))
    bench.unprepared(claim)
    return edits


def _called(call: Callable[[], driver_calls.Answer]) -> driver_calls.Answer:
    try:
        return call()
    except calls.CallError as error:
        raise results.Failed(f"a call of several claims fails as a whole: {error}") from None


def _require_entries(
    answer: driver_calls.Answer, claims: Sequence[benches.Claim], method: str
) -> None:
    wanted = {claim.uid for claim in claims}
    if missing := wanted - answer.keys():
        raise results.Failed(
            f"the answer of {method} lacks {len(missing)} of {len(claims)} claims of the call"
        )
    if unknown := answer.keys() - wanted:
        raise results.Failed(
            f"the answer of {method} has {min(unknown)!r:.60}, which is no claim of the call"
        )
    for uid, entry in answer.items():
        if isinstance(entry, preparations.PreparationError):
            raise results.Failed(f"{method} of {len(claims)} claims fails for {uid}: {entry}")
