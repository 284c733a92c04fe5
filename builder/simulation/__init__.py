"""A synthetic French search engine with known truth: for demos, tests and benchmarks."""

from builder.simulation.grammar import sentence_pairs
from builder.simulation.over import simulate_over
from builder.simulation.parameters import Simulation
from builder.simulation.world import simulate

__all__ = ["Simulation", "sentence_pairs", "simulate", "simulate_over"]
