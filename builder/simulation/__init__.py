"""Simulates a French search engine with known ground truth, for demos, tests and benchmarks."""

from builder.simulation.grammar import generate_sentence_pairs
from builder.simulation.over_crawls import simulate_over_crawls
from builder.simulation.parameters import SimulationParameters
from builder.simulation.world import simulate

__all__ = ["SimulationParameters", "generate_sentence_pairs", "simulate", "simulate_over_crawls"]
