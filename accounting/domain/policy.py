"""What an organization's fair-share is before anybody sets it otherwise. Pure."""

ALGORITHMS = ("fair_tree", "classic", "ratio")
DEFAULT_ALGORITHM = "fair_tree"
DEFAULT_HALF_LIFE_SECONDS = 7 * 86_400
