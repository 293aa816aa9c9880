#!/bin/sh
# Runs once, when the database container is made: the application's login role.
# It owns nothing and cannot pass row-level security; `manage.py migrate` grants it its rights.
set -eu
psql --no-psqlrc --set=ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
    --set=password="$APPORTION_APP_PASSWORD" <<'SQL'
CREATE ROLE apportion_app LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE
    PASSWORD :'password';
SQL
