"""The only settings file. Every value an operator can change comes from the environment.

docs/operator/configuration.md lists the variables. Without any, everything is closed: no debug
pages, cookies over https only, and nothing is served until a secret and a database are given.
"""

import secrets
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from config import oidc, services
from config.database import aliases
from config.env import env_bool, env_choice, env_int, env_list, env_secret, env_str, env_url
from config.logging import logging_settings
from config.processes import ServiceError

BASE_DIR: Final = Path(__file__).resolve().parent.parent
VAR_DIR: Final = services.var_directory()

# Set by tests/conftest.py only: no Redis, plain static files, a fast password hasher.
TEST = env_bool("APPORTION_TEST")
DEBUG = env_bool("APPORTION_DEBUG")
# For a demo on localhost: cookies travel over plain http, nothing redirects to https.
INSECURE_HTTP = env_bool("APPORTION_INSECURE_HTTP") or TEST

# ---------------------------------------------------------------- database, secret, redis
try:
    EMBEDDED = None if TEST else services.load(VAR_DIR)
except ServiceError as error:
    sys.exit(str(error))

_database_url = env_str("DATABASE_URL", "")
_owner_url = env_str("DATABASE_OWNER_URL", "")
_use_embedded = not _database_url and EMBEDDED is not None and bool(EMBEDDED.postgres_port)
if _use_embedded:
    _database_url, _owner_url = EMBEDDED.database_url, EMBEDDED.database_owner_url
# Commands that need no database (whatif, check) work in a bare checkout; serving does not:
# config/wsgi.py, config/celery.py and the check config.E002 refuse.
DATABASE_CONFIGURED = bool(_database_url) or TEST

DATABASES = aliases(
    _database_url or "postgresql://nobody@127.0.0.1:1/unset",
    _owner_url or None,
    common={
        # Connections belong to a thread and stay open between requests; one that the server
        # has closed meanwhile is noticed before the request's first query.
        "CONN_MAX_AGE": 0 if TEST else env_int("APPORTION_DB_MAX_AGE", 600),
        "CONN_HEALTH_CHECKS": env_bool("APPORTION_DB_HEALTH_CHECKS", True),
        "ATOMIC_REQUESTS": False,
    },
)
DATABASE_ROUTERS = ["config.database.MigrateOnOwner"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

if TEST or not DATABASE_CONFIGURED:
    SECRET_KEY = secrets.token_urlsafe(50)
else:
    SECRET_KEY = env_secret(
        "APPORTION_SECRET_KEY", services.stored_secret(VAR_DIR) if _use_embedded else None
    )
# Old keys still verify what they signed, while they are being replaced.
SECRET_KEY_FALLBACKS = env_list("APPORTION_SECRET_KEY_FALLBACKS")

REDIS_URL = env_str("REDIS_URL", "") or (EMBEDDED.redis_url if EMBEDDED else None)
REDIS_URL = REDIS_URL or "redis://127.0.0.1:6379/0"
CACHES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
    if TEST
    else {
        "BACKEND": "config.cache.SturdyRedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "apportion",
        "OPTIONS": {"socket_connect_timeout": 2, "socket_timeout": 2},
    }
}
# Not in the cache as well: signing in shall not need Redis, and whoever signs out while it is away
# shall not be signed in again when it comes back.
SESSION_ENGINE = "django.contrib.sessions.backends.db"

# ---------------------------------------------------------------- applications
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    # Before staticfiles: `runserver` serves through WhiteNoise as production does.
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "template_partials",
    "csp",
    "django_structlog",
    "ledger",
    "tenancy",
    "quota",
    "accounting",
    "preemption",
    "notices",
    "frontend",
    "demo",
    "config",
]
AUTH_USER_MODEL = "tenancy.User"
MIDDLEWARE = [
    "config.middleware.RequestContextMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "config.api.lane.MachineLane",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
            ],
        },
    }
]

# ---------------------------------------------------------------- language, time
LANGUAGE_CODE = "en-us"
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

