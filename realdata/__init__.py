"""What benchmarks/ and papers/ share: real data that is never committed, and a description of the machine."""
