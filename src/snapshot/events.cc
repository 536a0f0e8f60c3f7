#include "snapshot/events.h"

namespace autodist::snapshot {

std::string PhaseText(const v1::JobEvent& event) {
  switch (event.node_phase()) {
    case v1::NODE_PHASE_READY:
      return "is ready";
    case v1::NODE_PHASE_RUNNING:
      return "runs";
    case v1::NODE_PHASE_RECONNECTING:
      return "does not answer";
    case v1::NODE_PHASE_STOPPING:
      return "stops its ranks";
    case v1::NODE_PHASE_ENDED:
      return "has ended";
    case v1::NODE_PHASE_LOST:
      return "is lost";
    default:
      break;
  }
  switch (event.job_phase()) {
    case v1::JOB_PHASE_LAUNCHING:
      return "launching";
    case v1::JOB_PHASE_RUNNING:
      return "attempt " + std::to_string(event.attempt() + 1) + " runs";
    case v1::JOB_PHASE_STOPPING:
      return "stopping";
    case v1::JOB_PHASE_RESTARTING:
      return "restarting";
    case v1::JOB_PHASE_ENDED:
      return "ended";
    default:
      return "";
  }
}

v1::Mark MarkOf(const v1::JobEvent& event) {
  if (event.node_phase() == v1::NODE_PHASE_RECONNECTING) return v1::MARK_DISCONNECTED;
  if (event.node_phase() == v1::NODE_PHASE_LOST) return v1::MARK_FAILED;
  if (event.job_phase() == v1::JOB_PHASE_RESTARTING) return v1::MARK_FAILED;
  if (!event.has_rank()) return v1::MARK_NONE;
  const bool well = event.what().find("exited with code 0") != std::string::npos;
  return well ? v1::MARK_ENDED : v1::MARK_FAILED;
}

}  // namespace autodist::snapshot
