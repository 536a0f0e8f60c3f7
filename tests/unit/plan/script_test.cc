#include "plan/command_argv.h"

#include <gtest/gtest.h>

#include <sstream>

namespace autodist::plan {
namespace {

Script In(const std::string& line) {
  std::istringstream words(line);
  return ScriptIn({std::istream_iterator<std::string>(words), {}});
}

TEST(ScriptInTest, ScriptsOfInterpreters) {
  for (const auto& [line, path] : {std::pair{"python train.py --config a.py", "train.py"},
                                   {"/opt/bin/python3.11 -u -X dev -W ignore train", "train"},
                                   {"python -uXdev src/train.py", "src/train.py"},
                                   {"env A=1 numactl -N 0 python train.py", "train.py"},
                                   {"python --check-hash-based-pycs always train.py", "train.py"},
                                   {"python -c pass train.py", ""},
                                   {"python -uc pass train.py", ""},
                                   {"python - train.py", ""},
                                   {"python -m train.main train.py", ""},
                                   {"python", ""},
                                   {"bash train.sh", "train.sh"},
                                   {"bash -eu -o pipefail scripts/train", "scripts/train"},
                                   {"sh --rcfile x ./train", "./train"},
                                   {"bash -c ./train.sh", ""},
                                   {"bash -s ./train.sh", ""},
                                   {"bash train", ""},
                                   {"./train train.py", ""},
                                   {"", ""}}) {
    EXPECT_EQ(In(line).path, path) << line;
  }
}

TEST(ScriptInTest, ScriptsOfLaunchers) {
  for (const auto& [line, path] :
       {std::pair{"torchrun --nproc-per-node 2 --standalone train.py a.py", "train.py"},
        {"python -m torch.distributed.run --nproc_per_node=2 train.py", "train.py"},
        {"accelerate launch --multi_gpu train.py", "train.py"},
        {"torchrun -m train.main a.py", ""},
        {"torchrun --no-python ./train a.py", ""},
        {"mpirun -n 2 python train.py", ""}}) {
    EXPECT_EQ(In(line).path, path) << line;
    EXPECT_EQ(In(line).module, "") << line;
  }
}

TEST(ScriptInTest, AModule) {
  EXPECT_EQ(In("python -m train.main --lr 1").module, "train.main");
  EXPECT_EQ(In("python -umtrain").module, "train");
  EXPECT_EQ(In("python train.py -m x").module, "");
}

}  // namespace
}  // namespace autodist::plan
