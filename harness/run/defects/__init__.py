"""The known defects of all parts: which can be switched on together, and where each is found."""
