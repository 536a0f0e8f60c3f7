// Uses fakes of nvidia-smi.
#include "agent/prepare/node_health.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/deadline.h"
#include "support/pci_device.h"
#include "support/quiet_supervisor.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

class NodeHealthTest : public testing::Test {
 protected:
  void Install(const std::string& script) {
    chmod(folder_.Write("nvidia-smi", "#!/bin/sh\n" + script).c_str(), 0755);
  }
  // Without those of this machine's kernel log.
  std::string Found() {
    process::Environment environment;
    environment.Set("PATH", folder_.path() + ":/usr/bin:/bin");
    std::string text;
    const v1::NodeInfo facts = HardwareFaults(environment, "/", *supervisor_, folder_.path());
    for (const v1::HardwareFault& fault : facts.hardware_faults()) {
      if (fault.source() == "nvidia-smi") text += fault.what() + "\n";
    }
    return text;
  }
  static std::string Recording() {
    const std::ifstream file(TEST_SOURCE_DIR "/unit/health/recordings/driver_570.xml");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  const test::TempFolder folder_;
  const std::unique_ptr<Supervisor> supervisor_ = test::QuietSupervisor();
};

TEST_F(NodeHealthTest, HealthyGpus) {
  Install("[ \"$*\" = '-q -x' ] || exit 2\ncat <<'EOT'\n" + Recording() + "EOT\n");
  EXPECT_EQ(Found(), "");
}

TEST_F(NodeHealthTest, AGpuThatMustBeReset) {
  std::string xml = Recording();
  xml.replace(xml.find("<gpu_recovery_action>None"), 25, "<gpu_recovery_action>Reset");
  Install("cat <<'EOT'\n" + xml + "EOT\n");
  EXPECT_EQ(Found(), "GPU 0 needs a recovery action: Reset\n");
}

TEST_F(NodeHealthTest, FaultsNameTheGpuAndWhomTheyConcern) {
  process::Environment environment;
  environment.Set("PATH", folder_.path() + ":/usr/bin:/bin");
  const auto found = [&](const std::string& source) {
    const v1::NodeInfo facts = HardwareFaults(environment, "/", *supervisor_, folder_.path());
    for (const v1::HardwareFault& fault : facts.hardware_faults()) {
      if (fault.source() == source) return fault;
    }
    return v1::HardwareFault();
  };
  std::string xml = Recording();
  xml.replace(xml.rfind("<gpu_recovery_action>None"), 25, "<gpu_recovery_action>Reset");
  Install("cat <<'EOT'\n" + xml + "EOT\n");
  EXPECT_EQ(found("nvidia-smi").gpu(), 1u);
  EXPECT_EQ(found("nvidia-smi").min_gpus(), 1u);
  EXPECT_TRUE(found("nvidia-smi").gpu_uuid().starts_with("GPU-"));
  // It describes none if one is lost.
  std::filesystem::create_directories(folder_.path() + "/proc/driver/nvidia/gpus/0000:1b:00.0");
  std::filesystem::create_directories(folder_.path() + "/proc/driver/nvidia/gpus/0000:43:00.0");
  Install(
      "echo 'Unable to determine the device handle for GPU1: 0000:43:00.0: GPU is lost.'; exit 15");
  EXPECT_EQ(found("nvidia-smi").what(), "GPU 1 is lost");
  EXPECT_EQ(found("nvidia-smi").gpu(), 1u);
}

TEST_F(NodeHealthTest, AGpuWithoutADriver) {
  process::Environment environment;
  environment.Set("PATH", folder_.path());
  const auto found = [&] {
    const v1::NodeInfo facts = HardwareFaults(environment, "/", *supervisor_, folder_.path());
    return std::ranges::count(facts.hardware_faults(),
                              "the driver is not loaded, though the PCI bus has an NVIDIA GPU",
                              &v1::HardwareFault::what);
  };
  EXPECT_EQ(found(), 0);
  test::AddPciDevice(folder_.path(), "0000:41:00.0", "0x10de", "0x030200");
  EXPECT_EQ(found(), 1);
  std::filesystem::create_directories(folder_.path() + "/proc/driver/nvidia");
  EXPECT_EQ(found(), 0);
}

TEST_F(NodeHealthTest, AnNvidiaSmiThatFails) {
  Install("echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18\n");
  EXPECT_EQ(Found(), "the driver is not of the same version as its libraries\n");
}

TEST_F(NodeHealthTest, AnNvidiaSmiThatHangsOrIsKilledOrEndsEarlyBlocksNothing) {
  Install("kill -KILL $$\n");
  EXPECT_EQ(Found(), "");
  Install("echo '<nvidia_smi_log><gpu id=\"0\"><uuid>'\n");
  EXPECT_EQ(Found(), "");
  Install("exec sleep 1000\n");
  const base::Deadline deadline = base::Deadline::After(std::chrono::seconds(30));
  EXPECT_EQ(Found(), "");
  EXPECT_FALSE(deadline.Expired());
}

}  // namespace
}  // namespace autodist::agent
