// Files with a list of machines, in the forms of many programs.
//
// Pure functions; all issues are reported at once, as file:line:column.
#pragma once

#include <string>
#include <string_view>

#include "spec/host_list.h"

namespace autodist::spec {

// Reads the hostfiles of DeepSpeed, Open MPI, MPICH, MVAPICH2 and Intel MPI, rankfiles, the lists
// of Grid Engine, LSF, PBS and Slurm, those of pssh, Ansible's inventories, CSV, /etc/hosts and
// commands of ssh; hostfile_form.h determines the form, and an issue names forms that cannot be
// used. A host on several lines gets the sum of the slots. Unused settings are skipped with one
// warning. `file` is only for messages.
HostList ParseHostfile(std::string_view text, const std::string& file);

}  // namespace autodist::spec
