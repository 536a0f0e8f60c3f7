#include "agent/sample/network.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

class InfinibandTest : public testing::Test {
 protected:
  void Write(const std::string& file, const std::string& content) {
    const std::string path = "class/infiniband/" + file;
    std::filesystem::create_directories(
        std::filesystem::path(folder_.path() + "/" + path).parent_path());
    folder_.Write(path, content + "\n");
  }
  static v1::NodeSample Read(InfinibandReader& reader, SampleTime now) {
    v1::NodeSample sample;
    reader.Read(now, sample);
    return sample;
  }

  const test::TempFolder folder_;
  const SampleTime start_ = SampleTime::clock::now();
};

TEST_F(InfinibandTest, StandardCountersAreInWordsOfFourBytes) {
  Write("mlx5_0/ports/1/state", "4: ACTIVE");
  Write("mlx5_0/ports/1/counters/port_rcv_data", "1000");
  Write("mlx5_0/ports/1/counters/port_xmit_data", "500");
  Write("mlx5_0/ports/1/counters/symbol_error", "3");
  Write("mlx5_0/ports/1/counters/link_downed", "2");
  Write("mlx5_0/ports/1/counters/port_rcv_packets", "77");
  Write("mlx5_1/ports/1/state", "1: DOWN");
  Write("mlx5_1/ports/1/counters/port_rcv_data", "0");
  InfinibandReader reader(folder_.path());
  v1::NodeSample sample = Read(reader, start_);
  ASSERT_EQ(sample.infinibands_size(), 2);
  EXPECT_EQ(sample.infinibands(0).name(), "mlx5_0:1");
  EXPECT_TRUE(sample.infinibands(0).active());
  EXPECT_EQ(sample.infinibands(0).errors(), 5u);
  EXPECT_FALSE(sample.infinibands(0).has_received());
  EXPECT_EQ(sample.infinibands(1).name(), "mlx5_1:1");
  EXPECT_FALSE(sample.infinibands(1).active() || sample.infinibands(1).has_errors());
  Write("mlx5_0/ports/1/counters/port_rcv_data", "2000");
  Write("mlx5_0/ports/1/counters/port_xmit_data", "400");  // was reset
  sample = Read(reader, start_ + std::chrono::seconds(2));
  EXPECT_DOUBLE_EQ(sample.infinibands(0).received(), 2000);
  EXPECT_FALSE(sample.infinibands(0).has_sent());
}

TEST_F(InfinibandTest, DriverCountersAreInBytes) {
  Write("rdmap0s6/ports/1/state", "4: ACTIVE");
  Write("rdmap0s6/ports/1/hw_counters/rx_bytes", "1000");
  Write("rdmap0s6/ports/1/hw_counters/tx_bytes", "1000");
  InfinibandReader reader(folder_.path());
  Read(reader, start_);
  Write("rdmap0s6/ports/1/hw_counters/rx_bytes", "1600");
  Write("rdmap0s6/ports/1/hw_counters/tx_bytes", "x");
  const v1::NodeSample sample = Read(reader, start_ + std::chrono::seconds(2));
  EXPECT_DOUBLE_EQ(sample.infinibands(0).received(), 300);
  EXPECT_FALSE(sample.infinibands(0).has_sent());
}

TEST_F(InfinibandTest, ANodeWithoutInfinibandHasNoCounters) {
  InfinibandReader reader(folder_.path());
  EXPECT_EQ(Read(reader, start_).infinibands_size(), 0);
}

}  // namespace
}  // namespace autodist::agent
