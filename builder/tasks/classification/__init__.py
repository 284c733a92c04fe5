"""Collections of labeled posts, which show how the accuracy of classifiers changes over time.

A collection consists of a training set, a development set, three test sets at increasing distances
in time and an unlabeled corpus, as in the classification task of LongEval 2023.
"""

from builder.tasks.classification.agreement import AgreementReport, measure_agreement_in_files
from builder.tasks.classification.baseline import run_classification_baseline
from builder.tasks.classification.build import (
    ClassificationBuild,
    build_classification,
    classification_rebuild_reasons,
)
from builder.tasks.classification.definition import ClassificationDefinition, load_definition
from builder.tasks.classification.evaluate import (
    ClassificationScores,
    evaluate_classification,
)
from builder.tasks.classification.validate import validate_classification

__all__ = [
    "AgreementReport",
    "ClassificationBuild",
    "ClassificationDefinition",
    "ClassificationScores",
    "build_classification",
    "classification_rebuild_reasons",
    "evaluate_classification",
    "load_definition",
    "measure_agreement_in_files",
    "run_classification_baseline",
    "validate_classification",
]
