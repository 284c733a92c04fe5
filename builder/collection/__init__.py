"""The published thing: its layout, its manifest, how to read it, export it and check it."""
