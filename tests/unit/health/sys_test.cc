// Links and system, in copies of /sys and /proc.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "health/links.h"
#include "health/system.h"
#include "support/temp_folder.h"

namespace autodist::health {
namespace {

using testing::IsEmpty;

class SysTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& line) {
    const std::filesystem::path file = root() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << line << "\n";
  }
  std::string root() const { return folder_.path(); }

  void Port(int device, const std::string& state, const std::string& phys,
            const std::string& rate) {
    const std::string folder = "/sys/class/infiniband/mlx5_" + std::to_string(device);
    Write(folder + "/board_id", "MT_0000000838");
    const std::string port = folder + "/ports/1";
    Write(port + "/state", state);
    Write(port + "/phys_state", phys);
    Write(port + "/rate", rate);
    Write(port + "/link_layer", "InfiniBand");
  }
  void GoodPorts(int count) {
    for (int i = 0; i < count; ++i) Port(i, "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)");
  }
  void Interface(const std::string& name, const std::string& speed,
                 const std::string& state = "up") {
    const std::string folder = "/sys/class/net/" + name;
    Write(folder + "/operstate", state);
    Write(folder + "/duplex", "full");
    Write(folder + "/speed", speed);
    Write(folder + "/device/vendor", "0x15b3");
    Write(folder + "/device/device", "0x1021");
  }
  void Device(const std::string& address, const std::string& type, const std::string& lanes) {
    const std::string folder = "/sys/bus/pci/devices/" + address;
    Write(folder + "/class", type);
    Write(folder + "/vendor", "0x10de");
    Write(folder + "/device", "0x2330");
    Write(folder + "/current_link_width", lanes);
  }

  static std::string TextOf(const std::vector<Fault>& faults) {
    std::string text;
    for (const Fault& fault : faults) {
      text += (text.empty() ? "" : "\n") + fault.subject + (fault.subject.empty() ? "" : " ") +
              fault.what;
    }
    return text;
  }

 private:
  const test::TempFolder folder_;
};

TEST_F(SysTest, EqualPortsAreHealthy) {
  GoodPorts(8);
  EXPECT_THAT(FindInLinks(root()), IsEmpty());
}

TEST_F(SysTest, OnePortOfEightIsDown) {
  GoodPorts(8);
  Port(5, "1: DOWN", "2: Polling", "10 Gb/sec (4X SDR)");
  EXPECT_EQ(TextOf(FindInLinks(root())),
            "network port mlx5_5:1 is down, unlike the others of that kind");
}

TEST_F(SysTest, OnePortOfEightIsSlow) {
  GoodPorts(8);
  Port(2, "4: ACTIVE", "5: LinkUp", "100 Gb/sec (4X EDR)");
  EXPECT_EQ(TextOf(FindInLinks(root())),
            "network port mlx5_2:1 runs at 100 Gb/s, the others of that kind at 400");
}

TEST_F(SysTest, PortsWithoutCableOrDisabledAreHealthy) {
  Port(0, "4: ACTIVE", "5: LinkUp", "200 Gb/sec (4X HDR)");
  Port(1, "1: DOWN", "2: Polling", "10 Gb/sec (4X SDR)");
  EXPECT_THAT(FindInLinks(root()), IsEmpty());
  GoodPorts(8);
  Port(8, "1: DOWN", "3: Disabled", "10 Gb/sec (4X SDR)");
  EXPECT_THAT(FindInLinks(root()), IsEmpty());
}

TEST_F(SysTest, AnInterfaceIsSlowerThanItsPeers) {
  for (const char* name : {"eth0", "eth1", "eth2"}) Interface(name, "100000");
  Interface("eth3", "10000");
  Write("/sys/class/net/lo/operstate", "unknown");
  EXPECT_EQ(TextOf(FindInLinks(root())),
            "interface eth3 runs at 10000 Mb/s, the others of that kind at 100000");
}

TEST_F(SysTest, AnInterfaceIsHalfDuplex) {
  Interface("eth0", "100");
  Write("/sys/class/net/eth0/duplex", "half");
  EXPECT_EQ(TextOf(FindInLinks(root())), "interface eth0 sends or receives, but not both at once");
}

TEST_F(SysTest, InterfacesThatAreDownAreHealthy) {
  for (const char* name : {"eth0", "eth1", "eth2"}) Interface(name, "100000");
  Interface("eth3", "-1", "down");
  EXPECT_THAT(FindInLinks(root()), IsEmpty());
}

TEST_F(SysTest, AGpuUsesFewerLanesThanItsPeers) {
  for (const char* address : {"0000:1b:00.0", "0000:43:00.0", "0000:52:00.0"})
    Device(address, "0x030200", "16");
  Device("0000:61:00.0", "0x030200", "8");
  Device("0000:00:1f.0", "0x060100", "1");
  EXPECT_EQ(TextOf(FindInLinks(root())),
            "PCI device 0000:61:00.0 uses 8 PCIe lanes, the others of that kind 16");
}

TEST_F(SysTest, DriverProcessesThatCannotBeEnded) {
  Write("/proc/4711/stat", "4711 (nvidia-smi) D 1 4711 4711 0 -1 4194304");
  Write("/proc/12/stat", "12 (nvidia-modeset/kthread) S 2 0 0 0 -1 2129984");
  Write("/proc/13/stat", "13 (python3) D 2 0 0 0 -1 2129984");
  Write("/proc/14/stat", "14 (odd) name) R 2 0 0 0 -1 2129984");
  Write("/proc/15/stat", "15 (");
  EXPECT_EQ(TextOf(FindInSystem(root())),
            "nvidia-smi (pid 4711) waits in the driver and cannot be ended");
}

TEST_F(SysTest, ProcessesOfOtherUsersMayHaveAnyName) {
  Write("/proc/4711/stat", "4711 (nvidia-smi) D 1 4711 4711 0 -1 4194304");
  constexpr uid_t kOther = 65534;
  if (chown((root() + "/proc/4711").c_str(), kOther, kOther) != 0) GTEST_SKIP() << "needs root";
  EXPECT_THAT(FindInSystem(root()), IsEmpty());
}

TEST_F(SysTest, AClockThatIsSlow) {
  const std::string file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
  Write(file, "hpet");
  EXPECT_EQ(TextOf(FindInSystem(root())),
            "reads the time from hpet, which is slow for programs that do so often");
  for (const char* healthy :
       {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"}) {
    Write(file, healthy);
    EXPECT_THAT(FindInSystem(root()), IsEmpty()) << healthy;
  }
}

TEST_F(SysTest, ProcessorsAtTheLowestClock) {
  const std::string folder = "/sys/devices/system/cpu/cpu0/cpufreq";
  Write(folder + "/scaling_governor", "powersave");
  Write(folder + "/scaling_driver", "intel_pstate");
  EXPECT_THAT(FindInSystem(root()), IsEmpty());
  Write(folder + "/scaling_driver", "acpi-cpufreq");
  EXPECT_EQ(TextOf(FindInSystem(root())),
            "runs its processors at the lowest clock: the governor is powersave");
}

TEST_F(SysTest, AnEmptyTreeIsHealthy) {
  EXPECT_THAT(FindInLinks(root()), IsEmpty());
  EXPECT_THAT(FindInSystem(root()), IsEmpty());
}

}  // namespace
}  // namespace autodist::health
