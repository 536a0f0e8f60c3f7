// Determines which program's form a list of machines has. Pure functions.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace autodist::spec {

struct HostfileWord {
  std::string_view text;
  size_t column;  // from 1
};

// A line without its comment; it has at least one field.
struct HostfileLine {
  size_t number;  // from 1
  std::string_view text;
  std::vector<HostfileWord> words;
};

enum class HostfileForm {
  kHosts,       // a host a line, perhaps with options: "gpu1:2", "gpu1 slots=2 user=ann"
  kGridEngine,  // $PE_HOSTFILE: "gpu1 2 all.q@gpu1 UNDEFINED"
  kCounts,      // $LSB_MCPU_HOSTS: "gpu1 2 gpu2 2"; also one pair a line
  kNames,       // $LSB_HOSTS: "gpu1 gpu1 gpu2 gpu2"
  kUsers,       // of pssh: "gpu1:22 ann"
  kRanks,       // a rankfile of Open MPI: "rank 0=gpu1 slot=0-3"
  kInventory,   // of Ansible: "[workers]", "gpu1 ansible_user=ann"
  kNodeNames,   // slurm.conf, and `scontrol show nodes -o`: "NodeName=gpu[1-4] Gres=gpu:8"
  kHostsTable,  // /etc/hosts: "10.0.0.1 gpu1 gpu1.lab"
};

// Splits a text with LF line ends; skips empty lines. The fields point into the text.
std::vector<HostfileLine> HostfileLines(std::string_view text);

HostfileForm FormOf(const std::vector<HostfileLine>& lines);

// Whether it is "[GROUP]", "[GROUP:vars]" or "[GROUP:children]", not an address in brackets.
bool IsInventorySection(std::string_view line);

}  // namespace autodist::spec
