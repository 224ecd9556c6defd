"""Known defects of PreBind: what is written, awaited and reserved before a pod is bound."""
