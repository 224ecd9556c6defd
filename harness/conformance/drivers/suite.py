"""A run of the suite: an API server, a node, the driver, and one rule after the other.

1. Start an API server of its own, unless the driver runs already on another one.
2. Make the node, a namespace, and the short folders for sockets.
3. Start the driver and register it.
4. Check each rule; after a failure, start the driver from nothing, so that one rule is to blame.
5. End the driver and the API server, and remove the folders.
"""

import contextlib
import dataclasses
import importlib
import pathlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence

from harness import clocks, errors
from harness.client import apis, transports
from harness.cluster import embedded_cluster
from harness.cluster.kubelet_api import calls
from harness.conformance import results, rules
from harness.conformance.drivers import (
    benches,
    cluster_objects,
    driver_folders,
)

_GROUPS = "harness.conformance.drivers.groups"
_NAMESPACE = "driver-test"


Progress = Callable[[str], None]


def run(
    options: benches.Options,
    chosen: Sequence[rules.Rule],
    *,
    left_out: Mapping[str, str],
    progress: Progress,
    named: Progress | None = None,
) -> Iterator[results.Result]:
    """Check rules and yield their results one by one; `left_out` are reasons by rule.

    The name under which the driver registers is told by `named`.

    Raises ClusterError if the API server cannot be used.
    """
    progress("starting the API server and the driver")
    with bench_of(options) as bench:
        for result in checked(bench, chosen, left_out=left_out, progress=progress):
            if named is not None and not bench.instance.problem:
                named(bench.name)
            yield result


def checked(
    bench: benches.Bench,
    chosen: Sequence[rules.Rule],
    *,
    left_out: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Iterator[results.Result]:
    """Start the driver of a bench, and check rules as `run` does."""
    bench.start()
    for rule in chosen:
        if progress is not None:
            progress(rule.id)
        yield _checked(bench, rule, (left_out or {}).get(rule.id, ""))


@contextlib.contextmanager
def bench_of(options: benches.Options) -> Iterator[benches.Bench]:
    """Provide a bench whose driver is not started yet, and leave nothing behind."""
    folders, attached = driver_folders.make(options.cdi_folder), options.attached
    seen = folders
    if attached is not None:
        seen = dataclasses.replace(
            folders, registry_of_node=attached.registry, socket=attached.socket
        )
    try:
        with _api_server(options, folders) as (plain, tls):
            transport = transports.connect(plain)
            objects = cluster_objects.ClusterObjects(transport)
            known = dataclasses.replace(options, kubeconfig=tls, plain_kubeconfig=plain)
            bench = benches.Bench(known, seen, objects, namespace=_NAMESPACE)
            try:
                objects.make_namespace(_NAMESPACE)
                if attached is None:
                    objects.make_node(options.node, boot_id=str(uuid.uuid4()))
                yield bench
            finally:
                bench.close()
                if attached is not None:  # its API server stays
                    with contextlib.suppress(errors.HarnessError):
                        objects.api.delete(apis.NAMESPACES, _NAMESPACE)
                transport.close()
    finally:
        if options.log is not None:
            folders.keep_log(options.log)
        folders.remove()


def check(bench: benches.Bench, rule: rules.Rule) -> results.Result:
    """Check one rule with a driver that runs."""
    started_ns = clocks.monotonic_ns()
    bench.await_ready()
    outcome, text = _outcome(bench, rule)
    try:
        ended = bench.settle()
    except (errors.HarnessError, calls.CallError) as error:
        ended = f"the claims of the rule cannot be removed: {error}"
    if ended and outcome is not results.Outcome.FAILED:
        outcome, text = results.Outcome.FAILED, ended
    if outcome is results.Outcome.FAILED:
        bench.begin_afresh()
    seconds = (clocks.monotonic_ns() - started_ns) / 1e9
    return results.Result(rule=rule, outcome=outcome, text=text, seconds=seconds)


def function_of(rule: rules.Rule) -> Callable[[benches.Bench], None]:
    module = importlib.import_module(f"{_GROUPS}.{rule.group}")
    name = rule.id.partition("/")[2].replace("-", "_")
    found: Callable[[benches.Bench], None] = getattr(module, name)
    return found


def _checked(bench: benches.Bench, rule: rules.Rule, reason: str) -> results.Result:
    if reason:
        return results.Result(rule=rule, outcome=results.Outcome.SKIPPED, text=reason)
    if (obstacle := bench.obstacle) and rule.id not in obstacle.leaves:
        text = obstacle.text
        return results.Result(rule=rule, outcome=results.Outcome.UNDECIDED, text=text)
    if obstacle:
        outcome, text = _outcome(bench, rule)
        return results.Result(rule=rule, outcome=outcome, text=text)
    return check(bench, rule)


def _outcome(bench: benches.Bench, rule: rules.Rule) -> tuple[results.Outcome, str]:
    try:
        function_of(rule)(bench)
    except results.Failed as failure:
        return results.Outcome.FAILED, str(failure)
    except results.Skipped as reason:
        return results.Outcome.SKIPPED, str(reason)
    except calls.CallError as error:
        return results.Outcome.FAILED, f"a call of the driver fails: {error}"
    except (results.Undecided, errors.HarnessError) as error:
        return results.Outcome.UNDECIDED, str(error)
    return results.Outcome.HELD, ""


@contextlib.contextmanager
def _api_server(
    options: benches.Options, folders: driver_folders.Folders
) -> Iterator[tuple[pathlib.Path, pathlib.Path]]:
    """Provide an API server: its kubeconfigs for this process and for the driver."""
    if options.attached is not None:
        yield options.attached.kubeconfig, options.attached.kubeconfig
        return
    folder = folders.root / "api"
    folder.mkdir()
    cluster = embedded_cluster.up("driver-test", folder)
    try:
        yield cluster.kubeconfig, cluster.user_kubeconfig
    finally:
        cluster.down()
