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

TEST(WhereItWritesTest, FollowsTheOptionsOfSbatch) {
  struct Row {
    std::vector<std::string> others;
    std::string where;
  };
  const Row rows[] = {
      {{}, "output in slurm-8.out in this folder"},
      {{"--exclusive", "--overcommit"}, "output in slurm-8.out in this folder"},
      {{"--output=out"}, "output in out in this folder"},
      {{"--out=a", "--output=b"}, "output in b in this folder"},
      {{"--output=logs/%j.txt"}, "output in logs/8.txt in this folder"},
      {{"--output=/scratch/%j.txt"}, "output in /scratch/8.txt"},
      {{"--output=%x-%j.txt"}, ""},
      {{"--output=%5j"}, ""},
      {{"--output=none"}, ""},
      {{"--output"}, ""},
      {{"--error=err-%j"}, "stdout in slurm-8.out and stderr in err-8 in this folder"},
      {{"--output=o", "--error=o"}, "output in o in this folder"},
      {{"--output=o", "--error=/tmp/e"}, "stdout in o and stderr in /tmp/e"},
      {{"--error=%N"}, ""},
      {{"--chdir=/scratch"}, ""},
      {{"--chdir=/scratch", "--output=/tmp/o"}, "output in /tmp/o"},
      {{"--array=1-2"}, ""},
  };
  for (const Row& row : rows) {
    SlurmRequest request;
    request.others = row.others;
    EXPECT_EQ(WhereItWrites(request, "8", [](const char*) { return nullptr; }), row.where)
        << testing::PrintToString(row.others);
  }
  const auto variable = [](const char* name) {
    return std::string_view(name) == "SBATCH_OUTPUT" ? "x" : nullptr;
  };
  EXPECT_EQ(WhereItWrites({}, "8", variable), "");
}

}  // namespace
}  // namespace autodist::slurm
