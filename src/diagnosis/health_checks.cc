// Checks whether the hardware of the nodes has faults.
#include "diagnosis/hardware_faults.h"

#include "diagnosis/issue_list.h"

namespace autodist::diagnosis {

void CheckHealth(const Evidence& evidence, IssueList& issues) {
  if (!evidence.probe.health()) return;
  for (const uint32_t node : ReachedNodes(evidence)) {
    issues.Checked(v1::CHECK_HEALTH, node);
    for (const v1::HardwareFault& fault :
         FaultsThatConcern(PlanOf(evidence, node), FactsOf(evidence, node))) {
      issues.Add(v1::CHECK_HEALTH, ResultOf(fault, evidence.health), node,
                 fault.what() + " (" + fault.source() + ")", fault.remedy());
    }
  }
}

}  // namespace autodist::diagnosis
