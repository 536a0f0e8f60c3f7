#include "health/nvidia_smi.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

namespace autodist::health {
namespace {

using testing::IsEmpty;

constexpr int kDrivers[] = {470, 535, 550, 570, 580};

// Of two healthy GPUs, as drivers of this version print it.
std::string RecordingOf(const std::string& driver) {
  const std::ifstream file(std::string(TEST_SOURCE_DIR "/unit/health/recordings/driver_") + driver +
                           ".xml");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}
std::string RecordingOf(int driver) { return RecordingOf(std::to_string(driver)); }

std::vector<Fault> Find(const std::string& xml) {
  const auto gpus = ParseGpus(xml);
  EXPECT_TRUE(gpus.ok()) << gpus.status();
  return gpus.ok() ? FindInGpus(*gpus) : std::vector<Fault>();
}

TEST(NvidiaSmiTest, NothingIsFoundOnHealthyGpus) {
  for (const int driver : kDrivers) {
    const auto gpus = ParseGpus(RecordingOf(driver));
    ASSERT_TRUE(gpus.ok()) << gpus.status();
    EXPECT_EQ(gpus->size(), 2u);
    EXPECT_EQ((*gpus)[1].bus_id, "00000000:43:00.0");
    EXPECT_EQ((*gpus)[0].values.at("pci/pci_gpu_link_info/link_widths/max_link_width"), "16x");
    EXPECT_THAT(FindInGpus(*gpus), IsEmpty()) << driver;
  }
}

TEST(NvidiaSmiTest, NothingIsFoundOnAnH200InUse) {
  const auto gpus = ParseGpus(RecordingOf("580_h200"));
  ASSERT_TRUE(gpus.ok()) << gpus.status();
  ASSERT_EQ(gpus->size(), 1u);
  EXPECT_EQ((*gpus)[0].processes, 1u);
  EXPECT_THAT(FindInGpus(*gpus), IsEmpty());
}

// The second GPU has `now` in place of `before`, from `section` on.
struct FaultyGpu {
  int driver;
  const char* section;
  const char* before;
  const char* now;
  const char* expected;
};

constexpr FaultyGpu kFaultyGpus[] = {
    {570, "<gpu_recovery_action>", "None", "Reset", "fatal: GPU 1 needs a recovery action: Reset"},
    {580, "<gpu_recovery_action>", "None", "Reboot",
     "fatal: GPU 1 needs a recovery action: Reboot"},
    {580, "<gpu_recovery_action>", "None", "Drain and Reset",
     "fatal: GPU 1 needs a recovery action: Drain and Reset"},
    {535, "<gpu_reset_status>", "<reset_required>No", "<reset_required>Yes",
     "fatal: GPU 1 must be reset"},
    {550, "<gpu_reset_status>", "recommended>No", "recommended>Yes",
     "fatal: GPU 1 must be reset before other programs use it"},
    {535, "<volatile>", "<dram_uncorrectable>0", "<dram_uncorrectable>1",
     "fatal: GPU 1 had 1 memory error that was not corrected since the driver was loaded"},
    {570, "<volatile>", "<sram_uncorrectable_parity>0", "<sram_uncorrectable_parity>3",
     "fatal: GPU 1 had 3 memory errors that were not corrected since the driver was loaded"},
    {470, "<volatile>", "<sram_uncorrectable>0", "<sram_uncorrectable>2",
     "fatal: GPU 1 had 2 memory errors that were not corrected since the driver was loaded"},
    {550, "<aggregate>", "<sram_threshold_exceeded>No", "<sram_threshold_exceeded>Yes",
     "fatal: GPU 1 had too many SRAM errors"},
    {535, "<aggregate>", "<dram_correctable>0", "<dram_correctable>20000001",
     "warning: GPU 1 had unusually many memory errors, which were corrected"},
    {550, "<aggregate>", "<sram_correctable>0", "<sram_correctable>10001",
     "warning: GPU 1 had unusually many memory errors, which were corrected"},
    {535, "<remapped_rows>", "<remapped_row_pending>No", "<remapped_row_pending>Yes",
     "fatal: GPU 1 has a faulty row of memory that is replaced at a reset"},
    {470, "<remapped_rows>", "<remapped_row_failure>No", "<remapped_row_failure>Yes",
     "fatal: GPU 1 could not replace a faulty row of memory"},
    {580, "<remapped_rows>", "<remapped_row_unc>0", "<remapped_row_unc>513",
     "warning: GPU 1 has replaced unusually many rows of memory"},
    {470, "<retired_pages>", "<pending_retirement>N/A", "<pending_retirement>Yes",
     "fatal: GPU 1 has faulty memory that is retired at a reset"},
    {470, "<double_bit_retirement>", "<retired_count>N/A", "<retired_count>62",
     "fatal: GPU 1 can retire hardly any more faulty memory"},
    {470, "<clocks_throttle_reasons>", "hw_thermal_slowdown>Not Active",
     "hw_thermal_slowdown>Active", "warning: GPU 1 is slowed down because it is too hot"},
    {535, "<clocks_event_reasons>", "hw_power_brake_slowdown>Not Active",
     "hw_power_brake_slowdown>Active",
     "warning: GPU 1 is slowed down because the power supply asks for it"},
    {580, "<clocks_event_reasons>", "reason_hw_slowdown>Not Active", "reason_hw_slowdown>Active",
     "warning: GPU 1 is slowed down because of heat or power"},
    {550, "<link_widths>", "<current_link_width>16x", "<current_link_width>8x",
     "warning: GPU 1 uses 8 of 16 PCIe lanes"},
    {535, "<compute_mode>", "Default", "Prohibited",
     "fatal: GPU 1 does not accept programs: its compute mode is Prohibited"},
    {550, "<vbios_version>", "92.00.A5.00.15", "92.00.A5.00.01",
     "warning: has GPUs of the same kind with different VBIOS versions: 92.00.A5.00.01, "
     "92.00.A5.00.15"},
    {535, "<gpu_power_readings>", "<current_power_limit>700.00 W", "<current_power_limit>350.00 W",
     "warning: has GPUs of the same kind with different power limits: 350.00 W, 700.00 W"},
    {535, "<temperature>", "<gpu_temp>31 C", "<gpu_temp>GPU is lost", "fatal: GPU 1 is lost"},
    {550, "<temperature>", "<gpu_temp>31 C", "<gpu_temp>GPU requires reset",
     "fatal: GPU 1 must be reset"},
};

TEST(NvidiaSmiTest, EveryFaultIsFound) {
  for (const FaultyGpu& gpu_fault : kFaultyGpus) {
    std::string xml = RecordingOf(gpu_fault.driver);
    const size_t gpu = xml.rfind("<gpu id=");
    const size_t section = xml.find(gpu_fault.section, gpu);
    const size_t at = xml.find(gpu_fault.before, section);
    ASSERT_NE(at, std::string::npos) << gpu_fault.expected;
    xml.replace(at, std::string(gpu_fault.before).size(), gpu_fault.now);
    const auto found = Find(xml);
    ASSERT_EQ(found.size(), 1u) << gpu_fault.expected;
    const std::string severity = found[0].severity == Severity::kFatal ? "fatal: " : "warning: ";
    EXPECT_EQ(severity + (found[0].subject.empty() ? "" : found[0].subject + " ") + found[0].what,
              gpu_fault.expected);
    EXPECT_NE(found[0].remedy, "");
  }
}

Fault OffTheBus(const std::string& gpu) {
  return {Severity::kFatal, "GPU " + gpu, "fell off the bus (XID 79)", "kernel log",
          "restart the node"};
}

const std::vector<PciPlace> kPlaces = {*ParsePciPlace("0000:1b:00"), *ParsePciPlace("0000:43:00")};

TEST(NvidiaSmiTest, FaultsOfTheKernelLogGetTheNumberOfTheGpu) {
  Fault of_slot = OffTheBus("0000:1b:00");
  of_slot.subject = "PCI device 0000:1b:00.0";
  Fault of_card = OffTheBus("0000:99:00");
  of_card.subject = "PCI device 0000:99:00.0";
  std::vector<Fault> faults = {OffTheBus("0000:43:00"), OffTheBus("0000:99:00"), of_slot, of_card};
  RelateToGpus(kPlaces, {}, faults);  // nvidia-smi says nothing, as it does if a GPU is lost
  EXPECT_EQ(faults[0].subject, "GPU 1");
  EXPECT_EQ(faults[0].gpu, 1u);
  EXPECT_EQ(faults[0].severity, Severity::kFatal);
  EXPECT_EQ(faults[1], OffTheBus("0000:99:00"));
  EXPECT_EQ(faults[2].gpu, 0u);
  EXPECT_EQ(faults[3], of_card);
}

// Drivers before 570 show no recovery action.
TEST(NvidiaSmiTest, AGpuThatNeedsNoRepairWasMended) {
  struct Row {
    int driver;
    const char* before;
    const char* now;
    Severity severity;
  };
  const Row rows[] = {
      {535, "", "", Severity::kWarning},
      {570, "", "", Severity::kWarning},
      {570, "<gpu_recovery_action>None", "<gpu_recovery_action>Reset", Severity::kFatal},
      {535, "<gpu_temp>31 C", "<gpu_temp>GPU is lost", Severity::kFatal},
      {535, "<gpu_temp>31 C", "<gpu_temp>Unknown Error", Severity::kFatal},
      {550, "<reset_required>No", "<reset_required>Yes", Severity::kFatal},
      {535, "<dram_uncorrectable>0", "<dram_uncorrectable>1", Severity::kFatal},
  };
  for (const Row& row : rows) {
    std::string xml = RecordingOf(row.driver);
    const size_t at = xml.find(row.before, xml.rfind("<gpu id="));
    ASSERT_NE(at, std::string::npos) << row.before;
    const auto gpus = ParseGpus(xml.replace(at, std::string(row.before).size(), row.now));
    ASSERT_TRUE(gpus.ok()) << gpus.status();
    std::vector<Fault> faults = {OffTheBus("0000:43:00")};
    RelateToGpus(kPlaces, *gpus, faults);
    EXPECT_EQ(faults[0].severity, row.severity) << row.driver << row.now;
  }
}

TEST(NvidiaSmiTest, NamesOfProcessesAreNoFaults) {
  for (const char* name :
       {"GPU is lost", "GPU requires reset", "x</process_name><b>GPU is lost</b><process_name>",
        "x</process_name></process_info></processes><gpu_reset_status><reset_required>Yes"
        "</reset_required></gpu_reset_status><processes><process_info><process_name>"}) {
    std::string xml = RecordingOf("580_h200");
    const std::string section = "<process_name>";
    xml.replace(xml.find(section) + section.size(), std::string("python3").size(), name);
    EXPECT_THAT(Find(xml), IsEmpty()) << name;
  }
  std::string one_more = RecordingOf("580_h200");
  one_more.replace(one_more.find("python3"), 7,
                   "x</process_name></process_info></processes></gpu><gpu id=\"00000000:99:00.0\">"
                   "<gpu_recovery_action>Reset</gpu_recovery_action><processes><process_info>"
                   "<process_name>");
  EXPECT_FALSE(ParseGpus(one_more).ok());
}

TEST(NvidiaSmiTest, ATextThatEndsEarlyIsAnError) {
  const std::string xml = RecordingOf(535);
  for (const size_t size : {size_t{0}, size_t{10}, xml.size() / 2, xml.size() - 30}) {
    EXPECT_FALSE(ParseGpus(xml.substr(0, size)).ok()) << size;
  }
}

TEST(NvidiaSmiTest, HostileTextsAreErrors) {
  EXPECT_FALSE(ParseGpus("<!DOCTYPE a [<!ENTITY b \"cccc\">]><a><gpu>&b;</gpu></a>").ok());
  std::string deep = "<nvidia_smi_log><gpu>";
  for (int i = 0; i < 100; ++i) deep += "<x>";
  EXPECT_FALSE(ParseGpus(deep).ok());
  std::string many = "<nvidia_smi_log>";
  for (int i = 0; i < 1000; ++i) many += "<gpu/>";
  EXPECT_FALSE(ParseGpus(many + "</nvidia_smi_log>").ok());
  EXPECT_FALSE(ParseGpus("<nvidia_smi_log></nvidia_smi_log>").ok());
}

TEST(NvidiaSmiTest, FailuresOfTheProgramItselfAreUnderstood) {
  const auto what = [](const char* printed) {
    const auto found = FindInFailure(printed);
    return found.empty() ? "" : found[0].subject + " " + found[0].what;
  };
  EXPECT_EQ(
      what("Unable to determine the device handle for GPU 0000:05:00.0: GPU is lost.  Reboot the "
           "system to recover this GPU"),
      "GPU 0000:05:00.0 is lost");
  EXPECT_EQ(what("Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error"),
            "GPU 0000:3B:00.0 does not answer");
  EXPECT_EQ(what("Unable to determine the device handle for GPU1: 0000:05:00.0: GPU is lost."),
            "GPU 0000:05:00.0 is lost");
  EXPECT_EQ(what("Unable to determine the device handle for gpu 0000:23:00.0: Unknown Error"),
            "GPU 0000:23:00.0 does not answer");
  EXPECT_EQ(what("GPU is lost"), "a GPU is lost");
  EXPECT_EQ(what("Unable to determine the device handle for GPU"), "a GPU does not answer");
  EXPECT_EQ(what("Failed to initialize NVML: Driver/library version mismatch\nNVML library "
                 "version: 535.129"),
            "the driver is not of the same version as its libraries");
  EXPECT_EQ(
      what(
          "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure "
          "that the latest NVIDIA driver is installed and running."),
      "the driver is not loaded");
  EXPECT_EQ(what("Failed to initialize NVML: Unknown Error"), "the driver cannot be reached");
  EXPECT_EQ(what("No devices were found"), "the driver finds no GPU");
  EXPECT_THAT(FindInFailure("something else"), IsEmpty());
}

}  // namespace
}  // namespace autodist::health
