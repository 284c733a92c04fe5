"""Reads a collection definition from a TOML file into a frozen, validated Pydantic model."""
