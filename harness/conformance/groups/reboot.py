"""Rules about a reboot: the CDI folder is empty, and the driver's own folder is not."""

from harness.cluster.kubelet_api import boot_ids
from harness.conformance import benches, requirements, results


def files_made_again(bench: benches.Bench) -> None:
    claim = bench.claim()
    requirements.ids(bench.prepared(claim))
    bench.reboot()
    devices = bench.prepared(claim, "after a reboot")
    if missing := bench.missing_ids(devices):
        text = f"after a reboot, Prepare answers with {missing[0]} and does not make its file again"
        if boot_ids.can_be_given():
            raise results.Failed(text)
        raise results.Undecided(
            f"{text}; a driver that knows a reboot by the kernel's boot id has not seen one, "
            "since only root can give it another id"
        )


def same_devices(bench: benches.Bench) -> None:
    claim = bench.prepared_claim()
    bench.reboot()
    found = {(device.pool, device.device) for device in bench.prepared(claim, "after a reboot")}
    wanted = {(device.pool, device.name) for device in claim.devices}
    results.require(
        found == wanted, f"after a reboot, {sorted(wanted)} are answered by {sorted(found)}"
    )


def unprepare(bench: benches.Bench) -> None:
    claim = bench.prepared_claim()
    bench.reboot()
    bench.unprepared(claim, "after a reboot")
    requirements.require_free(bench, claim, "after a reboot and Unprepare")
