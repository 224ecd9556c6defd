"""Rules about CDI ids and files, by which a container runtime gives devices to containers."""

from harness.conformance import results
from harness.conformance.drivers import benches, cdi_specs


def qualified(bench: benches.Bench) -> None:
    """The form that runtimes parse."""
    for item in bench.ids(bench.prepared(bench.claim())):
        if not cdi_specs.is_qualified(item):
            raise results.Failed(f"{item!r} is not vendor/class=name")


def exist(bench: benches.Bench) -> None:
    """When Prepare has answered, the container may start."""
    devices = bench.prepared(bench.claim())
    bench.ids(devices)
    if missing := bench.missing_ids(devices):
        raise results.Failed(f"no CDI file defines {missing[0]}")


def valid(bench: benches.Bench) -> None:
    """The files that define the ids."""
    ids = bench.ids(bench.prepared(bench.claim()))
    files = bench.cdi()
    known = cdi_specs.definitions(files)
    for item in ids:
        for path in known.get(item, ()):
            for fault in cdi_specs.faults(files[path]):
                raise results.Failed(f"{path.name}: {fault}")
    if not any(item in known for item in ids):
        raise results.Skipped("no CDI file defines the ids")


def defined_once(bench: benches.Bench) -> None:
    """With as many claims as there are devices, up to four."""
    for device in bench.up_to(4):
        bench.ids(bench.prepared(bench.claim(device)))
    for item, paths in cdi_specs.definitions(bench.cdi()).items():
        if len(paths) > 1:
            names = " and ".join(path.name for path in paths[:2])
            raise results.Failed(f"{item} is defined in {names}")


def not_reused(bench: benches.Bench) -> None:
    """One claim after the other. An id that stays may be for all claims, if its meaning stays."""
    first = bench.claim()
    before = bench.ids(bench.prepared(first))
    bench.unprepared(first)
    between = cdi_specs.edits(bench.cdi())
    after = bench.ids(bench.prepared(bench.claim(*first.devices)))
    lasting = {name for name, _ in between.items() & cdi_specs.edits(bench.cdi()).items()}
    if again := set(after) & set(before) - lasting:
        raise results.Failed(f"{min(again)} was given to two claims in turn")


def gone(bench: benches.Bench) -> None:
    """Files that were there before the claim may stay."""
    before = set(bench.cdi())
    claim = bench.prepared_claim()
    bench.unprepared(claim)
    if left := set(bench.cdi()) - before:
        raise results.Failed(f"{min(left).name} is still there after Unprepare")


def made_again(bench: benches.Bench) -> None:
    """As by a program that cleans the folder."""
    if bench.folders.cdi_of_node is not None:
        raise results.Skipped("the CDI folder is the node's own, and is not emptied")
    static = cdi_specs.definitions(bench.cdi())
    claim = bench.claim()
    if not set(bench.ids(bench.prepared(claim))) - static.keys():
        raise results.Skipped("the CDI ids of the claim were there before it was prepared")
    bench.folders.empty_cdi()
    devices = bench.prepared(claim, "whose CDI files were removed")
    if missing := set(bench.missing_ids(devices)) - static.keys():
        raise results.Failed(
            f"Prepare answers with {min(missing)} and does not make its file again"
        )
