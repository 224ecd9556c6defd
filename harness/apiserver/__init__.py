"""The embedded API server: Kubernetes' API semantics in one process that needs nothing but pip.

`registry.store` is pure and synchronous: optimistic concurrency, validation, deletion, owner garbage collection, watch history, and
one integer resourceVersion for all of it. It does no I/O and reads no clock, so `explore` can drive it one commit at a time.

A request goes one way: `server.connections` reads bytes, `server.http_parsing` parses a request, `server.request_lifecycle` has
`endpoints.handlers` answer it (`server.watch_streams` for watches), and `server.group_commit` sends responses and events once the
log (`persistence`) and the audit log (`server.audit_log`) have them. `faults` delays, rejects or drops requests, responses and
events on demand; `server.server_limits` bounds what clients may do.

Packages, top first: `server`, `faults`, `endpoints`, `persistence`, `registry`, `managedfields`, `patch`, `admission`, `fidelity`, `serializer`,
`storage`, `printers`, `validation`, `errors`, `scheme`, `codec`. Imports go downward only.

JSON, YAML and protobuf are read and written for every kind, so clients made with client-go need no other content type than their
default. Objects are kept as JSON; protobuf messages of the last few thousand objects are cached.

Three things hold it to Kubernetes: recorded conversations with kube-apiserver (`tests/corpus`, whose `differences.toml` lists the
cases that do not always match), documented rules that any server can be tested against (`flake-hunt conformance`), and a simple
model of random operations (`tests/model_based`).

Not in here: scheduling, nodes that do something, anything that only a test needs.

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
