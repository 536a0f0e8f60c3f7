#!/bin/sh
# Compiles with ccache: `ccache.sh CCACHE COMPILER ARGUMENT...`. Removes an old precompiled header before it is
# compiled again: ccache would read it instead of the headers that it includes, and so miss that they have changed.
cache=$1
shift
case " $* " in
  *" c++-header "*)
    previous=
    for word in "$@"; do
      if [ "$previous" = -o ]; then rm -f "$word"; fi
      previous=$word
    done
    ;;
esac
# Without these it does not cache what uses precompiled headers.
CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime exec "$cache" "$@"
