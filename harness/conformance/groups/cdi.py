"""Rules about CDI ids and files, by which a container runtime gives devices to containers."""

from harness.conformance import benches, cdi_specs, requirements, results


def qualified(bench: benches.Bench) -> None:
    for item in requirements.ids(bench.prepared(bench.claim())):
        results.require(cdi_specs.is_qualified(item), f"{item!r} is not vendor/class=name")


def exist(bench: benches.Bench) -> None:
    devices = bench.prepared(bench.claim())
    requirements.ids(devices)
    requirements.require_defined(bench, devices, "when Prepare has answered")


def valid(bench: benches.Bench) -> None:
    ids = requirements.ids(bench.prepared(bench.claim()))
    files = bench.cdi()
    known = cdi_specs.definitions(files)
    for item in ids:
        for path in known.get(item, ()):
            fault = cdi_specs.fault(files[path])
            results.require(not fault, f"{path.name}: {fault}")
    results.skip_unless(any(item in known for item in ids), "no CDI file defines the ids")


def defined_once(bench: benches.Bench) -> None:
    """With as many claims as there are devices, up to four."""
    for device in bench.devices.up_to(4):
        requirements.ids(bench.prepared(bench.claim(device)))
    for item, paths in cdi_specs.definitions(bench.cdi()).items():
        names = " and ".join(path.name for path in paths[:2])
        results.require(len(paths) == 1, f"{item} is defined in {names}")


def not_reused(bench: benches.Bench) -> None:
    """An id that stays may be for all claims, if its meaning stays."""
    first = bench.claim()
    before = requirements.ids(bench.prepared(first))
    bench.unprepared(first)
    between = cdi_specs.edits(bench.cdi())
    after = requirements.ids(bench.prepared(bench.claim(*first.devices)))
    lasting = {name for name, _ in between.items() & cdi_specs.edits(bench.cdi()).items()}
    for again in set(after) & set(before) - lasting:
        raise results.Failed(f"{again} was given to two claims in turn")


def gone(bench: benches.Bench) -> None:
    bench.unprepared(bench.prepared_claim())
    requirements.require_gone(bench, "after Unprepare")


def made_again(bench: benches.Bench) -> None:
    """As by a program that cleans the folder."""
    bench.folders.require_own_cdi()
    static = cdi_specs.definitions(bench.cdi())
    claim = bench.claim()
    results.skip_unless(
        set(requirements.ids(bench.prepared(claim))) - static.keys(),
        "the CDI ids of the claim were there before it was prepared",
    )
    bench.folders.empty_cdi()
    devices = bench.prepared(claim, "whose CDI files were removed")
    for missing in set(bench.missing_ids(devices)) - static.keys():
        raise results.Failed(f"Prepare answers with {missing} and does not make its file again")
