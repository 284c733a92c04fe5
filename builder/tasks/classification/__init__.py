"""Collections of labelled posts, which show how the accuracy of classifiers changes over time.

A collection consists of a training set, a development set, three test sets at increasing distances
in time and an unlabelled corpus, as in the classification task of LongEval 2023.
"""

from builder.tasks.classification.agreement import AgreementReport, agreement_of_files
from builder.tasks.classification.baseline import classification_baseline
from builder.tasks.classification.build import (
    ClassificationBuild,
    build_classification,
    explain_classification,
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
    "agreement_of_files",
    "build_classification",
    "classification_baseline",
    "evaluate_classification",
    "explain_classification",
    "load_definition",
    "validate_classification",
]
