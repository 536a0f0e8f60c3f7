// Files with a list of machines, of which many programs have a form of their own.
//
// Pure functions; what is wrong is told all at once, as file:line:column.
#pragma once

#include <string>
#include <string_view>

#include "spec/host_list.h"

namespace autodist::spec {

// Reads the hostfiles of DeepSpeed, Open MPI, MPICH, MVAPICH2 and Intel MPI, rankfiles, the lists
// of Grid Engine, LSF, PBS and Slurm, those of pssh, and Ansible's inventories; hostfile_form.h
// tells them apart. A host on several lines gets their slots together. What is of no use here is
// passed over with one warning. `file` only names it.
HostList ParseHostfile(std::string_view text, const std::string& file);

}  // namespace autodist::spec
