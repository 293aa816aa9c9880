"""The table of what leads may compare: a projection."""

from django.contrib.postgres.fields import ArrayField
from django.db import models


class ComparisonRule(models.Model):
    """See `accounting.domain.comparison.ComparisonPolicy`; without a row nobody compares."""

    organization_id = models.UUIDField(primary_key=True)
    reach = models.TextField()
    figures = ArrayField(models.TextField())
    named = models.BooleanField()

    class Meta:
        db_table = "accounting_comparisonrule"
