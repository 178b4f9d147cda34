"""Linkage: whose row is whose? People that an attacker holds, compared with the rows of a release."""
