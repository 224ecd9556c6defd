"""The nights of a test cluster in one database file: what changed from night to night, and a page.

A night is one campaign. Its figures are read when it is added, so that its runs may be removed.
"""
