"""Request handling without a network. After k8s.io/apiserver/pkg/endpoints.

From a parsed HTTP request to a response: paths and queries, authentication, options, content
negotiation, verbs, lists, discovery, OpenAPI and subresources. The effect of a write on an object
belongs in `registry`; sockets, streams and the order of responses belong in `server`.
"""
