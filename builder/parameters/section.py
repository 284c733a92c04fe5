"""What all sections of a definition are, and numbers that many of them have."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A frozen section of a definition."""

    model_config = ConfigDict(extra="forbid", frozen=True)
