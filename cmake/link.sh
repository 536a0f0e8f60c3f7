#!/bin/sh
# Runs a link command and leaves out glibc's warnings about static programs that load shared libraries at
# run time: autodist does without those libraries (base/name_service.h).
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
"$@" 2>"$errors"
code=$?
awk '/in function `.*:$/ { place = $0 "\n"; next }
     /in statically linked applications requires at runtime/ { place = ""; next }
     { printf "%s", place; place = ""; print }
     END { printf "%s", place }' "$errors" >&2
exit "$code"
