"""`python -m bench [NAME...]`: run all or those of NAMES, print a table, write JSON, compare."""

import argparse
import sys

from bench import environment
from bench.measure import Report

NAMES = ("append", "usage", "priority", "admission", "quota", "preemption", "statements", "exports")


def main() -> int:
    """Exit code 0 when every bound is kept."""
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], help="which ones; all if none")
    parser.add_argument("--accounts", type=int, default=10_000)
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=10_000_000, help="records of the month")
    parser.add_argument("--export-rows", type=int, default=1_000_000, help="rows of an export")
    arguments = parser.parse_args()
    names = arguments.names or NAMES
    superuser_url = environment.prepare()
    # These need Django, which `prepare` has set up.
    from bench import (
        admission,
        exports,
        ledger_append,
        preemption,
        preemption_database,
        priority,
        quota_page,
        statements,
        usage_ingest,
        world,
    )

    report = Report()
    try:
        if "quota" in names:
            quota_page.run(report, superuser_url)
        if "preemption" in names:
            preemption.run(report)
            preemption_database.run(report, superuser_url)
        if "statements" in names:
            statements.run(report, superuser_url, rows=arguments.rows)
        if "exports" in names:
            exports.run(report, superuser_url, rows=arguments.export_rows)
        if set(names) <= {"quota", "preemption", "statements", "exports"}:
            return _finish(report)
        large = world.build(accounts=arguments.accounts, people=arguments.people)
        if "append" in names:
            ledger_append.run(report, large, superuser_url)
        with environment.server() as address:
            if "usage" in names:
                usage_ingest.run(report, large, address, superuser_url)
            if "priority" in names:
                priority.run(report, large, address)
            if "admission" in names:
                admission.run(report, large, address, superuser_url)
        return _finish(report)
    finally:
        environment.stop()


def _finish(report: Report) -> int:
    kept = report.finish(environment.BASE_DIR / "var" / "bench" / "results")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
