"""The embedded API server: Kubernetes' semantics in one process that needs nothing but pip.

Two parts. The store is pure and synchronous: resource table, one integer resourceVersion for everything, optimistic
concurrency, patches, validation, deletion and owner garbage collection, event history. It does no I/O and knows no time but
what it is given, so that the same semantics can be driven one commit at a time in one process. Around it is HTTP: routing,
discovery, lists, watches, tables, authentication.

What HTTP brings goes one way: `connections` read bytes, `parsing` makes requests of them, `exchanges` has each one answered (`handling`,
`streaming` for watches), and `turns` shows nothing before the log (`persistence`) and the audit log (`auditing`) have it.
Faults on demand (`faulting`, `fault_admin`) befall a request, its answer, or an event; `limiting` says what is put up with.

JSON, YAML and protobuf are read and written for every kind (`media`, `rendering`): programs made with client-go, kube-scheduler and
kube-controller-manager among them, need no other content type than the one that they take by themselves. Objects are kept as JSON; the
messages of the last few thousand are remembered (`protobuf`), because what is written is mostly sent more than once.

Three things hold it to Kubernetes: recorded conversations with kube-apiserver (`tests/corpus`, whose `differences.toml` lists those that do
not always match), documented rules that any server can be asked for (`flake-hunt conformance`), and a simple model of
what random operations do (`tests/stateful`).

Not in here: scheduling, nodes that do something, anything that only a test would want.

Known differences from kube-apiserver: the server plays the garbage collector and the namespace controller (a kube-apiserver
alone does neither); discovery is answered in JSON to who asks for protobuf; what needs a kubelet (exec, attach, logs, port forwarding, proxies, tokens) is
answered with 501; autoscaling/v1 keeps metrics other than the CPU's in annotations, in the format of v2; JSON may be nested
about a thousand levels deep; the objects of LimitRange and ResourceQuota limit nothing; services get no addresses, jobs no selector.
Requests that two readers could understand differently are refused: doubled Authorization, Content-Type or Host headers (Go takes the
first), bare LF, folded headers; methods that HTTP does not know are 400, not 405. An upgrade to h2c is ignored, any other is 400.
Of the 870 recorded conversations two are not always answered alike, because the namespace controller, which the recording had
not, may be faster than the conversation: finalizers/namespace-delete-with-a-finalizer-then-remove-it and
watch/namespace-added-modified-deleted-as-seen-from-a-version. About ten are answered with another message text.
"""
