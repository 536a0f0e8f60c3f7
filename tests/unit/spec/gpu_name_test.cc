#include "spec/scalars.h"

#include <gtest/gtest.h>

#include "spec/spec_text.h"
#include "spec/yaml_reader.h"

namespace autodist::spec {
namespace {

TEST(GpuNameTest, AcceptsUuidsInNvidiasFormat) {
  for (const char* uuid : {"GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "GPU-8932f937", "GPU-8",
                           "MIG-a2b3c4d5-0000-5555-8888-0123456789ab", "MIG-a2b3",
                           "MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/0"}) {
    EXPECT_TRUE(IsGpuUuid(uuid)) << uuid;
  }
  for (const char* text : {"", "0", "GPU-", "GPU", "gpu-8932", "GPU-xyz", "MIG-", "MIG-GPU-89/1",
                           "MIG-GPU-89/1/x", "MIG-GPU-/1/0", "GPU-89,GPU-90", "all", "GPU-89 ",
                           "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6f"}) {
    EXPECT_FALSE(IsGpuUuid(text)) << text;
  }
}

std::string IssueOf(const std::string& gpus) {
  const ReadOutcome outcome =
      ReadSpec("nodes:\n  - address: localhost\n    gpus: " + gpus + "\n", "f");
  return outcome.issues.empty() ? "" : outcome.issues.front().ToString();
}

TEST(GpuNameTest, ASpecMayNameGpusByUuid) {
  const ReadOutcome outcome =
      ReadSpec("nodes:\n  - address: localhost\n    gpus: [MIG-a2b3, 4, GPU-89]\n", "f");
  ASSERT_TRUE(outcome.spec) << IssueOf("[MIG-a2b3, 4, GPU-89]");
  const Node& node = outcome.spec->nodes[0];
  EXPECT_EQ(node.gpus, (std::vector<uint32_t>{0, 4, 2}));
  EXPECT_EQ(node.gpu_uuids, (std::vector<std::string>{"MIG-a2b3", "", "GPU-89"}));
  EXPECT_NE(SpecText(*outcome.spec).find("gpus: [MIG-a2b3, 4, GPU-89]"), std::string::npos);
  const ReadOutcome numbers = ReadSpec("nodes:\n  - address: h\n    gpus: [1, 0]\n", "f");
  EXPECT_TRUE(numbers.spec && numbers.spec->nodes[0].gpu_uuids.empty());
}

TEST(GpuNameTest, AnInvalidDeviceIsQuoted) {
  EXPECT_EQ(IssueOf("[0-3]"),
            "f:3:12: in 'gpus': '0-3' is not a device number; they are whole numbers from 0, or "
            "UUIDs (GPU-..., MIG-...)");
  EXPECT_EQ(IssueOf("[MIG-a2, MIG-a2]"),
            "f:3:20: in 'gpus': device MIG-a2 is listed twice; each device runs one rank");
  EXPECT_EQ(IssueOf("[0, 1, 0]"),
            "f:3:18: in 'gpus': device 0 is listed twice; each device runs one rank");
  EXPECT_EQ(IssueOf("[0, GPU-89]"), "");
  EXPECT_NE(IssueOf("unknown").find("or write the numbers by hand"), std::string::npos);
  EXPECT_EQ(IssueOf("unknown").find("asks nodes"), std::string::npos);
  for (const char* text : {"all", "8", "0,1"}) {
    EXPECT_NE(IssueOf(text).find("'gpus' is '" + std::string(text) + "'; it should be a list"),
              std::string::npos)
        << IssueOf(text);
  }
}

}  // namespace
}  // namespace autodist::spec
