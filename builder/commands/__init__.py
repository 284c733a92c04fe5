"""Implementations of the subcommands that span several packages."""
