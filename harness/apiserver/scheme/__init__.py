"""The API's resources and types: field types, defaults, quantities, timestamps, object names.

Data and pure functions of values, without a store and without requests; and which feature gates
are on. Validation belongs in `validation`.

Contents: `api_types`, `catalogue`, `defaulting`, `defaults`, `feature_gates`, `json_document`,
`object_names`, `qos`, `quantities`, `resources`, `timestamps`.
"""
