"""Anonymizers: a table becomes a release. One file a member; parts/ is what members share."""
