#include "dialect/dialects.h"

#include <absl/strings/str_join.h>

#include <algorithm>

#include "base/did_you_mean.h"

namespace autodist::dialect {
namespace {

struct Contradiction {
  const Dialect* one;
  const Dialect* other;
  const char* why;
};

constexpr char kTakesRanksFromMpi[] = "under MPI, MindSpore takes its ranks from MPI alone";

const Contradiction kContradictions[] = {
    {&kMindspore, &kRanktable, "MindSpore takes MS_ROLE or a rank table, never both"},
    {&kMindspore, &kMpi, kTakesRanksFromMpi},
    {&kRanktable, &kMpi, kTakesRanksFromMpi},
    {&kJax, &kMpi, "the variables by which JAX finds its ranks look like Slurm's to Open MPI"},
};

std::string Both(const Dialect& one, const Dialect& other) {
  return std::string("dialects '") + one.name + "' and '" + other.name +
         "' contradict each other: ";
}

std::vector<std::string> ContradictionsIn(const std::vector<const Dialect*>& chosen) {
  std::vector<std::string> found;
  const auto has = [&](const Dialect* dialect) { return std::ranges::count(chosen, dialect) > 0; };
  for (const Contradiction& contradiction : kContradictions) {
    if (has(contradiction.one) && has(contradiction.other)) {
      found.push_back(Both(*contradiction.one, *contradiction.other) + contradiction.why);
    }
  }
  const auto only_one_may = [&](bool Dialect::*use, const std::string& what) {
    const Dialect* first = nullptr;
    for (const Dialect* dialect : chosen) {
      if (!(dialect->*use)) continue;
      if (first) {
        found.push_back(Both(*first, *dialect) + "both " + what +
                        "; name the one that the program uses");
      }
      first = dialect;
    }
  };
  only_one_may(&Dialect::uses_master_port, "open the job's rendezvous port");
  only_one_may(&Dialect::uses_rank_ports, "have the ranks listen at the same ports");
  return found;
}

std::string UnknownName(const std::string& name) {
  std::vector<std::string> names;
  for (const Dialect* dialect : All()) names.emplace_back(dialect->name);
  const std::string nearest = base::Nearest(name, names);
  return "there is no dialect '" + name + "'" +
         (nearest.empty() ? "" : "; did you mean '" + nearest + "'?");
}

std::string WrongKind(const Dialect& dialect, v1::ProgramKind kind) {
  std::vector<std::string> right;
  for (const v1::ProgramKind known : dialect.kinds) right.emplace_back(OptionOf(known));
  return std::string("dialect '") + dialect.name + "' is for " + base::Alternatives(right) +
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

const std::vector<const Dialect*>& All() {
  // In the order in which they are listed to people.
  static const std::vector<const Dialect*> all = {&kTorch,      &kDeepspeed, &kPaddle,
                                                  &kMindspore,  &kRanktable, &kJax,
                                                  &kTensorflow, &kHorovod,   &kMpi};
  return all;
}

Result<std::vector<const Dialect*>> Choose(const std::vector<std::string>& names,
                                           v1::ProgramKind kind) {
  std::vector<const Dialect*> chosen;
  std::vector<std::string> issues;
  for (const std::string& name : names) {
    const auto found =
        std::ranges::find_if(All(), [&](const Dialect* dialect) { return dialect->name == name; });
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
                    "`autodist dialects` lists what each one sets");
}

}  // namespace autodist::dialect
