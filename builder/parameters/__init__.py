"""Parameters of all pipeline stages, with their defaults.

Each class is a section of a workflow definition: an immutable Pydantic model that rejects unknown
keys. The manifest of a collection records the sections with which it was built.
"""

from pydantic import model_validator

from builder.parameters.clicks import (
    CLICK_MODELS,
    ClickParameters,
    QrelParameters,
    validate_grading,
    validate_votes_and_pages,
)
from builder.parameters.documents import (
    ChangeParameters,
    CrawlParameters,
    DocumentParameters,
    PageFields,
)
from builder.parameters.export import ExportParameters
from builder.parameters.logs import LOG_FORMATS, LOG_READERS, LogFields, LogParameters
from builder.parameters.queries import (
    SelectionParameters,
    SplitParameters,
    VariantParameters,
    VerdictFilter,
    VerdictFilterParameters,
)
from builder.parameters.section import Section
from builder.parameters.times import TimeParameters
from builder.parameters.translation import CTRANSLATE2, TranslationParameters

__all__ = [
    "CLICK_MODELS",
    "CTRANSLATE2",
    "LOG_FORMATS",
    "LOG_READERS",
    "ChangeParameters",
    "ClickParameters",
    "CrawlParameters",
    "DocumentParameters",
    "ExportParameters",
    "LogFields",
    "LogParameters",
    "PageFields",
    "QrelParameters",
    "Section",
    "SelectionParameters",
    "SplitParameters",
    "StageParameters",
    "TimeParameters",
    "TranslationParameters",
    "VariantParameters",
    "VerdictFilter",
    "VerdictFilterParameters",
    "validate_votes_and_pages",
]


class StageParameters(Section):
    """Parameters of all stages; each attribute is a section of a workflow definition."""

    log: LogParameters = LogParameters()
    crawl: CrawlParameters = CrawlParameters()
    select: SelectionParameters = SelectionParameters()
    verdicts: VerdictFilterParameters = VerdictFilterParameters()
    variants: VariantParameters = VariantParameters()
    clicks: ClickParameters = ClickParameters()
    documents: DocumentParameters = DocumentParameters()
    qrels: QrelParameters = QrelParameters()
    split: SplitParameters = SplitParameters()
    translate: TranslationParameters = TranslationParameters()
    changes: ChangeParameters = ChangeParameters()
    export: ExportParameters = ExportParameters()

    @model_validator(mode="after")
    def _validate_grading(self) -> "StageParameters":
        """Reject unsupported combinations of score, grading policy and click model."""
        validate_grading(self.clicks, self.qrels)
        return self
