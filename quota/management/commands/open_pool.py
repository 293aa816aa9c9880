"""`open_pool`: a pool, and its flavor where the organization does not know it yet."""

from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ledger import scope
from ledger.errors import DomainError
from ledger.execution import Context, execute
from ledger.types import SYSTEM
from quota.commands.pools import DefineFlavor, OpenPool
from quota.queries import flavors
from tenancy.queries import organization_id_by_slug


class Command(BaseCommand):
    """Open one pool."""

    help = "Open a pool: one flavor in one cluster, in whole units."

    def add_arguments(self, parser: Any) -> None:
        """Names and amounts."""
        parser.add_argument("name", help="the pool's name, unique in the organization")
        parser.add_argument("--organization", required=True, metavar="SLUG")
        parser.add_argument("--flavor", required=True, help="such as h100-80gb; made where new")
        parser.add_argument("--weight", default="1", help="economic weight of a new flavor")
        parser.add_argument("--cluster", required=True)
        parser.add_argument("--capacity", required=True, type=int, help="whole units")
        parser.add_argument("--reason", required=True, help="why; kept with the pool's history")

    def handle(self, *args: Any, **options: Any) -> None:
        """Define the flavor if it is new, then open the pool.

        Raises:
            CommandError: no such organization, or what the commands refuse.
        """
        organization_id = organization_id_by_slug(options["organization"])
        if organization_id is None:
            raise CommandError(f"There is no organization {options['organization']}.")
        context = Context(organization_id=organization_id, actor=SYSTEM, reason=options["reason"])
        with scope.reading(organization_id):
            known = {one.name: one.id for one in flavors(organization_id)}
        try:
            flavor_id = known.get(options["flavor"])
            if flavor_id is None:
                weight = Decimal(options["weight"])
                define = DefineFlavor(name=options["flavor"], weight=weight)
                flavor_id = execute(define, context).result.flavor_id
            execute(
                OpenPool(
                    name=options["name"],
                    flavor_id=flavor_id,
                    cluster=options["cluster"],
                    capacity=options["capacity"],
                ),
                context,
            )
        except InvalidOperation as error:
            raise CommandError("--weight must be a decimal number.") from error
        except DomainError as error:
            raise CommandError(error.detail) from error
        self.stdout.write(f"Pool {options['name']} is open: {options['capacity']} units.")
