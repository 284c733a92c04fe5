"""A collection definition: a TOML file in, a frozen typed model out."""
