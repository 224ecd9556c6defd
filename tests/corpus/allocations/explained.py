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

OF_OTHER_PLUGINS = {
    "cel-string-find": SELECTORS,
    "node-cpu-and-device": ROOM,
    "pre-allocated-no-timestamp": WRITES,
    "random-nodes-030": ROOM,
    "zoo-018": SUBSTRING,
    "zoo-050": SELECTORS,
    "zoo-051": SELECTORS,
    "zoo-059": SELECTORS,
    "zoo-100": SELECTORS,
    "zoo-103": SELECTORS,
    "zoo-105": SELECTORS,
    "zoo-109": SELECTORS,
    "zoo-112": SELECTORS,
}
"""Differences that are not the allocator's, whatever the release, by name of the case."""
DIFFERENCES = OF_OTHER_PLUGINS | {
    "config-claim-two-requests": REPEATED,
    "config-class-and-claim": REPEATED,
    "config-first-available-parent": REPEATED,
    "list-match-backtrack": MATCH,
    "list-match-missing": MATCH,
    "list-match-scalar-in-list": MATCH,
    "list-match-three-common": MATCH,
    "list-match-versions": MATCH,
    "part-admin-after": CHARGED,
    "part-match-parent": LEAK,
    "policy-1-step-100m-100m": INTEGERS,
    "policy-1-step-100m-250m": INTEGERS,
    "pool-incomplete-all": NOT_READY,
    "pool-incomplete-other-complete-all": NOT_READY,
    "pool-incomplete-other-driver-all": NOT_READY,
    "random-consumable-003": IN_PART,
    "random-consumable-053": IN_PART,
    "random-lists-009": LISTS,
    "random-lists-013": LISTS,
    "random-lists-016": LISTS,
    "random-lists-017": LISTS,
    "random-lists-020": LISTS,
    "random-lists-024": LISTS,
    "random-lists-028": LISTS,
    "random-lists-033": LISTS,
    "random-lists-035": LISTS,
    "random-lists-041": LISTS,
    "random-lists-052": LISTS,
    "random-lists-054": LISTS,
    "random-lists-057": LISTS,
    "random-lists-058": LISTS,
    "random-mixed-001": CHARGED,
    "random-mixed-012": DISTINCT,
    "random-mixed-027": LEAK,
    "random-mixed-116": LEAK,
    "rule-first-available": OLDER,
    "rule-none-and-noschedule": OLDER_EFFECTS,
    "rule-plus-slice-taint-tolerated": OLDER,
    "rule-tolerated": OLDER,
    "rule-tolerated-all": OLDER,
    "used-gone-device-counters": GONE,
}
"""By name of the case."""
