"""Which format a file has, and its plan. Pure."""

from quota.importers import kueue, native
from quota.importers.plan import PlanReading
from quota.importers.yaml_values import Unreadable, documents
from tenancy.importers.tree import TreeProblem

CLUSTER_DEFAULT = "kueue"


def read(text: str, *, cluster: str = CLUSTER_DEFAULT) -> PlanReading:
    """A plan of ours (one document) or Kubernetes objects (any number).

    Args:
        cluster: of new pools that come from Kubernetes objects, which do not name theirs.
    """
    try:
        found = documents(text)
    except Unreadable as error:
        return PlanReading(plan=None, problems=(error.problem,))
    if found and all(kueue.is_kueue(document) for document in found):
        return kueue.read(found, cluster=cluster)
    if len(found) == 1:
        return native.read(found[0])
    detail = (
        "The file is empty."
        if not found
        else "A plan is one document; several are read only where each is a Kubernetes object."
    )
    problem = TreeProblem(line=1, field="file", code="documents", detail=detail)
    return PlanReading(plan=None, problems=(problem,))
