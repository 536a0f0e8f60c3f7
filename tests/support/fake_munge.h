// Fake programs scontrol, munge and unmunge, in a folder for PATH. Slurm's settings are queried
// once in a process, so they are the same in all tests.
#pragma once

#include <filesystem>
#include <string>

#include "support/temp_folder.h"

namespace autodist::test {

// While there is a file "auth_none" in the folder, Slurm does not use munge; while there is
// "munge_fails", munge fails. The input of munge is in "sealed".
inline void PutFakeMunge(const TempFolder& folder) {
  const auto put = [&folder](const std::string& name, const std::string& script) {
    std::filesystem::permissions(folder.Write(name, "#!/bin/sh\n" + script),
                                 std::filesystem::perms::owner_all);
  };
  const std::string here = "'" + folder.path() + "'";
  const std::string takes =
      "for a; do [ \"$a\" != '--socket=/run/a socket' ] || s=1; done\n"
      "[ -n \"$s\" ] || { echo 'no such socket' >&2; exit 6; }\n";
  put("scontrol", "a=auth/munge; [ ! -e " + here + "/auth_none ] || a=auth/none\n" +
                      "echo 'AuthInfo                = ttl=60,socket=/run/a socket,cred_expire=9'\n"
                      "echo \"AuthType                = $a\"\n");
  put("munge", "[ ! -e " + here + "/munge_fails ] || { echo 'no munged here' >&2; exit 1; }\n" +
                   takes + "tee " + here + "/sealed | base64 -w 0 | sed 's/.*/MUNGE:&:/'; echo\n");
  put("unmunge", takes +
                     "echo \"UID:      user ($(id -u))\"; echo\n"
                     "tr -d '\\n' | sed 's/MUNGE:\\(.*\\):/\\1/' | base64 -d\n"
                     "echo 'Replayed credential' >&2; exit 17\n");
}

}  // namespace autodist::test
