"""The Celery application, its queues, and the whole beat table in one place.

Tasks are thin: they fetch ids and execute commands (docs/design.md part 11). Whatever a task
does late is also judged at read time, so a stopped worker delays and never falsifies.
"""

import os
from typing import Any, Final

from celery import Celery
from celery.schedules import crontab
from django_structlog.celery.steps import DjangoStructLogInitStep
from kombu import Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# One worker may serve all; a busy site gives each queue its own (`-Q exports`).
QUEUES: Final = ("default", "deadlines", "exports")

# name -> {"task": dotted path, "schedule": seconds or crontab, "options": {"queue": ...}}
# `expires` keeps a backlog from piling up while no worker runs.
BEAT_TABLE: Final[dict[str, dict[str, Any]]] = {
    "ledger-lane-heads": {
        "task": "ledger.tasks.record_lane_heads",
        "schedule": 3600,
        "options": {"expires": 3000},
    },
    "ledger-receipts": {
        "task": "ledger.tasks.forget_receipts",
        "schedule": crontab(hour=3, minute=20),
        "options": {"expires": 3600},
    },
    "sessions-ended": {
        "task": "tenancy.tasks.forget_sessions",
        "schedule": crontab(hour=3, minute=40),
        "options": {"expires": 3600},
    },
    "usage-settlement": {
        "task": "accounting.tasks.settle_usage",
        "schedule": 60,
        "options": {"queue": "deadlines", "expires": 60},
    },
    "quotas-due": {
        "task": "quota.tasks.settle_quotas",
        "schedule": 60,
        "options": {"queue": "deadlines", "expires": 60},
    },
    "requests-deadlines": {
        "task": "quota.tasks.follow_up_requests",
        "schedule": 300,
        "options": {"queue": "deadlines", "expires": 300},
    },
    "review-cycles": {
        "task": "quota.tasks.open_review_cycles",
        "schedule": crontab(minute=5),  # hourly: wherever it is midnight, and after a missed beat
        "options": {"expires": 3600},
    },
    "allocations-lapsed": {
        "task": "quota.tasks.settle_allocations",
        "schedule": 30,
        "options": {"queue": "deadlines", "expires": 30},
    },
    "allocations-usage": {
        "task": "accounting.tasks.meter_allocations",
        "schedule": 30,
        "options": {"queue": "deadlines", "expires": 30},
    },
    "months-closing": {
        "task": "accounting.tasks.close_months",
        "schedule": 60,
        "options": {"queue": "deadlines", "expires": 60},
    },
    "budgets": {
        "task": "accounting.tasks.watch_budgets",
        "schedule": crontab(minute=25),  # hourly: alerts the day it happens
        "options": {"expires": 3000},
    },
    "figures-stale": {
        "task": "accounting.tasks.refresh_figures",
        "schedule": 300,
        "options": {"expires": 300},
    },
    "exports-waiting": {
        "task": "accounting.tasks.make_exports",
        "schedule": 60,
        "options": {"queue": "exports", "expires": 60},
    },
    "exports-over": {
        "task": "accounting.tasks.sweep_exports",
        "schedule": crontab(minute=25),
        "options": {"queue": "exports", "expires": 3600},
    },
    "preemption-lapsed": {
        "task": "preemption.tasks.lapse_plans",
        "schedule": 30,
        "options": {"queue": "deadlines", "expires": 30},
    },
    "reclaim": {
        "task": "preemption.tasks.run_reclaim",
        "schedule": 900,
        "options": {"expires": 900},
    },
    "detections-jobs": {
        "task": "preemption.tasks.find_detections",
        "schedule": 120,
        "options": {"expires": 120},
    },
    "detections-consumption": {
        "task": "preemption.tasks.find_consumption",
        "schedule": crontab(minute=25),
        "options": {"expires": 3600},
    },
    "usage-partitions": {
        "task": "accounting.tasks.make_partitions",
        "schedule": crontab(hour=2, minute=10),
        "options": {"expires": 3600},
    },
    "notices-events": {
        "task": "notices.tasks.read_events",
        "schedule": 30,
        "options": {"expires": 30},
    },
    "notices-reminders": {
        "task": "notices.tasks.remind",
        "schedule": 600,
        "options": {"queue": "deadlines", "expires": 600},
    },
    "notices-mails": {
        "task": "notices.tasks.send_mails",
        "schedule": 60,
        "options": {"expires": 60},
    },
    "notices-old": {
        "task": "notices.tasks.forget_notices",
        "schedule": crontab(hour=4, minute=0),
        "options": {"expires": 3600},
    },
}

app = Celery("apportion")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.task_queues = [Queue(name) for name in QUEUES]
app.conf.beat_schedule = BEAT_TABLE
app.steps["worker"].add(DjangoStructLogInitStep)
app.autodiscover_tasks()
