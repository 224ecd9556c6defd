"""Replay recorded conversations with kube-apiserver against a server and show where its answers
differ.

    python -m tests.corpus.replay                                # all, a fresh embedded server
    python -m tests.corpus.replay --group watch --group list
    python -m tests.corpus.replay --kubeconfig ~/.kube/config    # a cluster to write to

Exit status: 0 when every case matches, 1 otherwise, 2 for wrong usage.
"""

import argparse
import contextlib
import json
import pathlib
import sys

from harness.client import kubeconfigs
from tests.corpus import conversing, replaying, servers, wires


def main() -> None:
    options = _options()
    chosen = [case for case in replaying.cases(options.kubernetes) if _is_chosen(case, options)]
    if not chosen:
        sys.exit(2)
    with contextlib.ExitStack() as stack:
        if options.kubeconfig:
            endpoint = kubeconfigs.load(options.kubeconfig)
        else:
            endpoint = stack.enter_context(servers.running())
        results = list(replaying.replay(wires.Wire(endpoint), chosen))
    failed = [result for result in results if result.differences]
    for result in failed:
        print(f"FAILED {result.case['id']}")
        for item in result.differences:
            expected, actual = map(json.dumps, (item.expected, item.actual))
            print(f"  {item.path}\n    expected {expected}\n    actual   {actual}")
    print(f"{len(results) - len(failed)} of {len(results)} match")
    sys.exit(bool(failed))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kubeconfig", type=pathlib.Path, help="the server, if not a fresh one")
    parser.add_argument("--group", action="append", help="only this group (may be repeated)")
    parser.add_argument("--id", action="append", help="only this case (may be repeated)")
    parser.add_argument("--kubernetes", default=replaying.KUBERNETES, help="its version, as X.Y")
    return parser.parse_args()


def _is_chosen(case: conversing.Case, options: argparse.Namespace) -> bool:
    in_group = not options.group or case["group"] in options.group
    return in_group and (not options.id or case["id"] in options.id)


if __name__ == "__main__":
    main()
