// What is known where Kubernetes takes a pod away: it ends that pod alone, by SIGTERM, and makes
// another one in its place, so that the job goes on when that calls.
#pragma once

#include "autodist/status.h"

namespace autodist::kubernetes {

// kAborted, as its agent goes.
inline Status Evicted() {
  return Error(StatusCode::kAborted,
               "its scheduler has taken it away, as when a pod is deleted or evicted");
}

}  // namespace autodist::kubernetes
