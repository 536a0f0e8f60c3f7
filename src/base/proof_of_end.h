// Proves that an agent has ended on its node, with all processes that it started there. With a
// proof, other ranks may replace its ranks at once; without, only when its lease has expired.
#pragma once

#include <utility>

#include "autodist/status.h"

namespace autodist {

// Makes failures that carry the proof; Annotate and WithRemedy preserve it.
//
// No proof: an error of kubectl, because the API server forgets pods that still run (forced
// deletions, removed nodes, lost data), and the context may lead to another cluster; an error of
// srun, because Slurm reports the end before its steps have ended; the end of a process on this
// machine; a notice that a node will end.
class ProofOfEnd {
 public:
  // podman or docker says that the container was removed, or docker that it does not run. Both end
  // all its processes before. "Not in the right state" is none: it includes paused containers.
  static Status OfContainer(Status why) { return With(std::move(why)); }
  // A program on the node, which sees its processes, says that none is left. The watchdog stores
  // a reason only after that.
  static Status ByNode(Status why) { return With(std::move(why)); }
  // The only callback client that has run programs on the node has ended. It ends its connection
  // after all its descendants have ended. Its system does so only for process 1, with which the
  // kernel ends all processes of the container; it resets the connections of others.
  static Status OfClient(Status why) { return With(std::move(why)); }
  // The agent has ended its session. It does so after all its processes have ended.
  static Status OfSession(Status why) { return With(std::move(why)); }

  static bool In(const Status& status) { return status.proves_end_; }

 private:
  static Status With(Status why) {
    why.proves_end_ = !why.ok();
    return why;
  }
};

}  // namespace autodist
