"""What a release teaches: matching, counts and chains, shared by every attacker that learns."""
