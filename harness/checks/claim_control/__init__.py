"""The check of the claim controller's writes about pods."""
