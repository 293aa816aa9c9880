"""Benchmarks: ratios against a ceiling measured in the same run. `make bench`."""
