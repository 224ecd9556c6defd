"""The API's resources and types: field types, defaults, quantities, timestamps, object names.

Data and pure functions of values, without a store and without requests. Validation belongs in
`validation`.

Contents: `catalogue` (the table of resources), `resources`, `api_types` (fields and merge rules),
`defaults` (as data), `defaulting` (setting them), `quantities`, `timestamps`, `object_names`, `qos`
(quality of service classes of pods), `json_document` (the type of decoded objects).
"""
