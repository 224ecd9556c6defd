"""Many runs: scenarios times subjects times repetitions, and their results.

pytest-xdist spreads them over the cores; each worker has its own cluster and executes one run after
the other on it. The processes of one run belong to `run`, judging belongs to `checks`.

Contents: `budgets`, `campaign_documents`, `campaign_pages`, `campaign_plan`, `hunting`,
`junit_names`, `nights`, `plugin`, `purposes`, `results`, `run_outcomes`, `run_scheduling`,
`sequential_stopping`, `sharding`, `summaries`.
"""
