"""Rules about pods: the project's kubelet calls the driver, in the order of the real one."""

from harness.conformance import results
from harness.conformance.drivers import answers, benches, claim_documents
from harness.conformance.drivers.groups import unprepare


def pod_runs(bench: benches.Bench) -> None:
    """It runs once its CDI ids are found in the files."""
    claim = bench.claim()
    bench.start_kubelet()
    _run(bench, "first", claim)


def pod_ends(bench: benches.Bench) -> None:
    """It is gone once the driver has unprepared its claim."""
    files = set(bench.cdi())
    claim = bench.claim()
    bench.start_kubelet()
    _run(bench, "first", claim)
    bench.pods.end("first")
    unprepare.require_nothing(bench, claim, files, "after the end of its pod")


def shared_claim(bench: benches.Bench) -> None:
    """The claim is prepared once, and unprepared after the last pod."""
    before = set(bench.cdi())
    claim = bench.claim()
    bench.start_kubelet()
    for name in ("first", "second"):
        _run(bench, name, claim)
    files = set(bench.cdi())
    bench.pods.end("first")
    if gone := files - set(bench.cdi()):
        raise results.Failed(f"{min(gone).name} is gone after the first of two pods has ended")
    bench.pods.end("second")
    unprepare.require_nothing(bench, claim, before, "after the end of both pods")


def several_claims(bench: benches.Bench) -> None:
    """One of them is prepared already, for another pod."""
    none = bench.cdi()
    claims = shared, own = [bench.claim(device) for device in bench.devices(2)]
    bench.start_kubelet()
    _run(bench, "first", shared)
    before = bench.cdi()
    _run(bench, "second", shared, own)
    if before != none and bench.cdi() == before:
        raise results.Failed("the second pod runs, and no CDI file has come for its own claim")
    for name in ("first", "second"):
        bench.pods.end(name)
    if left := bench.cdi().keys() - none:
        raise results.Failed(f"after the end of both pods, {min(left).name} is left")
    for claim in claims:
        unprepare.require_free(bench, claim, "after the end of both pods")


def own_devices(bench: benches.Bench) -> None:
    """Two claims of one or two requests, and a container for each request."""
    claims = [bench.claim(*devices, apart=True) for devices in bench.sets(2)]
    names = [sorted({claim_documents.base(row["request"]) for row in c.rows}) for c in claims]
    requests = [(number, name) for number, listed in enumerate(names) for name in listed]
    kubelet = bench.start_kubelet()
    bench.pods.make("first", [claim.reference for claim in claims], requests)
    bench.pods.require_running("first")
    infos = {info.uid: info for info in kubelet.claims()}
    entries = {uid: info.prepared.get(bench.name, ()) for uid, info in infos.items()}
    answers.require_devices(entries)
    answers.require_own(claims, entries, "of a pod that runs")
    for number, name in requests:
        info = infos[claims[number].uid]
        if info.cdi_ids() and not info.cdi_ids(name):
            raise results.Failed(f"the container of request {name} runs, and has no CDI id")


def restart(bench: benches.Bench) -> None:
    """The records of the driver and of the kubelet are what is left."""
    before = set(bench.cdi())
    claim = bench.claim()
    kubelet = bench.start_kubelet()
    _run(bench, "first", claim)
    kubelet.kill()
    bench.restart()
    bench.start_kubelet()
    bench.pods.end("first")
    unprepare.require_nothing(bench, claim, before, "after a restart and the end of its pod")


def reboot(bench: benches.Bench) -> None:
    """The second pod stands for the first one, whose containers have to start again."""
    claim = bench.claim()
    kubelet = bench.start_kubelet()
    _run(bench, "first", claim)
    kubelet.kill()
    bench.reboot()
    bench.start_kubelet()
    _run(bench, "second", claim)


def forced_deletion(bench: benches.Bench) -> None:
    """The kubelet ends what the API server has forgotten."""
    claim = bench.claim()
    bench.start_kubelet()
    _run(bench, "first", claim)
    bench.pods.remove_by_force("first")
    bench.remove(claim)
    second = bench.claim(*claim.devices)
    _run(bench, "second", second)
    bench.pods.end("second")


def _run(bench: benches.Bench, pod: str, *claims: benches.Claim) -> None:
    """Make a pod with claims, and wait until it runs."""
    bench.pods.make(pod, [claim.reference for claim in claims])
    bench.pods.require_running(pod)
