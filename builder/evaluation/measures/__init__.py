"""Effectiveness measures: names, providers, and scores of a run for every judged query."""
