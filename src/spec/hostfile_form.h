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
  kHosts,       // a host a line, perhaps with options: "gpu1:2", "gpu1 slots=2 user=ann"; or a
                // command: "ssh -p 2222 ann@gpu1"
  kTable,       // columns, also of CSV, Markdown, pssh and /etc/hosts: "gpu1,10.0.0.1,8", "| gpu1 |
                // 8 |", "10.0.0.1 gpu1"
  kGridEngine,  // $PE_HOSTFILE: "gpu1 2 all.q@gpu1 UNDEFINED"
  kCounts,      // $LSB_MCPU_HOSTS: "gpu1 2 gpu2 2"
  kNames,       // $LSB_HOSTS: "gpu1 gpu1 gpu2 gpu2"; also "gpu1,gpu2" and "gpu1, gpu2"
  kRanks,       // a rankfile of Open MPI: "rank 0=gpu1 slot=0-3"
  kInventory,   // of Ansible: "[workers]", "gpu1 ansible_user=ann"
  kNodeNames,   // slurm.conf, and `scontrol show nodes -o`: "NodeName=gpu[1-4] Gres=gpu:8"
  // Forms that are refused: WhyRefused.
  kKnownHosts,  // "gpu1 ssh-ed25519 AAAA..."
  kSshConfig,   // "Host gpu1", "HostName 10.0.0.1"
  kGenders,     // "gpu[1-4] compute,ngpus=8"
  kTemplate,    // "{{ host }}"
};

// Splits a text with LF line ends; skips empty lines, comments, and the rules of printed tables.
// Removes the quotes around a field. The fields point into the text.
std::vector<HostfileLine> HostfileLines(std::string_view text);

HostfileForm FormOf(const std::vector<HostfileLine>& lines);

// A form whose machines are not read.
struct RefusedForm {
  HostfileForm form;
  const char* kind;
  const char* advice;
};

// Returns nullptr for a form that is read.
const RefusedForm* WhyRefused(HostfileForm form);

// Whether it may be a host name, an address or a range. Does not expand the range. An address may
// have the length of a prefix, "10.0.0.11/24", which is no host, but meant as one.
bool IsHost(std::string_view word);
bool IsAddress(std::string_view word);
std::string_view WithoutPrefixLength(std::string_view word);
bool HasDigit(std::string_view word);

// Whether it is a command of ssh, perhaps only its arguments: "ssh -p 2222 ann@gpu1", "gpu1 -p 22".
bool IsSshCommand(const HostfileLine& line);
bool IsSsh(std::string_view word);  // the program

// Whether OpenSSH's configuration has it inside of a Host block; not all keywords are known.
bool IsSshKeyword(std::string_view word);

// Removes the quotes of a shell around the text.
std::string_view Unquoted(std::string_view text);

// Whether it is "[GROUP]", "[GROUP:vars]" or "[GROUP:children]", not an address in brackets.
bool IsInventorySection(std::string_view line);

}  // namespace autodist::spec
