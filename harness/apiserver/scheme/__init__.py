"""The API's resources and types: field types, defaults, quantities, timestamps, object names.

Data and pure functions of values, without a store and without requests. Validation belongs in
`validation`.

Contents: `api_types`, `catalogue`, `defaulting`, `defaults`, `json_document`, `object_names`,
`qos`, `quantities`, `resources`, `timestamps`.
"""
