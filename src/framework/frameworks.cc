#include "framework/frameworks.h"

#include <absl/strings/str_join.h>

#include <algorithm>

#include "base/did_you_mean.h"

namespace autodist::framework {
namespace {

struct Contradiction {
  const Framework* one;
  const Framework* other;
  const char* why;
};

constexpr char kTakesRanksFromMpi[] = "under MPI, MindSpore takes its ranks from MPI alone";

const Contradiction kContradictions[] = {
    {&kMindspore, &kRanktable, "MindSpore takes MS_ROLE or a rank table, never both"},
    {&kMindspore, &kMpi, kTakesRanksFromMpi},
    {&kRanktable, &kMpi, kTakesRanksFromMpi},
    {&kJax, &kMpi, "the variables by which JAX finds its ranks look like Slurm's to Open MPI"},
};

std::string Both(const Framework& one, const Framework& other) {
  return std::string("frameworks '") + one.name + "' and '" + other.name +
         "' contradict each other: ";
}

std::vector<std::string> ContradictionsIn(const std::vector<const Framework*>& chosen) {
  std::vector<std::string> found;
  const auto has = [&](const Framework* framework) {
    return std::ranges::count(chosen, framework) > 0;
  };
  for (const Contradiction& contradiction : kContradictions) {
    if (has(contradiction.one) && has(contradiction.other)) {
      found.push_back(Both(*contradiction.one, *contradiction.other) + contradiction.why);
    }
  }
  const auto only_one_may = [&](bool Framework::*use, const std::string& what) {
    const Framework* first = nullptr;
    for (const Framework* framework : chosen) {
      if (!(framework->*use)) continue;
      if (first) {
        found.push_back(Both(*first, *framework) + "both " + what +
                        "; name the one that the program uses");
      }
      first = framework;
    }
  };
  only_one_may(&Framework::uses_master_port, "open the job's rendezvous port");
  only_one_may(&Framework::uses_rank_ports, "have the ranks listen at the same ports");
  return found;
}

std::string UnknownName(const std::string& name) {
  std::vector<std::string> names;
  for (const Framework* framework : All()) names.emplace_back(framework->name);
  const std::string nearest = base::Nearest(name, names);
  return "there is no framework '" + name + "'" +
         (nearest.empty() ? "" : "; did you mean '" + nearest + "'?");
}

std::string WrongKind(const Framework& framework, v1::ProgramKind kind) {
  std::vector<std::string> right;
  for (const v1::ProgramKind known : framework.kinds) right.emplace_back(OptionOf(known));
  return std::string("framework '") + framework.name + "' is for " + base::Alternatives(right) +
         ", not for " + OptionOf(kind);
}

}  // namespace

const char* OptionOf(v1::ProgramKind kind) {
  switch (kind) {
    case v1::PROGRAM_KIND_PER_NODE:
      return "--per node";
    case v1::PROGRAM_KIND_PER_JOB:
      return "--per job";
    default:
      return "--per device";
  }
}

const std::vector<const Framework*>& All() {
  // In the order of listings.
  static const std::vector<const Framework*> all = {&kTorch,      &kDeepspeed, &kPaddle,
                                                    &kMindspore,  &kRanktable, &kJax,
                                                    &kTensorflow, &kHorovod,   &kMpi};
  return all;
}

Result<std::vector<const Framework*>> Choose(const std::vector<std::string>& names,
                                             v1::ProgramKind kind) {
  std::vector<const Framework*> chosen;
  std::vector<std::string> issues;
  for (const std::string& name : names) {
    const auto found = std::ranges::find_if(
        All(), [&](const Framework* framework) { return framework->name == name; });
    if (found == All().end()) {
      issues.push_back(UnknownName(name));
      continue;
    }
    if (std::ranges::count((*found)->kinds, kind) == 0) {
      issues.push_back(WrongKind(**found, kind));
    }
    if (std::ranges::count(chosen, *found) == 0) chosen.push_back(*found);
  }
  std::ranges::move(ContradictionsIn(chosen), std::back_inserter(issues));
  if (issues.empty()) return chosen;
  return WithRemedy(Error(StatusCode::kInvalidArgument, absl::StrJoin(issues, "\n")),
                    "`autodist frameworks` lists what each one sets");
}

}  // namespace autodist::framework
