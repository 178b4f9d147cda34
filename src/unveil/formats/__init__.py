"""Formats: tables and releases as files. Reading refuses what is ambiguous; writing happens whole or not at all."""
