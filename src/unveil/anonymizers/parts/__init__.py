"""Steps that several anonymizers share."""
