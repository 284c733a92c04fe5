"""Why a record is left out."""


class RejectError(ValueError):
    """A record is left out; the message is the reason."""
