"""Data: the nouns, all frozen. Attributes and schemas, tables and releases, targets, priors and beliefs."""
