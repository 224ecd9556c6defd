"""Request handling without a network. After k8s.io/apiserver/pkg/endpoints.

From a parsed HTTP request to a response: paths and queries, authentication, options, content
negotiation, verbs, lists, discovery, OpenAPI and subresources. The effect of a write on an object
belongs in `registry`; sockets, streams and the order of responses belong in `server`.

Contents: `handlers` (verbs), `request_info` (paths and queries), `request_attributes` (verbs and
targets), `request_options`, `authentication`, `access_reviews`, `content_types` (request bodies),
`negotiation`, `responses`, `response_encoding`, `list_pages`, `pod_subresources`, `scale`,
`non_resource` (health checks and others), `discovery`, `openapi`, `openapi_protobuf`.
"""
