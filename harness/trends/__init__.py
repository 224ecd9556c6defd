"""The nights of a test cluster in one database file: what changed from night to night, and a page.

A night is one campaign. Its figures are read when it is added, so that its runs may be removed.

Contents: `changes`, `databases`, `night_reading`, `night_records`, `night_series`, `trend_charts`,
`trend_documents`, `trend_pages`, `trend_texts`.
"""
