"""Anonymizers: a table becomes a release. One file a member; files with an underscore are what members share."""
