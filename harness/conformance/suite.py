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
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

from harness import clocks, errors
from harness.client import apis, transports
from harness.cluster import embedded_cluster
from harness.cluster.kubelet_api import calls
from harness.conformance import benches, cluster_objects, driver_folders, options, results, rules

_GROUPS = "harness.conformance.groups"
_NAMESPACE = "driver-test"
Progress = Callable[[str], None]


def run(
    chosen: options.Options,
    rounds: Sequence[Sequence[rules.Rule]],
    *,
    left_out: Mapping[str, str],
    progress: Progress,
    named: Progress = lambda _: None,
) -> Generator[results.Result, None, None]:
    """Check rules and yield their results one by one; `left_out` are reasons by rule.

    Each round begins with an API server and a driver of its own. The name under which the driver
    registers is told by `named`.

    Raises ClusterError if the API server cannot be used.
    """
    for wanted in rounds:
        progress("starting the API server and the driver")
        with bench_of(chosen) as bench:
            for result in checked(bench, wanted, left_out=left_out, progress=progress):
                if not bench.instance.problem:
                    named(bench.name)
                yield result


def checked(
    bench: benches.Bench,
    wanted: Sequence[rules.Rule],
    *,
    left_out: Mapping[str, str] | None = None,
    progress: Progress = lambda _: None,
) -> Iterator[results.Result]:
    """Start the driver of a bench, and check rules as `run` does."""
    bench.start()
    for rule in wanted:
        progress(rule.id)
        obstacle = bench.obstacle
        if reason := (left_out or {}).get(rule.id, ""):
            yield results.Result(rule=rule, outcome=results.Outcome.SKIPPED, text=reason)
        elif obstacle and rule.id not in obstacle.leaves:
            undecided = results.Outcome.UNDECIDED
            yield results.Result(rule=rule, outcome=undecided, text=obstacle.text)
        elif obstacle:
            outcome, text = _outcome(bench, rule)
            yield results.Result(rule=rule, outcome=outcome, text=text)
        else:
            yield check(bench, rule)


@contextlib.contextmanager
def bench_of(chosen: options.Options) -> Iterator[benches.Bench]:
    """Provide a bench whose driver is not started yet, and leave nothing behind."""
    folders = driver_folders.make(chosen)
    try:
        with _api_server(chosen, folders.root) as known:
            transport = transports.connect(known.plain_kubeconfig)
            objects = cluster_objects.ClusterObjects(transport, _NAMESPACE)
            bench = benches.Bench(known, folders, objects)
            try:
                objects.make_namespace()
                if chosen.registry is None:
                    objects.make_node(chosen.node, boot_id=str(uuid.uuid4()))
                yield bench
            finally:
                bench.close()
                if chosen.registry is not None:  # its API server stays
                    with contextlib.suppress(errors.HarnessError):
                        objects.api.delete(apis.NAMESPACES, _NAMESPACE)
                transport.close()
    finally:
        if chosen.log is not None:
            folders.keep_log(chosen.log)
        folders.remove()


def check(bench: benches.Bench, rule: rules.Rule) -> results.Result:
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
    found: Callable[[benches.Bench], None] = getattr(
        module, rule.id.partition("/")[2].replace("-", "_")
    )
    return found


def _outcome(bench: benches.Bench, rule: rules.Rule) -> tuple[results.Outcome, str]:
    try:
        function_of(rule)(bench)
    except results.Ended as end:
        return end.outcome, str(end)
    except calls.CallError as error:
        return results.Outcome.FAILED, f"a call of the driver fails: {error}"
    except errors.HarnessError as error:
        return results.Outcome.UNDECIDED, str(error)
    return results.Outcome.HELD, ""


@contextlib.contextmanager
def _api_server(chosen: options.Options, root: pathlib.Path) -> Iterator[options.Options]:
    """Provide an API server: the options name its kubeconfigs."""
    if chosen.registry is not None:
        yield chosen
        return
    folder = root / "api"
    folder.mkdir()
    cluster = embedded_cluster.up("driver-test", folder)
    try:
        yield dataclasses.replace(
            chosen, kubeconfig=cluster.user_kubeconfig, plain_kubeconfig=cluster.kubeconfig
        )
    finally:
        cluster.down()
