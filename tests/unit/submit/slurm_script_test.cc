#include "submit/slurm_script.h"

#include <gtest/gtest.h>

namespace autodist::submit {
namespace {

TEST(SlurmScriptTest, AsksForWhatIsGiven) {
  SlurmRequest request;
  EXPECT_EQ(SlurmScript(request, {"autodist", "run", "--slurm", "--", "./train"}),
            "#!/bin/sh\n"
            "#SBATCH --job-name=autodist\n"
            "#SBATCH --nodes=1\n"
            "#SBATCH --ntasks-per-node=1\n"
            "exec autodist run --slurm -- ./train\n");
  request = {"sweep", 4, "a100:8", 2, "1-12", "long", "lab", "USR1@120", {"--exclusive"}};
  EXPECT_EQ(SlurmScript(request, {"/opt/autodist", "run", "--", "echo", "it's $HOME"}),
            "#!/bin/sh\n"
            "#SBATCH --job-name=sweep\n"
            "#SBATCH --nodes=4\n"
            "#SBATCH --ntasks-per-node=2\n"
            "#SBATCH --gpus-per-node=a100:8\n"
            "#SBATCH --time=1-12\n"
            "#SBATCH --partition=long\n"
            "#SBATCH --account=lab\n"
            "#SBATCH --signal=B:USR1@120\n"
            "#SBATCH --exclusive\n"
            "exec /opt/autodist run -- echo 'it'\\''s $HOME'\n");
}

}  // namespace
}  // namespace autodist::submit
