#include "process/file_limit.h"

#include <sys/resource.h>

#include <atomic>

namespace autodist::process {
namespace {

constexpr rlim_t kNotRaised = RLIM_INFINITY;  // an infinite limit cannot be raised

std::atomic<rlim_t> soft_limit_before = kNotRaised;

}  // namespace

void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  soft_limit_before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void RestoreFileLimit() {
  const rlim_t before = soft_limit_before;
  rlimit limit{};
  if (before == kNotRaised || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = before < limit.rlim_max ? before : limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace autodist::process
