"""Set an organization's times of admission."""

from dataclasses import dataclass, fields

from ledger.execution import Unit, handles
from quota.allocation_events import AdmissionPolicySet
from quota.domain.batch import AdmissionPolicy, check_policy
from quota.loading import standings
from quota.recording import check_reason
from tenancy.domain.roles import POOL_WRITE


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAdmissionPolicy:
    """All times at once, in seconds; see `quota.domain.batch.AdmissionPolicy`."""

    hold_seconds: int
    lease_seconds: int
    heartbeat_seconds: int
    interactive_seconds_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionPolicyChanged:
    """What holds from now on. `changed` False: it was so already."""

    changed: bool
    hold_seconds: int
    lease_seconds: int
    heartbeat_seconds: int
    interactive_seconds_max: int


@handles(SetAdmissionPolicy, permission=POOL_WRITE)
def set_admission_policy(command: SetAdmissionPolicy, unit: Unit) -> AdmissionPolicyChanged:
    """Check the bounds; record the times for everything that is admitted from now on."""
    check_reason(unit)
    times = {field.name: getattr(command, field.name) for field in fields(command)}
    wanted = AdmissionPolicy(**times)
    check_policy(wanted)
    changed = wanted != standings.admission_policy(unit.organization_id)
    if changed:
        unit.record(AdmissionPolicySet(organization_id=unit.organization_id, **times))
    return AdmissionPolicyChanged(changed=changed, **times)
