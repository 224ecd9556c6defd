"""Rules about what the driver prints."""

import yaml

from harness.conformance import benches, results

_CHARACTERS_MIN = 8
"""Shorter values are no secrets."""


def no_secrets(bench: benches.Bench) -> None:
    bench.require_restarts()
    bench.prepared(bench.claim())
    kubeconfig = yaml.safe_load(bench.options.kubeconfig.read_text())
    printed = bench.folders.log.read_text(errors="replace")
    for user in kubeconfig.get("users") or ():
        for key, value in (user.get("user") or {}).items():
            if len(str(value)) >= _CHARACTERS_MIN and str(value) in printed:
                raise results.Failed(f"the driver prints the {key} of its kubeconfig")
