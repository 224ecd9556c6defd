"""Rules about pods: the project's kubelet calls the driver, in the order of the real one."""

from harness.conformance import benches, claim_documents, requirements, results


def pod_runs(bench: benches.Bench) -> None:
    bench.pods.run("first", [_claim(bench)])


def pod_ends(bench: benches.Bench) -> None:
    claim = _claim(bench)
    bench.pods.run("first", [claim])
    bench.pods.end("first")
    requirements.require_nothing(bench, claim, "after the end of its pod")


def shared_claim(bench: benches.Bench) -> None:
    """The claim is prepared once, and unprepared after the last pod."""
    claim = _claim(bench)
    for name in ("first", "second"):
        bench.pods.run(name, [claim])
    files = set(bench.cdi())
    bench.pods.end("first")
    for gone in files - set(bench.cdi()):
        raise results.Failed(f"{gone.name} is gone after the first of two pods has ended")
    bench.pods.end("second")
    requirements.require_nothing(bench, claim, "after the end of both pods")


def several_claims(bench: benches.Bench) -> None:
    """One of them is prepared already, for another pod."""
    none = bench.cdi()
    claims = shared, own = [bench.claim(device) for device in bench.devices.first(2)]
    bench.start_kubelet()
    bench.pods.run("first", [shared])
    before = bench.cdi()
    bench.pods.run("second", [shared, own])
    results.require(
        before == none or bench.cdi() != before,
        "the second pod runs, and no CDI file has come for its own claim",
    )
    for name in ("first", "second"):
        bench.pods.end(name)
    requirements.require_gone(bench, "after the end of both pods")
    for claim in claims:
        requirements.require_free(bench, claim, "after the end of both pods")


def own_devices(bench: benches.Bench) -> None:
    """Two claims of one or two requests, and a container for each request."""
    claims = [bench.claim(*devices, apart=True) for devices in bench.devices.sets(2)]
    names = [sorted({claim_documents.base(row["request"]) for row in c.rows}) for c in claims]
    requests = [(number, name) for number, listed in enumerate(names) for name in listed]
    bench.start_kubelet()
    bench.pods.run("first", claims, requests)
    infos = {info.uid: info for info in bench.kubelet.claims(bench.options.node)}
    entries = {uid: info.prepared.get(bench.name, ()) for uid, info in infos.items()}
    requirements.require_devices(entries)
    requirements.require_own(claims, entries, "of a pod that runs")
    for number, name in requests:
        info = infos[claims[number].uid]
        results.require(
            not info.cdi_ids() or info.cdi_ids(name),
            f"the container of request {name} runs, and has no CDI id",
        )


def restart(bench: benches.Bench) -> None:
    """The records of the driver and of the kubelet are what is left."""
    claim = _claim(bench)
    bench.pods.run("first", [claim])
    bench.kubelet.kill()
    bench.restart()
    bench.start_kubelet()
    bench.pods.end("first")
    requirements.require_nothing(bench, claim, "after a restart and the end of its pod")


def reboot(bench: benches.Bench) -> None:
    """The second pod stands for the first one, whose containers have to start again."""
    claim = _claim(bench)
    bench.pods.run("first", [claim])
    bench.kubelet.kill()
    bench.reboot()
    bench.start_kubelet()
    bench.pods.run("second", [claim])


def forced_deletion(bench: benches.Bench) -> None:
    """The kubelet ends what the API server has forgotten."""
    claim = _claim(bench)
    bench.pods.run("first", [claim])
    bench.pods.remove_by_force("first")
    bench.remove(claim)
    bench.pods.run("second", [bench.claim(*claim.devices)])
    bench.pods.end("second")


def _claim(bench: benches.Bench) -> benches.Claim:
    claim = bench.claim()
    bench.start_kubelet()
    return claim
