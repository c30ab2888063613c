#!/bin/sh
# Give the drivers of Python and Java the database's password, which is in no setting, and run the command.
# In: PENSTOCK_DATABASE_PASSWORD, or PENSTOCK_DATABASE_PASSWORD_FILE with the name of a file that holds it.
set -eu

password=${PENSTOCK_DATABASE_PASSWORD:-}
if [ -n "${PENSTOCK_DATABASE_PASSWORD_FILE:-}" ]; then
    password=$(cat "$PENSTOCK_DATABASE_PASSWORD_FILE")
fi
if [ -n "$password" ]; then
    umask 077
    # In a password file, \ and : are written with a \ before them.
    escaped=$(printf '%s' "$password" | sed 's/[\\:]/\\&/g')
    printf '*:*:*:*:%s\n' "$escaped" > "$HOME/.pgpass"
    unset PENSTOCK_DATABASE_PASSWORD
fi
exec "$@"
