"""The embedded API server: the semantics of the Kubernetes API in one Python process.

`registry.store` is pure and synchronous: optimistic concurrency, validation, deletion, garbage
collection by owner, watch history, and one integer resourceVersion. It does no I/O and reads no
clock, so `explore` can drive it one commit at a time.

A request: `server.connections` receives bytes, `server.http_messages` parses them,
`server.request_lifecycle` checks the user, `endpoints.handlers` understands and does what is asked
(for watches `server.watch_streams`), and `server.servers` sends responses and events once the log
(`persistence`) and the audit log (`server.audit_log`) are written. `harness.faults` says which
requests, responses and events are delayed, rejected or dropped on demand; `server.servers` limits
the clients.

JSON and protobuf bodies are read for every kind, so client-go needs no special content type; every
response is JSON. A list is always whole, and its options `limit` and `continue` are ignored.

Two things check that it behaves like Kubernetes: recorded conversations with kube-apiserver
(`tests/corpus`; its `differences.toml` lists the cases that do not always match), and a simple
model driven by random operations (`tests/model_based`).

Not in here: scheduling, kubelets, and anything that only a test needs.

Known differences from kube-apiserver:

- The server is also the garbage collector and the namespace controller.
- YAML bodies are not read; OpenAPI has paths without schemas, so `kubectl explain` shows nothing.
- `kubectl get` has few columns. There is one user, who may do everything.
- Messages of errors are free text; their codes, reasons and fields are those of kube-apiserver.
- Requests that need a kubelet (exec, attach, logs, port forwarding, proxies, tokens) get 404, as do
  the subresources scale, ephemeralcontainers and resize. The propagation policies Orphan and
  Foreground get 501: dependents of what is deleted go in the background.
- Pods are checked as far as schedulers need it (docs/reference/embedded-api-server.md).
- A body may have 3 MiB, and be nested about a thousand levels deep.
- LimitRange and ResourceQuota objects have no effect; services get no addresses, jobs no selector.
- Unknown HTTP methods get 400, not 405, and so do upgrades. `Expect: 100-continue` is not answered:
  clients send the body after their own time limit.
"""
