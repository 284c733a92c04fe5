"""What runs a pipeline: stages, plan, runner, store of outputs, ledger, limits, executors."""
