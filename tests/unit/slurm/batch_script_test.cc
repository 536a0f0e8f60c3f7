#include "slurm/batch_script.h"

#include <gtest/gtest.h>

namespace autodist::slurm {
namespace {

TEST(SlurmScriptTest, ContainsTheGivenOptions) {
  SlurmRequest request;
  EXPECT_EQ(SlurmScript(request, "autodist", "{\n}\n"),
            "#!/bin/sh\n"
            "#SBATCH --job-name=autodist\n"
            "#SBATCH --nodes=1\n"
            "#SBATCH --ntasks-per-node=1\n"
            "exec autodist run-request /dev/stdin <<'END'\n{\n}\nEND\n");
  request = {"sweep", 4, "a100:8", 2, "1-12", "long", "lab", "USR1@120", {"--exclusive"}};
  EXPECT_EQ(SlurmScript(request, "/opt/it's/autodist", "{\n \"env\": [\"A=$HOME\"]\n}\n"),
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
            "exec '/opt/it'\\''s/autodist' run-request /dev/stdin <<'END'\n"
            "{\n \"env\": [\"A=$HOME\"]\n}\nEND\n");
}

}  // namespace
}  // namespace autodist::slurm
