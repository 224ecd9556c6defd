"""Request handling without a network: from a parsed HTTP request to a response. After k8s.io/apiserver/pkg/endpoints.

Path and query parsing, authentication, options, content negotiation, verbs, lists, discovery, OpenAPI and subresources. What a
write does to an object belongs in `registry`; sockets, streams and ordering of responses belong in `server`.
"""
