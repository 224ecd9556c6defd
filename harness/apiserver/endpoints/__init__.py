"""Request handling without a network. After k8s.io/apiserver/pkg/endpoints.

From a parsed HTTP request to a response: paths and queries, authentication, options, content
negotiation, verbs, lists, discovery, OpenAPI and subresources. The effect of a write on an object
belongs in `registry`; sockets, streams and the order of responses belong in `server`.

Contents: `access_reviews`, `authentication`, `content_types`, `discovery`, `handlers`,
`list_options`, `list_pages`, `negotiation`, `non_resource`, `openapi`, `openapi_protobuf`,
`pod_subresources`, `request_attributes`, `request_decoding`, `request_info`, `request_options`,
`resource_requests`, `response_encoding`, `responses`, `scale`.
"""
