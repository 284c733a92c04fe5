"""Parameters of a simulated search engine and its users."""

from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)

from builder.definition.wording import rephrase_error
from builder.errors import UsageError

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(ge=1)]


class SimulationParameters(BaseModel):
    """Parameters of a simulated search engine and its users.

    Raises:
        UsageError: A parameter is unknown or has an invalid value.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(default="simulated", description="Name of the collection")
    seed: int = Field(default=1, ge=0, lt=2**63, description="Random seed")
    snapshots: Positive = Field(
        default=3, le=1200, description="Number of monthly snapshots, beginning with 2022-06"
    )
    documents: Positive = Field(
        default=1500, le=10**9, description="Number of pages in the first snapshot"
    )
    queries: Positive = Field(
        default=150, le=10**9, description="Number of distinct information needs"
    )
    impressions: Positive = Field(
        default=15_000, le=10**12, description="Number of well-formed impressions per snapshot"
    )
    results_per_page: int = Field(
        default=10, ge=1, le=100, description="Maximum number of results per impression"
    )
    sentences: Positive = Field(
        default=12, le=10**5, description="Approximate number of sentences per page"
    )
    crawl_format: Literal["jsonl", "qwant", "warc"] = Field(
        default="jsonl", description="File format of crawls"
    )
    log_format: Literal["jsonl", "parquet"] = Field(
        default="jsonl", description="File format of query logs"
    )
    translation: Literal["off", "embedded"] = Field(
        default="off",
        description="Translation setting of the definition: off, or embedded (bundled model)",
    )
    added: Share = Field(default=0.06, description="New pages per month, as a share of `documents`")
    removed: Share = Field(default=0.04, description="Probability per month that a page is removed")
    edited: Share = Field(
        default=0.08, description="Probability per month that one sentence of a page is replaced"
    )
    rewritten: Share = Field(
        default=0.02, description="Probability per month that the whole text of a page is replaced"
    )
    moved: Share = Field(
        default=0.01, description="Probability per month that the URL of a page changes"
    )
    refetched: Share = Field(
        default=0.02, description="Probability that a page is fetched twice in a crawl"
    )
    interest_drift: float = Field(
        default=0.5,
        ge=0,
        description="Maximum change per month in the log popularity of an information need",
    )
    zipf: float = Field(
        default=0.8,
        ge=0,
        description="Exponent of the Zipf distribution of the popularity of information needs",
    )
    reshuffled: Share = Field(
        default=0.5, description="Share of impressions in which two adjacent results are swapped"
    )
    variants: Share = Field(
        default=0.3, description="Share of impressions with a variant of the query text"
    )
    off_topic: Share = Field(
        default=0.03, description="Share of impressions whose query is off-topic or navigational"
    )
    personal_rate: Share = Field(
        default=0.005, description="Share of impressions whose query contains personal data"
    )
    bot_rate: Share = Field(
        default=0.005, description="Share of impressions by bots, which click every result"
    )
    anonymous: Share = Field(default=0.02, description="Share of impressions without a user id")
    tracked: Share = Field(
        default=0.02, description="Share of impressions whose first URL has a tracking parameter"
    )
    malformed_rate: Share = Field(
        default=0.002,
        description="Number of malformed lines per well-formed line in logs and crawls",
    )
    impressions_per_user: Positive = Field(
        default=6, description="Approximate number of impressions per user"
    )

    @model_validator(mode="wrap")
    @classmethod
    def _raise_usage_error(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(values)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(map(str, first["loc"]))
            is_unknown = first["type"] == "extra_forbidden"
            message = "unknown parameter" if is_unknown else rephrase_error(first)
            raise UsageError(f"{name}: {message}") from None
