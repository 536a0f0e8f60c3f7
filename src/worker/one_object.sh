#!/bin/sh
# Links objects, and what they need of archives, into one object that has no names but SYMBOLS.
#
#   LD=… NM=… OBJCOPY=… one_object.sh RESULT SYMBOLS OBJECTS-AND-ARCHIVES...
set -eu
result=$1 symbols=$2
shift 2
# Without groups: the linker would keep the program's own copy of one, and drop ours.
"$LD" -r --force-group-allocation -o "$result" --start-group "$@" --end-group
# objcopy does not make names local that the loader is to keep unique in the process.
"$NM" "$result" | sed -n 's/.* u //p' >"$result.unique"
"$OBJCOPY" --weaken-symbols="$result.unique" "$result"
"$OBJCOPY" --strip-unneeded --wildcard --keep-global-symbols="$symbols" "$result"
rm "$result.unique"
