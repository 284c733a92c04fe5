"""A seeded sample of the mutants of a package.

In: files. Out: mutants (cosmic-ray's `MutationSpec`), at most one at each position in the source,
since an operator that has ten replacements would otherwise be sampled ten times as often as one
that has a single replacement. Annotations are not mutated: no test can see them. Mutants that are
no valid Python, such as a keyword-only marker `*` replaced by `%`, are not counted as killed: they
are left out, as are mutants that cosmic-ray cannot make (of `*A` in `except (*A, B)`).
"""

import ast
import random
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from cosmic_ray.work_item import MutationSpec

from tests.mutants.sql import SqlReplacer

Position = tuple[int, int]
cosmic_ray.plugins.OPERATOR_PROVIDERS["sql"] = {"SqlReplacer": SqlReplacer}


def sample_mutants(files: Sequence[Path], count: int, seed: int) -> list[MutationSpec]:
    """A sample without replacement of the mutants of some files, in the order of the source.

    Args:
        files: Python files.
        count: Mutants wanted; all positions where there are fewer.
        seed: The same seed and source give the same sample.
    """
    rng = random.Random(seed)
    positions = _by_position(files)
    shuffled = rng.sample(sorted(positions), len(positions))
    drawn = (rng.choice(positions[position]) for position in shuffled)
    chosen = islice(filter(_is_valid, drawn), count)
    return sorted(chosen, key=lambda mutant: (str(mutant.module_path), mutant.start_pos))


def _is_valid(mutant: MutationSpec) -> bool:
    """Return whether the file can be mutated, and compiled then."""
    operator = get_operator(mutant.operator_name)(**mutant.operator_args)
    source = mutant.module_path.read_text("utf-8")
    try:
        code = mutate_code(source, operator, mutant.occurrence)
        compile(code or "", str(mutant.module_path), "exec")
    except (SyntaxError, AttributeError):
        return False
    return code is not None


def _by_position(files: Sequence[Path]) -> dict[tuple[str, Position], list[MutationSpec]]:
    """The mutants by file and position, in the order of their operators."""
    found = defaultdict(list)
    operators = {name: get_operator(name) for name in sorted(operator_names())}
    for path in files:
        skipped = _annotations(path.read_text("utf-8"))
        nodes = list(ast_nodes(get_ast_from_path(path)))
        for name, operator in operators.items():
            if operator.arguments():
                continue
            mutated = operator().mutation_positions
            spans = [span for node in nodes for span in mutated(node)]
            for occurrence, (start, end) in enumerate(spans):
                if not any(first <= start < last for first, last in skipped):
                    mutant = MutationSpec(path, name, occurrence, start, end)
                    found[str(path), start].append(mutant)
    return found


def _annotations(source: str) -> list[tuple[Position, Position]]:
    """Start and end of every annotation, and of tests of `TYPE_CHECKING`."""
    found: list[ast.expr | None] = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.arg() | ast.AnnAssign():
                found.append(node.annotation)
            case ast.FunctionDef():
                found.append(node.returns)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                found.append(node.test)
    return [
        ((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0))
        for node in found
        if node is not None
    ]
