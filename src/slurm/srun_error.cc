#include "slurm/srun_error.h"

#include <algorithm>
#include <string_view>

#include "base/split.h"

namespace autodist::slurm {
namespace {

// Of an allocation that ends or has ended.
constexpr std::string_view kOver[] = {"already completing or completed", "Invalid job id",
                                      "Job credential revoked"};

}  // namespace

Status SrunError(const std::string& said) {
  for (const std::string_view line : base::Lines(said)) {
    if (!line.starts_with("srun: error: ") && !line.starts_with("srun: fatal: ")) continue;
    const std::string what(line.substr(0, line.find('\r')));
    const bool over = std::ranges::any_of(
        kOver, [&](std::string_view part) { return what.find(part) != std::string::npos; });
    if (over) {
      return WithRemedy(Error(StatusCode::kAborted, "Slurm has ended the job: " + what),
                        "squeue and sacct tell why");
    }
    return WithRemedy(Error(StatusCode::kUnavailable, what),
                      "does `srun hostname` run there by hand?");
  }
  return OkStatus();
}

}  // namespace autodist::slurm
