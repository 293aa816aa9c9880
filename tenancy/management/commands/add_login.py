"""`manage.py add_login EMAIL`: let somebody into an organization, the first operator above all."""

from typing import Any

from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email
from django.urls import reverse

from ledger import scope
from ledger.errors import DomainError, NotFound
from ledger.execution import Context, execute
from ledger.types import SYSTEM
from tenancy import logins, queries
from tenancy.commands.people import AddPerson, GrantRole, LinkLogin
from tenancy.domain.roles import Role
from tenancy.models import User
from tenancy.shell import organization_meant

REASON = "manage.py add_login"


class Command(BaseCommand):
    """Can be run again: what is so already stays."""

    help = (
        "Give somebody a login to an organization, and a role if asked. Prints a link for choosing "
        "a password; whoever comes by single sign-on needs none."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", help="a verified address: whoever reads it gets in")
        parser.add_argument("--organization", metavar="SLUG", help="needed where there are several")
        parser.add_argument(
            "--person",
            metavar="NAME",
            help="short name; by default who is known by the address, else its part before the @",
        )
        parser.add_argument("--display-name", default="", help="of a person who is new")
        parser.add_argument("--role", choices=[role.value for role in Role])
        parser.add_argument(
            "--account", metavar="NAME", help="where the role is held; the root if left out"
        )
        parser.add_argument(
            "--address",
            default="http://localhost:8000",
            help="of the web server, for the link (http://localhost:8000)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        email = options["email"].strip().lower()
        try:
            validate_email(email)
        except ValidationError as error:
            raise CommandError(f"{email!r} is not an e-mail address.") from error
        try:
            self._let_in(email, options)
        except DomainError as error:
            raise CommandError(error.detail) from error

    def _let_in(self, email: str, options: dict[str, Any]) -> None:
        organization = organization_meant(options["organization"])
        context = Context(organization_id=organization.id, actor=SYSTEM, reason=REASON)
        with scope.reading(organization.id):
            account_id = organization.root_account_id
            if options["account"]:
                account_id = queries.account_by_name(organization.id, options["account"]).id
        user = User.objects.filter(email=email).first()
        person_id, name = self._person(email, user, options, context)
        if user is None:
            user = User.objects.create_user(email)
        if not user.is_active:
            raise CommandError(f"The login {email} is closed.")
        if organization.id not in {
            one.organization_id for one in queries.organizations_of(user.pk)
        }:
            execute(LinkLogin(person_id=person_id, user_id=user.pk), context)
        if options["role"]:
            execute(
                GrantRole(account_id=account_id, person_id=person_id, role=options["role"]), context
            )
        role = f", {options['role']} on {options['account'] or 'root'}" if options["role"] else ""
        self.stdout.write(f"{email} may sign in to {organization.slug} as {name}{role}.")
        if not user.has_usable_password():
            self.stdout.write(f"To choose a password: {_password_link(user, options['address'])}")

    def _person(
        self, email: str, user: User | None, options: dict[str, Any], context: Context
    ) -> tuple[Any, str]:
        """Id and name of the person meant, added if there is none.

        Raises:
            CommandError: the login acts as somebody else already, or the person has another one.
        """
        here = context.organization_id
        acts_as = next(
            (
                (one.person_id, one.person_name)
                for one in (queries.organizations_of(user.pk) if user else ())
                if one.organization_id == here
            ),
            None,
        )
        wanted = options["person"]
        if acts_as is not None:
            if wanted and wanted != acts_as[1]:
                raise CommandError(f"{email} signs in as {acts_as[1]} already, not as {wanted}.")
            return acts_as
        known = logins.people_of([email]).get(here)
        with scope.reading(here):
            if known is not None and not wanted:
                return known, queries.person(here, known).name
            name = wanted or email.partition("@")[0]
            try:
                person_id = queries.person_by_name(here, name).id
            except NotFound:
                person_id = None
            if person_id is not None and logins.has_login(here, person_id):
                raise CommandError(f"{name} has another login. Say who is meant with --person.")
        if person_id is None:
            command = AddPerson(name=name, display_name=options["display_name"], email=email)
            person_id = execute(command, context).result.person_id
        return person_id, name


def _password_link(user: User, address: str) -> str:
    """Good for as long as links in mails are: PASSWORD_RESET_TIMEOUT."""
    key = default_token_generator.make_token(user)
    path = reverse(
        "account_reset_password_from_key",
        kwargs={"uidb36": user_pk_to_url_str(user), "key": key},
    )
    return f"{address.rstrip('/')}{path}"
