"""The fault proxy: a process between clients of a run and the API server of any cluster.

Each client has its own port of the proxy and is known by it. The proxy passes requests with the
client's own credentials, streams watches event by event, and applies the faults of
`harness.faults`. Not in here: which faults a run injects, and when; that a client uses the
kubeconfig that the proxy has written for it.

HTTP/1.1 only: TLS without ALPN makes client-go use it. Where the API server cannot be reached, or
breaks off, the client's connection is reset: a response of the proxy would state an outcome that
the API server has not stated. Requests are never repeated. A write that a fault holds is passed
even if its client has gone. Bodies and events are passed as they are.

The kubeconfigs that the proxy writes hold its own address, certificate authority and a token that
it has drawn, never credentials of the cluster. It removes them when it ends; after a kill they are
of no use, and are removed with the folder of the cluster that they are in.
"""
