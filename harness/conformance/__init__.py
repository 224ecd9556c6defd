"""Does an API server keep the rules that Kubernetes documents? Any server can be asked: a real cluster judges the rules themselves.

The rules are data (`rules/*.yaml`, one file a group): requests in the order in which they are sent, and what each has to be answered
with. A run works in a namespace of its own, under names of its own, and removes what it made.

Not in here: anything of the embedded server (its answers are judged, so it may not help to judge), and anything random.
"""
