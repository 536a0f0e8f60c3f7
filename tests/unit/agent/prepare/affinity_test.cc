#include "agent/prepare/affinity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/quiet_supervisor.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kNearFirst[] = "00000000:3B:00.0";  // as nvidia-smi prints it
constexpr char kNearSecond[] = "00000000:AF:00.0";
constexpr char kAnywhere[] = "00000001:01:00.0";

// Two packages with a NUMA node and two CPUs each, GPUs behind a bridge of each, and one with an
// unknown location. Output of hwloc without irrelevant parts.
constexpr char kTwoNumaNodes[] = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f" allowed_cpuset="0x0000000f" nodeset="0x00000003" complete_nodeset="0x00000003" allowed_nodeset="0x00000003" gp_index="1">
    <object type="Package" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="2">
      <object type="NUMANode" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="3"/>
      <object type="PU" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="4"/>
      <object type="PU" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="5"/>
      <object type="Bridge" gp_index="6" bridge_type="0-1" depth="0" bridge_pci="0000:[3a-3b]">
        <object type="PCIDev" gp_index="7" pci_busid="0000:3b:00.0" pci_type="0302 [10de:20b2] [10de:1463] a1" pci_link_speed="0.000000"/>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x0000000c" complete_cpuset="0x0000000c" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="8">
      <object type="NUMANode" os_index="1" cpuset="0x0000000c" complete_cpuset="0x0000000c" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="9"/>
      <object type="PU" os_index="2" cpuset="0x00000004" complete_cpuset="0x00000004" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="10"/>
      <object type="PU" os_index="3" cpuset="0x00000008" complete_cpuset="0x00000008" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="11"/>
      <object type="Bridge" gp_index="12" bridge_type="0-1" depth="0" bridge_pci="0000:[ae-af]">
        <object type="PCIDev" gp_index="13" pci_busid="0000:af:00.0" pci_type="0302 [10de:20b2] [10de:1463] a1" pci_link_speed="0.000000"/>
      </object>
    </object>
    <object type="Bridge" gp_index="14" bridge_type="0-1" depth="0" bridge_pci="0001:[00-01]">
      <object type="PCIDev" gp_index="15" pci_busid="0001:01:00.0" pci_type="0302 [10de:20b2] [10de:1463] a1" pci_link_speed="0.000000"/>
    </object>
  </object>
</topology>
)";

Topology TwoNumaNodes(std::vector<uint32_t> allowed = {0, 1, 2, 3}) {
  auto topology = Topology::FromXml(kTwoNumaNodes, std::move(allowed));
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

TEST(TopologyTest, KnowsTheCpusNearADevice) {
  const Topology topology = TwoNumaNodes();
  EXPECT_TRUE(topology.HasSeveralNumaNodes());
  EXPECT_THAT(topology.CpusNear(kNearFirst), ElementsAre(0, 1));
  EXPECT_THAT(topology.CpusNear(kNearSecond), ElementsAre(2, 3));
  EXPECT_THAT(topology.CpusNear(kAnywhere), IsEmpty());
  EXPECT_THAT(topology.CpusNear("00000000:01:00.0"), IsEmpty());
  EXPECT_THAT(topology.CpusNear("[N/A]"), IsEmpty());
}

TEST(TopologyTest, UsesOnlyAllowedCpus) {
  EXPECT_THAT(TwoNumaNodes({1, 2, 3}).CpusNear(kNearFirst), ElementsAre(1));
  EXPECT_THAT(TwoNumaNodes({2, 3}).CpusNear(kNearFirst), IsEmpty());   // none are near
  EXPECT_THAT(TwoNumaNodes({2, 3}).CpusNear(kNearSecond), IsEmpty());  // all are
}

TEST(TopologyTest, IsReadFromThisMachine) {
  const auto topology = Topology::OfThisNode();
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_THAT(topology->CpusNear("ffffffff:ff:1f.7"), IsEmpty());
}

class AffinityTest : public testing::Test {
 protected:
  AffinityTest() {
    environment_.Set("PATH", folder_.path() + ":/usr/bin:/bin");
    Install("echo '0, 00000000:3B:00.0, A100'; echo '1, 00000000:AF:00.0, A100'");
    for (const uint32_t index : {1u, 0u, 1u, 7u}) {
      v1::RankPlan& rank = *node_.add_ranks();
      rank.set_rank(10 + static_cast<uint32_t>(commands_.size()));
      rank.mutable_device()->set_kind(v1::DEVICE_KIND_GPU);
      rank.mutable_device()->set_index(index);
      commands_.push_back({rank.rank(), {}});
    }
  }
  // Installs a fake nvidia-smi; the real one answers only with GPUs.
  void Install(const std::string& script) {
    const std::string path =
        folder_.Write("nvidia-smi",
                      "#!/bin/sh\n[ \"$*\" = '--query-gpu=index,pci.bus_id,name "
                      "--format=csv,noheader' ] || exit\n" +
                          script);
    chmod(path.c_str(), 0755);
  }
  Status Set() { return SetAffinity(node_, topology_, environment_, *supervisor_, commands_); }
  std::vector<std::vector<uint32_t>> Cpus() const {
    std::vector<std::vector<uint32_t>> all;
    for (const RankCommand& command : commands_) all.push_back(command.spawn.cpus);
    return all;
  }

  const test::TempFolder folder_;
  process::Environment environment_;
  const Topology topology_ = TwoNumaNodes();
  v1::NodePlan node_;
  std::vector<RankCommand> commands_;
  const std::unique_ptr<Supervisor> supervisor_ = test::QuietSupervisor();
};

TEST_F(AffinityTest, RanksGetTheCpusNearTheirGpus) {
  node_.mutable_ranks(2)->mutable_device()->set_kind(v1::DEVICE_KIND_CPU);
  ASSERT_TRUE(Set().ok());
  EXPECT_THAT(Cpus(), ElementsAre(ElementsAre(2, 3), ElementsAre(0, 1), IsEmpty(), IsEmpty()));
}

TEST_F(AffinityTest, RanksOfOneNumaNodeShareItsCpus) {
  ASSERT_TRUE(Set().ok());
  EXPECT_THAT(commands_[0].spawn.cpus, ElementsAre(2, 3));
  EXPECT_THAT(commands_[2].spawn.cpus, ElementsAre(2, 3));
}

TEST_F(AffinityTest, GpusOfSeveralKindsAreInCudasOrder) {
  Install("echo '0, 00000000:3B:00.0, T4'; echo '1, 00000000:AF:00.0, A100'");
  ASSERT_TRUE(Set().ok());
  EXPECT_THAT(Cpus(), testing::Each(IsEmpty()));
  environment_.Set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  ASSERT_TRUE(Set().ok());
  EXPECT_THAT(commands_[1].spawn.cpus, ElementsAre(0, 1));
}

TEST_F(AffinityTest, AToolThatFailsIsQuoted) {
  Install("echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18");
  EXPECT_EQ(Message(Set()),
            "nvidia-smi ended with status 18: Failed to initialize NVML: Driver/library version "
            "mismatch");
  Install("echo No devices were found");
  EXPECT_THAT(Message(Set()), HasSubstr("No devices were found"));
  EXPECT_THAT(Cpus(), testing::Each(IsEmpty()));
}

}  // namespace
}  // namespace autodist::agent
