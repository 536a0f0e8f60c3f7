// Evictions by Kubernetes: it ends one pod by SIGTERM, and creates another one in its place, so
// that the job continues when that connects.
#pragma once

#include "autodist/status.h"

namespace autodist::kubernetes {

inline Status Evicted() {
  return Error(StatusCode::kUnavailable, "its pod was deleted or evicted");
}

}  // namespace autodist::kubernetes
