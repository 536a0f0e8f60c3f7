#include "slurm/srun.h"

#include <gtest/gtest.h>

#include "base/proof_of_end.h"

namespace autodist::slurm {
namespace {

// Slurm says so when it begins to end the steps; their processes then have KillWait, 30 seconds.
TEST(SrunErrorTest, AnEndedAllocationDoesNotProveTheEndOfItsSteps) {
  const Status over = SrunError(
      "srun: error: Unable to create step for job 7: Job/step already completing or "
      "completed\n");
  EXPECT_TRUE(Message(over).starts_with("Slurm has ended the job: srun: error: ")) << over;
  EXPECT_FALSE(ProofOfEnd::In(over));
  const Status busy =
      SrunError("srun: error: Unable to create step for job 7: Requested nodes are busy\n");
  EXPECT_TRUE(Message(busy).starts_with("srun: error: ")) << busy;
}

TEST(SrunErrorTest, OutputOfTasksIsNotAnError) {
  for (const std::string said : {"", "error: no room\n", "slurmstepd: error: no room\n"}) {
    EXPECT_TRUE(SrunError(said).ok()) << said;
  }
}

}  // namespace
}  // namespace autodist::slurm