# ---------------------------------------------------------------- static files
STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    # Files of exports: not under any address, downloads ask who it is (docs/operator/exports.md).
    "exports": {
        "BACKEND": env_str(
            "APPORTION_EXPORT_STORAGE", "django.core.files.storage.FileSystemStorage"
        ),
        "OPTIONS": {
            "location": env_str("APPORTION_EXPORT_DIR", str(VAR_DIR / "exports")),
        },
    },
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if TEST or DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = TEST or DEBUG
WHITENOISE_AUTOREFRESH = DEBUG

# ---------------------------------------------------------------- transport security
ALLOWED_HOSTS = env_list("APPORTION_ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
if TEST:
    ALLOWED_HOSTS = [*ALLOWED_HOSTS, "testserver"]
CSRF_TRUSTED_ORIGINS = env_list("APPORTION_TRUSTED_ORIGINS")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not INSECURE_HTTP
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = env_int("APPORTION_SESSION_HOURS", 12, minimum=1, maximum=24 * 90) * 3600
CSRF_FAILURE_VIEW = "django.views.csrf.csrf_failure"
SECURE_SSL_REDIRECT = env_bool("APPORTION_SSL_REDIRECT", not INSECURE_HTTP)
SECURE_HSTS_SECONDS = env_int("APPORTION_HSTS_SECONDS", 0 if INSECURE_HTTP else 365 * 86400)
SECURE_HSTS_INCLUDE_SUBDOMAINS = env_bool("APPORTION_HSTS_SUBDOMAINS")
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if env_bool("APPORTION_TRUST_PROXY"):
    # Only behind a proxy that sets these headers itself: clients could forge them otherwise.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    USE_X_FORWARDED_HOST = True
SILENCED_SYSTEM_CHECKS = [
    # HSTS for subdomains and the browsers' preload list bind other services of the same domain:
    # the operator's decision (APPORTION_HSTS_SUBDOMAINS), not ours.
    "security.W005",
    "security.W021",
]

_SELF = "'self'"
# Plotly writes one empty <style> element; this is the hash of nothing.
_EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [_SELF],
        "script-src": [_SELF],
        "style-src": [_SELF, _EMPTY_STYLE],
        "img-src": [_SELF, "data:", "blob:"],
        "font-src": [_SELF],
        "connect-src": [_SELF],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": [_SELF],
        "frame-ancestors": ["'none'"],
    }
}

# Usage batches carry 100,000 records; the ingest view enforces its own, tighter bounds.
DATA_UPLOAD_MAX_MEMORY_SIZE = env_int("APPORTION_BODY_BYTES_MAX", 128 * 2**20)

# ---------------------------------------------------------------- sign-in
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
if TEST:
    PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
# People are invited or imported; nobody makes an account alone.
ACCOUNT_ADAPTER = "config.adapters.AccountAdapter"
SOCIALACCOUNT_ADAPTER = "config.adapters.SocialAccountAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_SESSION_REMEMBER = None
ACCOUNT_RATE_LIMITS = {
    "login": "30/m/ip",
    "login_failed": "10/m/ip,5/5m/key",
    "reset_password": "20/m/ip,5/m/key",
    "change_password": "5/m/user",
    "reauthenticate": "10/m/user",
}
SOCIALACCOUNT_ONLY = False
SOCIALACCOUNT_PROVIDERS: dict[str, Any] = {}
OIDC_ENABLED = bool(env_str("APPORTION_OIDC_SERVER_URL", ""))
if OIDC_ENABLED:
    # Browsers hold the redirect that follows our form to `form-action` as well.
    _issuer = urlsplit(env_str("APPORTION_OIDC_SERVER_URL"))
    CONTENT_SECURITY_POLICY["DIRECTIVES"]["form-action"].append(
        f"{_issuer.scheme}://{_issuer.netloc}"
    )
    SOCIALACCOUNT_PROVIDERS["openid_connect"] = oidc.provider(
        identifier=env_str("APPORTION_OIDC_ID", "sso"),
        name=env_str("APPORTION_OIDC_NAME", "Single sign-on"),
        client_id=env_str("APPORTION_OIDC_CLIENT_ID"),
        secret=env_str("APPORTION_OIDC_CLIENT_SECRET"),
        server_url=env_str("APPORTION_OIDC_SERVER_URL"),
        uid_field=env_str("APPORTION_OIDC_UID_FIELD", "sub"),
    )

