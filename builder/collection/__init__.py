"""Published collections: file layout and manifest; reading, validation, export and import."""
