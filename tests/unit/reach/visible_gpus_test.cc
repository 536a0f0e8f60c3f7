
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "reach/local_gpus.h"

namespace autodist::reach {
namespace {

using testing::HasSubstr;

using Gpus = std::vector<uint32_t>;

TEST(VisibleGpusTest, ParsesLikeCuda) {
  const std::vector<std::pair<std::string, VisibleGpus>> cases = {
      {"2,3", {{2, 3}}},
      {" 1 , 0", {{1, 0}}},
      {"0,1,", {{0, 1}}},
      {"", {}},
      {" ", {}},
      {"-1", {}},
      {"none", {}},
      {"void", {}},
      {"NoDevFiles", {}},
      {"GPU-8932,GPU-1ab9", {{0, 1}, {"GPU-8932", "GPU-1ab9"}}},
      {"MIG-a2b3c4d5-0000-5555-8888-0123456789ab",
       {{0}, {"MIG-a2b3c4d5-0000-5555-8888-0123456789ab"}}},
      {"3,GPU-89", {{3, 1}, {"", "GPU-89"}}},
      {"0,-1", {{0}}},
      {"0,-1,2", {{0}, {}, "CUDA_VISIBLE_DEVICES is '0,-1,2': devices after the -1 are not used"}},
  };
  for (const auto& [value, wanted] : cases) {
    const auto read = ReadVisibleGpus(value, 4);
    ASSERT_TRUE(read.ok()) << value << read.status();
    EXPECT_EQ(*read, wanted) << value;
  }
}

TEST(VisibleGpusTest, InvalidValuesAreQuoted) {
  const std::pair<const char*, const char*> cases[] = {
      {"all", "CUDA_VISIBLE_DEVICES is 'all': CUDA reads it as no GPU"},
      {"0-3", "'0-3': CUDA reads no ranges such as '0-3'"},
      {"0,7", "'0,7': there is no GPU 7; this machine has 4 GPUs, numbered from 0"},
      {"1,1", "'1' is listed twice"},
      {"cuda:0", "'cuda:0' is neither the number nor the UUID of a GPU"},
      {",", "'' is neither the number nor the UUID"},
      {"0;1", "'0;1' is neither"},
      {"GPU-zz", "'GPU-zz' is neither"},
  };
  for (const auto& [value, wrong] : cases) {
    const auto read = ReadVisibleGpus(value, 4);
    ASSERT_FALSE(read.ok()) << value;
    EXPECT_THAT(Message(read.status()), HasSubstr(wrong));
    EXPECT_NE(Remedy(read.status()), "");
  }
  EXPECT_TRUE(ReadVisibleGpus("0,7", std::nullopt).ok());
}

using Variables = std::map<std::string, std::string>;

Result<LocalGpus> Choose(const Variables& variables, const GpuCount& present) {
  return ChooseLocalGpus(
      [&](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
      },
      present);
}

TEST(LocalGpusTest, MissingGpusAreAlwaysReported) {
  struct Case {
    Variables variables;
    GpuCount present;
    Gpus gpus;
    std::string none;
  };
  const std::vector<Case> cases = {
      {{}, {2}, {0, 1}, ""},
      {{}, {0}, {}, "no GPU found"},
      {{{"CUDA_VISIBLE_DEVICES", "1"}}, {2}, {1}, ""},
      {{{"CUDA_VISIBLE_DEVICES", ""}}, {2}, {}, "CUDA_VISIBLE_DEVICES is ''"},
      {{{"CUDA_VISIBLE_DEVICES", "NoDevFiles"}}, {2}, {}, "CUDA_VISIBLE_DEVICES is 'NoDevFiles'"},
      {{{"CUDA_VISIBLE_DEVICES", ""}}, {0}, {}, ""},
      {{{"CUDA_VISIBLE_DEVICES", "0,1"}},
       {0},
       {},
       "no GPU found, though CUDA_VISIBLE_DEVICES is '0,1'"},
      {{{"CUDA_VISIBLE_DEVICES", "all"}},
       {0},
       {},
       "no GPU found, though CUDA_VISIBLE_DEVICES is 'all'"},
      {{{"CUDA_VISIBLE_DEVICES", "0,1"}}, {0, "", Uncounted::kOtherMaker}, {0, 1}, ""},
      {{{"HIP_VISIBLE_DEVICES", "0,1"}},
       {0, "", Uncounted::kOtherMaker},
       {},
       "no NVIDIA GPU found, though HIP_VISIBLE_DEVICES is '0,1'"},
      {{{"NVIDIA_VISIBLE_DEVICES", "all"}},
       {0},
       {},
       "no GPU found, though NVIDIA_VISIBLE_DEVICES is 'all'"},
      {{{"NVIDIA_VISIBLE_DEVICES", "void"}}, {0}, {}, "no GPU found"},
  };
  for (const Case& one : cases) {
    const auto found = Choose(one.variables, one.present);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->visible.gpus, one.gpus) << one.none;
    EXPECT_EQ(found->none, one.none);
  }
  // The code is that of a transport.
  const GpuCount uncounted{0, "", Uncounted::kFails, Error(StatusCode::kNotFound, "mismatch")};
  const auto unknown = Choose({}, uncounted);
  ASSERT_TRUE(unknown.ok());
  EXPECT_EQ(Message(unknown->uncounted), "mismatch");
  EXPECT_EQ(unknown->none, "");
  EXPECT_TRUE(unknown->has_driver);
  EXPECT_FALSE(Choose({}, {0, "", Uncounted::kNoDriver, uncounted.why})->has_driver);
  for (const auto& [value, gpus] : {std::pair{"1,0", Gpus{1, 0}}, std::pair{"", Gpus{}}}) {
    const auto given = Choose({{"CUDA_VISIBLE_DEVICES", value}}, uncounted);
    ASSERT_TRUE(given.ok()) << given.status();
    EXPECT_TRUE(given->uncounted.ok());
    EXPECT_EQ(given->visible.gpus, gpus);
  }
  EXPECT_FALSE(Choose({{"CUDA_VISIBLE_DEVICES", "all"}}, uncounted).ok());
  EXPECT_FALSE(Choose({{"CUDA_VISIBLE_DEVICES", "all"}}, {2}).ok());
  EXPECT_FALSE(Choose({{"CUDA_VISIBLE_DEVICES", "2"}}, {2}).ok());
}

}  // namespace
}  // namespace autodist::reach