# ---------------------------------------------------------------- REST
# Requests a minute of one token or person: config/api/limits.py. 0 sets no bound.
RATE_LIMITS_ON = env_bool("APPORTION_RATE_LIMITS", True)
RATE_LIMITS = {
    "api": env_int("APPORTION_RATE_API", 3_000),
    "usage": env_int("APPORTION_RATE_USAGE", 600),
    "priorities": env_int("APPORTION_RATE_PRIORITIES", 60_000),
}
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "tenancy.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_VERSIONING_CLASS": "rest_framework.versioning.URLPathVersioning",
    "DEFAULT_VERSION": "v1",
    "ALLOWED_VERSIONS": ["v1"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "config.problems.exception_handler",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Apportion",
    "DESCRIPTION": "Shares, priorities and usage of shared accelerators.",
    "VERSION": "1.0.0",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "SCHEMA_PATH_PREFIX": r"/api/v[0-9]+",
    "POSTPROCESSING_HOOKS": ["config.api.schema.add_components"],
}

# ---------------------------------------------------------------- exports
EXPORT_DAYS = env_int("APPORTION_EXPORT_DAYS", 14, minimum=1, maximum=3660)
EXPORT_BYTES_MAX = env_int("APPORTION_EXPORT_MIB_MAX", 20_480, minimum=1, maximum=10**7) * 2**20
# Who issues the statements, as FOCUS files name them: provider, publisher and invoice issuer.
EXPORT_PROVIDER = env_str("APPORTION_PROVIDER_NAME", "Apportion")

# ---------------------------------------------------------------- mail, logs
EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
if env_str("APPORTION_SMTP_HOST", ""):
    EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    EMAIL_HOST = env_str("APPORTION_SMTP_HOST")
    EMAIL_PORT = env_int("APPORTION_SMTP_PORT", 587, maximum=65535)
    EMAIL_HOST_USER = env_str("APPORTION_SMTP_USER", "")
    EMAIL_HOST_PASSWORD = env_str("APPORTION_SMTP_PASSWORD", "")
    EMAIL_USE_TLS = env_bool("APPORTION_SMTP_TLS", True)
    EMAIL_TIMEOUT = 20
elif env_str("APPORTION_MAIL_DIR", ""):
    EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    EMAIL_FILE_PATH = env_str("APPORTION_MAIL_DIR")
DEFAULT_FROM_EMAIL = env_str("APPORTION_MAIL_FROM", "apportion@localhost")
# Letters are written by tasks, which no request tells under which name the site is known.
PUBLIC_URL = env_url("APPORTION_PUBLIC_URL", "http://localhost:8000")

# Bearer token of /metrics, which does not exist without one outside the demo.
METRICS_TOKEN = env_str("APPORTION_METRICS_TOKEN", "")
LOGGING_CONFIG = "config.logging.configure"
LOGGING = logging_settings(
    level=env_str("APPORTION_LOG_LEVEL", "WARNING" if TEST else "INFO"),
    style=env_choice("APPORTION_LOG_STYLE", "json", choices=("json", "console")),
)
DJANGO_STRUCTLOG_CELERY_ENABLED = not TEST

# ---------------------------------------------------------------- Celery (queues: config/celery.py)
CELERY_BROKER_URL = "memory://" if TEST else REDIS_URL
CELERY_TASK_ALWAYS_EAGER = TEST
CELERY_TASK_EAGER_PROPAGATES = TEST
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
# The domain keeps its own job rows; a result store would be a second truth.
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_CREATE_MISSING_QUEUES = False
# A task is taken off the queue when done, so a killed worker's task runs again: all are
# idempotent.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_SOFT_TIME_LIMIT = timedelta(minutes=9).total_seconds()
CELERY_TASK_TIME_LIMIT = timedelta(minutes=10).total_seconds()
# Longer than any task: what is still unacknowledged then is given to another worker.
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 1800, "socket_timeout": 10}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"
