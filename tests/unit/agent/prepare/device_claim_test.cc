#include "agent/prepare/device_claim.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

v1::NodePlan Node(v1::DeviceKind kind, const std::vector<uint32_t>& devices) {
  v1::NodePlan node;
  for (const uint32_t index : devices) {
    v1::Device& device = *node.add_devices();
    device.set_kind(kind);
    device.set_index(index);
  }
  return node;
}

TEST(DeviceClaimTest, OtherJobsSeeRequestedAndUsedDevices) {
  const test::TempFolder folder;
  const std::string file = folder.path() + "/devices";
  const DeviceClaim mine(file, {});
  const DeviceClaim looker("", [&] {
    return std::vector<OtherAgent>{{"job-1", file}, {"job-2", folder.path() + "/none"}};
  });
  EXPECT_TRUE(looker.OfOthers().empty());
  mine.Want(Node(v1::DEVICE_KIND_GPU, {1, 3}));
  auto others = looker.OfOthers();
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].job_id(), "job-1");
  EXPECT_EQ(std::vector(others[0].gpus().begin(), others[0].gpus().end()),
            (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(others[0].cpus_size(), 0);
  EXPECT_TRUE(others[0].waiting());
  mine.Have();
  EXPECT_FALSE(looker.OfOthers()[0].waiting());
  // Between two attempts the job still uses them.
  mine.Want(Node(v1::DEVICE_KIND_GPU, {1, 3}));
  others = looker.OfOthers();
  ASSERT_EQ(others.size(), 1u);
  EXPECT_FALSE(others[0].waiting());
  struct stat info;
  ASSERT_EQ(stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(DeviceClaimTest, OfJobsThatStartTogetherOneHasTheDevices) {
  const test::TempFolder folder;
  const std::string files[] = {folder.path() + "/1", folder.path() + "/2"};
  const auto other = [&files](size_t i) {
    return [agent = OtherAgent{"job-" + std::to_string(i + 1), files[i]}] {
      return std::vector<OtherAgent>{agent};
    };
  };
  const DeviceClaim older(files[0], other(1), "job-1");
  const DeviceClaim younger(files[1], other(0), "job-2");
  const auto has = [&files](size_t i) { return access(files[i].c_str(), F_OK) == 0; };
  const v1::NodePlan node = Node(v1::DEVICE_KIND_GPU, {0});
  // The younger one is the first that asks.
  EXPECT_TRUE(younger.Reserve(node).empty());
  EXPECT_FALSE(older.Reserve(node).at(0).waiting());
  EXPECT_TRUE(has(1) && !has(0));
  // Both wait for something else, and ask again.
  EXPECT_TRUE(younger.Reserve(node).at(0).waiting());
  EXPECT_TRUE(!has(1) && !has(0));
  EXPECT_TRUE(older.Reserve(node).at(0).waiting());
  EXPECT_TRUE(has(0));
  EXPECT_FALSE(younger.Reserve(node).at(0).waiting());
  EXPECT_FALSE(has(1));
  // Other devices are free.
  EXPECT_EQ(younger.Reserve(Node(v1::DEVICE_KIND_GPU, {1})).size(), 1u);
  EXPECT_TRUE(has(1));
}

TEST(DeviceClaimTest, AnInvalidClaimIsIgnored) {
  const test::TempFolder folder;
  folder.Write("devices", "\xff\xff\xff");
  const DeviceClaim looker("", [&] {
    return std::vector<OtherAgent>{{"job-1", folder.path() + "/devices"}};
  });
  EXPECT_TRUE(looker.OfOthers().empty());
  looker.Want(Node(v1::DEVICE_KIND_CPU, {0}));
  looker.Have();  // no claim is left
}

}  // namespace
}  // namespace autodist::agent
