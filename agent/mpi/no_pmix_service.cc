// For a build without PMIx (AUTODIST_MPI=OFF).
#include "agent/mpi/pmix_service.h"

namespace autodist::agent {

PmixService::~PmixService() = default;

Status PmixService::Join(const v1::PmixWorld&, v1::NodePlan&) {
  return Error(StatusCode::kUnimplemented, "this build of autodist has no PMIx");
}

void PmixService::Leave() {}

void PmixService::Answer(const v1::ModexQuestion&) {}

}  // namespace autodist::agent
