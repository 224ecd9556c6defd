"""The functions of upstream's CEL environment, each on Python values.

Contents: `conversions`, `functions`, `lists`, `named_formats`, `networks`, `patterns`,
`quantities`, `semvers`, `string_formats`, `strings`, `times`, `urls`.
"""
