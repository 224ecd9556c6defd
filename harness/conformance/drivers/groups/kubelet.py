"""Rules about pods: the project's kubelet calls the driver."""

from harness.conformance import results
from harness.conformance.drivers import benches


def pod_runs(bench: benches.Bench) -> None:
    """A pod with a claim."""
    _skip(bench)


def pod_ends(bench: benches.Bench) -> None:
    """The same pod."""
    _skip(bench)


def shared_claim(bench: benches.Bench) -> None:
    """Two pods."""
    _skip(bench)


def restart(bench: benches.Bench) -> None:
    """Of both sides."""
    _skip(bench)


def forced_deletion(bench: benches.Bench) -> None:
    """Of pod and claim."""
    _skip(bench)


def _skip(bench: benches.Bench) -> None:
    del bench
    raise results.Skipped("the kubelet of this version calls no drivers through sockets")
