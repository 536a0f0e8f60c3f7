#include "slurm/srun.h"

#include <gtest/gtest.h>

namespace autodist::slurm {
namespace {

TEST(SrunErrorTest, AnEndedAllocationIsDistinguishedFromABusyOne) {
  EXPECT_EQ(
      SrunError("srun: error: Unable to create step for job 7: Job/step already completing or "
                "completed\n")
          .code(),
      StatusCode::kAborted);
  EXPECT_EQ(
      SrunError("srun: error: Unable to create step for job 7: Requested nodes are busy\n").code(),
      StatusCode::kUnavailable);
}

TEST(SrunErrorTest, OutputOfTasksIsNotAnError) {
  for (const std::string said : {"", "error: no room\n", "slurmstepd: error: no room\n"}) {
    EXPECT_TRUE(SrunError(said).ok()) << said;
  }
}

}  // namespace
}  // namespace autodist::slurm
