"""Implementations of the commands that combine several packages, such as `longeval build`."""
