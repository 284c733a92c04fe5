"""Collection definitions: read a TOML file into a frozen, validated pydantic model."""
