"""What a simulated world is like: every parameter, with its default."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(ge=1)]


class Simulation(BaseModel):
    """The parameters of a simulated search engine and its users."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(default="simulated", description="Name of the collection")
    seed: int = Field(default=1, ge=0, lt=2**63, description="Another seed, another world")
    snapshots: Positive = Field(default=3, le=1200, description="Consecutive months from 2022-06")
    documents: Positive = Field(default=1500, le=10**9, description="Pages in the first index")
    queries: Positive = Field(default=150, le=10**9, description="Distinct needs of users")
    impressions: Positive = Field(
        default=15_000, le=10**12, description="Well-formed impressions a snapshot"
    )
    results_per_page: int = Field(default=10, ge=1, le=100, description="Results of an impression")
    sentences: Positive = Field(default=12, le=10**5, description="Sentences of a page, about")
    crawl_format: Literal["jsonl", "qwant", "warc"] = Field(
        default="jsonl", description="Format of crawl files"
    )
    log_format: Literal["jsonl", "parquet"] = Field(
        default="jsonl", description="Format of query logs"
    )
    translation: Literal["off", "embedded"] = Field(
        default="off", description="Translation in the definition that is written"
    )
    added: Share = Field(default=0.06, description="Pages that a month adds, of the first index")
    removed: Share = Field(default=0.04, description="Chance that a page goes away in a month")
    edited: Share = Field(default=0.08, description="Chance that a sentence of a page changes")
    rewritten: Share = Field(default=0.02, description="Chance that a page is written anew")
    moved: Share = Field(default=0.01, description="Chance that a page gets another address")
    refetched: Share = Field(default=0.02, description="Chance that a crawl holds a page twice")
    interest_drift: float = Field(
        default=0.5, ge=0, description="How far the popularity of a need moves in a month (log)"
    )
    zipf: float = Field(default=0.8, ge=0, description="Exponent of the popularity of needs")
    reshuffled: Share = Field(default=0.5, description="Impressions with two results swapped")
    variants: Share = Field(default=0.3, description="Impressions with another form of the query")
    off_topic: Share = Field(default=0.03, description="Impressions of queries without a topic")
    personal_rate: Share = Field(
        default=0.005, description="Impressions of queries with personal data"
    )
    bot_rate: Share = Field(default=0.005, description="Impressions by bots that click everything")
    anonymous: Share = Field(default=0.02, description="Impressions without a user")
    tracked: Share = Field(default=0.02, description="Impressions whose first URL has a tracker")
    malformed_rate: Share = Field(
        default=0.002, description="Faulty lines beside the well-formed ones of logs and crawls"
    )
    impressions_per_user: Positive = Field(default=6, description="Impressions of a user, about")
