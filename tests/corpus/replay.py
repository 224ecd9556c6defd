"""Replay recorded conversations with kube-apiserver against a server and show where its answers
differ.

    python -m tests.corpus.replay                                # all, a fresh embedded server
    python -m tests.corpus.replay --group watch --group list -v
    python -m tests.corpus.replay --kubeconfig ~/.kube/config    # a cluster to write to

Exit status: 0 when every case matches, 1 otherwise, 2 for wrong usage.
"""

import argparse
import collections
import contextlib
import json
import pathlib
import sys
from collections.abc import Sequence

from harness.client import kubeconfigs
from tests.corpus import comparing, conversing, replaying, servers, wires

DIFFERENCES_SHOWN_MAX = 5
TEXT_LENGTH_MAX = 300


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
        results = []
        for result in replaying.replay(wires.Wire(endpoint), chosen):
            _show(result, options)
            results.append(result)
    _summarise(results)
    if options.failed_ids:
        ids = [f"{result.case['id']}\n" for result in results if not result.matches]
        options.failed_ids.write_text("".join(ids))
    sys.exit(not all(_is_right(result, options) for result in results))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--kubeconfig", type=pathlib.Path, help="the server (default: a fresh embedded one)"
    )
    parser.add_argument("--group", action="append", help="only this group (may be repeated)")
    parser.add_argument("--id", action="append", help="only this case (may be repeated)")
    parser.add_argument(
        "--kubernetes",
        metavar="X.Y",
        default=replaying.KUBERNETES,
        help="only what holds for this version",
    )
    parser.add_argument(
        "--strict", action="store_true", help="another message text is a failure too"
    )
    parser.add_argument(
        "--failed-ids", type=pathlib.Path, help="write the ids of the failed cases to this file"
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show all differences, also of messages"
    )
    return parser.parse_args()


def _is_chosen(case: conversing.Case, options: argparse.Namespace) -> bool:
    in_group = not options.group or case["group"] in options.group
    return in_group and (not options.id or case["id"] in options.id)


def _is_right(result: replaying.Result, options: argparse.Namespace) -> bool:
    return result.matches and not (options.strict and result.judgement.messages)


def _show(result: replaying.Result, options: argparse.Namespace) -> None:
    judgement = result.judgement
    found = [*judgement.structure, *judgement.messages]
    if not _is_right(result, options):
        print(f"  FAILED {result.case['id']}", flush=True)
        _show_differences(found, None if options.verbose else DIFFERENCES_SHOWN_MAX)
    elif judgement.messages and options.verbose:
        print(f"  message differs {result.case['id']}", flush=True)
        _show_differences(found, None)


def _show_differences(found: Sequence[comparing.Difference], limit: int | None) -> None:
    for item in found[:limit]:
        expected, actual = _short(item.expected), _short(item.actual)
        print(f"      {item.path}\n        expected {expected}\n        actual   {actual}")
    if limit is not None and len(found) > limit:
        print(f"      ... and {len(found) - limit} more")


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= TEXT_LENGTH_MAX else text[:TEXT_LENGTH_MAX] + "..."


def _summarise(results: Sequence[replaying.Result]) -> None:
    groups = collections.defaultdict(list)
    for result in results:
        groups[result.case["group"]].append(result)
    for name, members in [*sorted(groups.items()), ("all", results)]:
        matched = sum(member.matches for member in members)
        texts = sum(bool(member.judgement.messages) for member in members)
        note = f" ({texts} with another message text)" if texts else ""
        print(f"{name:28} {matched:4}/{len(members):<4}{note}")


if __name__ == "__main__":
    main()
