"""A store read by a description of it, a TOML file, instead of a reader (docs/mapping.md)."""
