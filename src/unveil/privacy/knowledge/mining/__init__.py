"""Negative rules and the people they leave: what members of the family count with."""
