"""Reads of quota, by subject. Other apps read quota through here."""

from quota.queries.pools import FlavorRow, PoolRow, flavors, pools_with_weights

__all__ = ("FlavorRow", "PoolRow", "flavors", "pools_with_weights")
