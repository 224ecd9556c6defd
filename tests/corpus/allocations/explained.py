"""Why an outcome is not as kube-scheduler 1.36.2's, for each case of the corpus where it is not."""

MATCH = "in 1.36.2 a list matches no other device; here two lists match if they share a value"
DISTINCT = (
    "kubernetes#140438: in 1.36.2 distinctAttribute remembers one value for each request, and does"
    " not compare lists; here all devices are compared"
)
LEAK = (
    "kubernetes#140431: in 1.36.2 a device that a constraint or a taint refuses keeps its counters;"
    " here they are taken with the device"
)
LISTS = f"{MATCH}; {DISTINCT}"
WRITES = (
    "1.36.2 adds a time to an allocation that has none, which the API server refuses; writes of"
    " PreBind are not part of this replay"
)
OLDER = "recorded with 1.34.2, which leaves the tolerations out of the result"
OLDER_EFFECTS = "recorded with 1.34.2, in which a taint of effect None keeps a device out as well"
REPEATED = "kubernetes#139730: in 1.36.2 configuration comes once for each of its requests"
CHARGED = "kubernetes#140729: in 1.36.2 admin access takes counters"
NOT_READY = "kubernetes#141829: in 1.36.2 a pool that is not ready ends an attempt for all devices"
GONE = "kubernetes#140802: in 1.36.2 a device in use that left its slices takes no counters"
IN_PART = "kubernetes#140769: in 1.36.2 all devices are those with capacity left"
SELECTORS = (
    "our scheduler refuses selectors with `find`, `indexOf` of a list, addresses and formats"
)
SUBSTRING = "Google's implementation in C++ fails where a substring ends at the end of such a text"
ROOM = "our scheduler looks neither at CPU and memory nor at how full nodes are"
INTEGERS = "kubernetes#140160: 1.36.2 counts the steps of a range in integers"


def _by_case(cases: dict[str, str]) -> dict[str, str]:
    return {name: reason for reason, names in cases.items() for name in names.split()}


OF_OTHER_PLUGINS = _by_case(
    {
        SELECTORS: "cel-string-find zoo-050 zoo-051 zoo-059 zoo-100 zoo-103 zoo-105 zoo-109 zoo-112",
        ROOM: "node-cpu-and-device random-nodes-030",
        WRITES: "pre-allocated-no-timestamp",
        SUBSTRING: "zoo-018",
    }
)
"""Differences that are not the allocator's, whatever the release, by name of the case."""
DIFFERENCES = OF_OTHER_PLUGINS | _by_case(
    {
        REPEATED: "config-claim-two-requests config-class-and-claim config-first-available-parent",
        MATCH: """
        list-match-backtrack list-match-missing list-match-scalar-in-list
        list-match-three-common list-match-versions
    """,
        CHARGED: "part-admin-after random-mixed-001",
        LEAK: "part-match-parent random-mixed-027 random-mixed-116",
        INTEGERS: "policy-1-step-100m-100m policy-1-step-100m-250m",
        NOT_READY: """
        pool-incomplete-all pool-incomplete-other-complete-all
        pool-incomplete-other-driver-all
    """,
        IN_PART: "random-consumable-003 random-consumable-053",
        LISTS: """
        random-lists-009 random-lists-013 random-lists-016 random-lists-017 random-lists-020
        random-lists-024 random-lists-028 random-lists-033 random-lists-035 random-lists-041
        random-lists-052 random-lists-054 random-lists-057 random-lists-058
    """,
        DISTINCT: "random-mixed-012",
        OLDER: """
        rule-first-available rule-plus-slice-taint-tolerated rule-tolerated
        rule-tolerated-all
    """,
        OLDER_EFFECTS: "rule-none-and-noschedule",
        GONE: "used-gone-device-counters",
    }
)
"""By name of the case."""
