"""Commands: analyze a model, compare machines and settings."""
