// Marks the failure to reach a node that may be off or booting, or whose network is down: waiting
// for it may help. Other failures show that the node is up, or that a setting is wrong.
#pragma once

#include <utility>

#include "autodist/status.h"

namespace autodist {

// Annotate and WithRemedy preserve the mark.
class NodeIsDown {
 public:
  static Status Mark(Status why) {
    why.node_is_down_ = !why.ok();
    return why;
  }
  static bool In(const Status& status) { return status.node_is_down_; }
};

}  // namespace autodist
