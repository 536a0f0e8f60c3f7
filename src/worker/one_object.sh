#!/bin/sh
# Links objects, and what they need from archives, into one object that only exports SYMBOLS.
#
#   LD=… NM=… OBJCOPY=… one_object.sh RESULT SYMBOLS OBJECTS-AND-ARCHIVES...
set -eu
result=$1 symbols=$2
shift 2
# Without groups: otherwise the linker would keep only the program's copy of a group.
"$LD" -r --force-group-allocation -o "$result" --start-group "$@" --end-group
# objcopy does not localize names that must be unique in the process.
"$NM" "$result" | sed -n 's/.* u //p' >"$result.unique"
"$OBJCOPY" --weaken-symbols="$result.unique" "$result"
"$OBJCOPY" --strip-unneeded --wildcard --keep-global-symbols="$symbols" "$result"
rm "$result.unique"
