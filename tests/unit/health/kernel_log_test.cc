#include "health/kernel_log.h"

#include <gmock/gmock.h>

#include <string>

#include "base/split.h"

namespace autodist::health {
namespace {

using testing::IsEmpty;

std::vector<LogLine> LinesOf(const char* log, std::chrono::seconds age = std::chrono::seconds(60)) {
  std::vector<LogLine> lines;
  for (const std::string_view line : base::Lines(log)) lines.push_back({line, age});
  return lines;
}

struct Recording {
  const char* name;
  const char* log;
  const char* expected;  // "fatal: GPU 0000:3b:00 fell off the bus (XID 79)", a line for each fault
};

const std::vector<PciPlace>& Gpus() {
  static const std::vector<PciPlace> gpus = {
      *ParsePciPlace("0000:01:00"), *ParsePciPlace("0000:3b:00"), *ParsePciPlace("0000:5e:00"),
      *ParsePciPlace("0000:9b:00"), *ParsePciPlace("0000:c1:00"), *ParsePciPlace("0018:01:00")};
  return gpus;
}

std::string TextOf(const std::vector<Fault>& faults) {
  std::string text;
  for (const Fault& fault : faults) {
    text += text.empty() ? "" : "\n";
    text += fault.severity == Severity::kFatal ? "fatal: " : "warning: ";
    text += fault.subject.empty() ? fault.what : fault.subject + " " + fault.what;
  }
  return text;
}

// In the formats of NVIDIA's XID catalogue, of the fabric manager's user guide, and of Linux 4.18
// to 6.12.
constexpr Recording kFaults[] = {
    {"off the bus",
     "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python3, GPU has fallen off the bus.\n"
     "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.\n"
     "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node "
     "Reboot "
     "Required)",
     "fatal: GPU 0000:3b:00 fell off the bus (XID 79)\n"
     "fatal: GPU 0000:3b:00 needs another recovery action than before (XID 154)"},
    {"off the bus, without a process",
     "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.",
     "fatal: GPU 0000:01:00 fell off the bus (XID 79)"},
    {"double-bit error",
     "NVRM: Xid (PCI:0000:3b:00): 48, pid=1, name=python, DBE (double bit error) ECC Error "
     "detected.\n"
     "NVRM: Xid (PCI:0000:3b:00): 45, pid=4711, name=python, Ch 00000008",
     "fatal: GPU 0000:3b:00 has a memory error that cannot be corrected (XID 48)"},
    {"remapping failed", "NVRM: Xid (PCI:0000:3b:00): 64, Row Remapper: failed",
     "fatal: GPU 0000:3b:00 could not replace a faulty row of memory (XID 64)"},
    {"NVLink",
     "NVRM: Xid (PCI:0000:3b:00): 74, pid=12, NVLink: fatal error detected on link 6(0x10000, 0x0)",
     "fatal: GPU 0000:3b:00 has an NVLink error (XID 74)"},
    {"NVLink of a B200",
     "NVRM: Xid (PCI:0018:01:00): 149, NETIR Fatal XC0 i0 Link 17 (0x00000001 0x00000002)",
     "fatal: GPU 0018:01:00 has an NVLink error (XID 149)"},
    {"uncontained",
     "NVRM: Xid (PCI:0000:c1:00): 95, pid=3, name=python3, Uncontained: FBHUB. RST: Yes, D-RST: No",
     "fatal: GPU 0000:c1:00 had a memory error that may affect all programs (XID 95)"},
    {"GSP, many times",
     "NVRM: Xid (PCI:0000:9b:00): 119, pid=2, name=nvidia-smi, Timeout after 6s of waiting for RPC "
     "response from GPU2 GSP!\n"
     "NVRM: Xid (PCI:0000:9b:00): 119, pid=5, name=nvidia-smi, Timeout after 6s of waiting for RPC "
     "response from GPU2 GSP!",
     "fatal: GPU 0000:9b:00 has a GSP that does not answer (XID 119)"},
    {"power", "NVRM: Xid (PCI:0000:3b:00): 54, GPU has lost its auxiliary power",
     "fatal: GPU 0000:3b:00 lacks auxiliary power (XID 54)"},
    {"two GPUs",
     "NVRM: Xid (PCI:0000:3b:00): 62, pid=1, 2027000f\nNVRM: Xid (PCI:0000:5e:00): 46, pid=2, "
     "stopped",
     "fatal: GPU 0000:3b:00 has a halted microcontroller (XID 62)\n"
     "fatal: GPU 0000:5e:00 stopped processing (XID 46)"},
    {"NVSwitch",
     "nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 30 LTSSM Fault Up\n"
     "nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Severity 1 Engine instance 30 Sub-engine "
     "instance 00",
     "fatal: NVSwitch 0000:c5:00.0 reported a fatal error (SXid 20034)"},
    {"initialization",
     "NVRM: GPU 0000:5e:00.0: RmInitAdapter failed! (0x24:0x65:1423)\n"
     "NVRM: GPU 0000:5e:00.0: rm_init_adapter failed, device minor number 2",
     "fatal: GPU 0000:5e:00.0 could not be initialized by the driver"},
    {"PCIe, Linux 5",
     "pcieport 0000:00:03.0: AER: Uncorrected (Fatal) error received: 0000:3b:00.0\n"
     "nvidia 0000:3b:00.0: AER: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction "
     "Layer",
     "fatal: PCI device 0000:3b:00.0 had a fatal PCIe error"},
    {"a driver that was loaded again, and a GPU that fails again",
     "NVRM: Xid (PCI:0000:5e:00): 48, pid=1, name=python, DBE (double bit error) ECC Error\n"
     "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.183.06  Wed Jun 26 06:46:07 UTC 2024\n"
     "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
     "fatal: GPU 0000:3b:00 fell off the bus (XID 79)"},
    {"PCIe, Linux 6.10",
     "pcieport 0000:00:01.1: AER: Multiple Uncorrectable (Non-Fatal) error message received from "
     "0000:03:00.1",
     "warning: PCI device 0000:03:00.1 had a PCIe error that was not corrected"},
    {"memory failure",
     "Memory failure: 0x12a3f4: Killing python3:4711 due to hardware memory corruption",
     "fatal: has a memory error that ended a program"},
    {"EDAC",
     "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0)",
     "fatal: has a memory error that cannot be corrected"},
    {"machine check",
     "mce: [Hardware Error]: CPU 12: Machine Check Exception: 5 Bank 7: be00000000800400",
     "fatal: had a machine check exception"},
    {"network card does not send",
     "mlx5_core 0000:5e:00.0 ens1f0np0: TX timeout detected\n"
     "mlx5_core 0000:5e:00.0 ens1f0np0: TX timeout on queue: 14, SQ: 0x1234",
     "warning: network card 0000:5e:00.0 did not send in time"},
    {"network card's firmware",
     "mlx5_core 0000:5e:00.0: poll_health:825:(pid 0): device's health compromised - reached miss "
     "count",
     "fatal: network card 0000:5e:00.0 has firmware that does not answer"},
    {"hung task", "INFO: task python3:4711 blocked for more than 120 seconds.",
     "warning: process python3 hung in a driver or file system"},
};

TEST(KernelLogTest, EveryFaultIsFound) {
  for (const Recording& fault : kFaults) {
    EXPECT_EQ(TextOf(FindInKernelLog(LinesOf(fault.log), Gpus())), fault.expected) << fault.name;
  }
}

TEST(KernelLogTest, TheRemedyNamesTheGpu) {
  const auto found =
      FindInKernelLog(LinesOf("NVRM: Xid (PCI:0000:3b:00): 64, Row Remapper: failed"), Gpus());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].remedy,
            "reset the GPU (nvidia-smi --gpu-reset -i 0000:3b:00.0) or restart the node");
}

constexpr Recording kHealthy[] = {
    {"a driver that was loaded again",
     "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
     "NVRM: GPU 0000:5e:00.0: RmInitAdapter failed! (0x24:0x65:1423)\n"
     "nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 30 LTSSM Fault Up\n"
     "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build",
     ""},
    {"NVLink of a B200, not fatal",
     "NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Nonfatal XC0 i0 Link 17 (0x00000001)", ""},
    // Any user of a container with other libraries causes it.
    {"libraries of another version",
     "NVRM: API mismatch: the client has the version 535.104.05, but\n"
     "NVRM: this kernel module has the version 535.129.03.",
     ""},
    // Any user of a GPU can write programs with errors.
    {"a program's faults, always on one GPU",
     "NVRM: Xid (PCI:0000:3b:00): 31, pid=7, name=a, MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_3\n"
     "NVRM: Xid (PCI:0000:3b:00): 31, pid=9, name=b, MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_3",
     ""},
    {"NVSwitch, with a text that says fatal",
     "nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 12028, Non-fatal, Link 32 error, Fatal, x", ""},
    {"start of the driver",
     "nvidia: loading out-of-tree module taints kernel.\n"
     "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.183.06  Wed Jun 26 06:46:07 UTC 2024\n"
     "nvidia-nvswitch0: using MSI",
     ""},
    {"a program's faults on several GPUs",
     "NVRM: Xid (PCI:0000:3b:00): 31, pid=7, name=a, MMU Fault\n"
     "NVRM: Xid (PCI:0000:3b:00): 31, pid=7, name=a, MMU Fault\n"
     "NVRM: Xid (PCI:0000:5e:00): 31, pid=8, name=a, MMU Fault",
     ""},
    {"one fault of a program", "NVRM: Xid (PCI:0000:3b:00): 13, pid=7, name=a, Graphics Exception",
     ""},
    {"for information",
     "NVRM: Xid (PCI:0000:3b:00): 63, Row Remapper: New row (0x1) marked for remapping\n"
     "NVRM: Xid (PCI:0000:3b:00): 43, pid=7, Ch 00000008\n"
     "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) "
     "to 0x0 (None)",
     ""},
    {"corrected errors",
     "pcieport 0000:00:1c.5: AER: Corrected error received: 0000:00:1c.5\n"
     "pcieport 0000:00:1c.5: AER: Correctable error message received from 0000:00:1c.5\n"
     "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0\n"
     "mce: [Hardware Error]: Machine check events logged",
     ""},
    {"NVSwitch, not fatal",
     "nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV "
     "error (First)",
     ""},
    {"an unknown XID", "NVRM: Xid (PCI:0000:3b:00): 999, something new", ""},
    {"what is cut off",
     "NVRM: Xid (PCI:0000:3b:00\nNVRM: Xid (PCI:\nSXid (PCI:0000:a9:00.0): \nAER: Uncorrected", ""},
};

TEST(KernelLogTest, NothingIsFoundInHealthyLogs) {
  for (const Recording& healthy : kHealthy) {
    EXPECT_THAT(FindInKernelLog(LinesOf(healthy.log), Gpus()), IsEmpty()) << healthy.name;
  }
}

TEST(KernelLogTest, OnlyFaultsOfTheDriverCountUntilARestart) {
  const std::chrono::hours old(48);
  EXPECT_THAT(
      FindInKernelLog(LinesOf("INFO: task python3:4711 blocked for more than 120 seconds.", old),
                      Gpus()),
      IsEmpty());
  EXPECT_EQ(FindInKernelLog(
                LinesOf("NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.", old), Gpus())
                .size(),
            1u);
}

TEST(KernelLogTest, LinksBetweenGpusConcernJobsWithSeveral) {
  const auto gpus_of = [](const char* log) {
    const auto found = FindInKernelLog(LinesOf(log), Gpus());
    return found.size() == 1 ? found[0].min_gpus : 99;
  };
  EXPECT_EQ(gpus_of("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."), 1u);
  EXPECT_EQ(gpus_of("NVRM: Xid (PCI:0000:3b:00): 74, pid=12, NVLink: fatal error"), 2u);
  EXPECT_EQ(gpus_of("nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 30"), 2u);
  EXPECT_EQ(gpus_of("EDAC MC0: 1 UE memory read error on CPU_SrcID#0 (channel:1)"), 0u);
}

// What the kernel writes of a program that crashes has the program's name, of 15 bytes, and its
// file's. Other messages begin with the name, too.
TEST(KernelLogTest, NamesOfProgramsAndFilesAreNoFaults) {
  const char* const names[] = {
      "NVRM: Xid (PCI:", "NVRM: GPU 0000:", "nvidia-nvswitch", "pcieport 0000:0",
      "Memory failure:", "EDAC MC0: 1 UE ", "EDAC MC0: 1 UE",  "mce: [Hardware ",
      "mlx5_core 0000:", "INFO: task a:1 ", "INFO: task a",    "aaaaaaaaaaaaaaa"};
  std::vector<std::string> texts;
  for (const Recording& fault : kFaults) {
    for (const std::string_view line : base::Lines(fault.log)) {
      for (const std::string_view name : names) {
        const auto add = [&](std::string_view follows, std::string_view file = "") {
          texts.push_back(std::string(name) + std::string(follows) + std::string(file));
        };
        constexpr char kSegfault[] = "[27810]: segfault at 8 ip 0 sp 0 error 6 in ";
        add(kSegfault, line);
        if (line.starts_with(name)) add(kSegfault, line.substr(name.size()));
        add(" invoked oom-killer: gfp_mask=0x0(GFP_KERNEL), order=0, oom_score_adj=0");
        add(": page allocation failure: order:0");
        add(" (27810) used greatest stack depth: 1 bytes left");
      }
    }
  }
  std::vector<LogLine> lines;
  for (const std::string& text : texts) lines.push_back({text, std::chrono::seconds(1)});
  EXPECT_EQ(TextOf(FindInKernelLog(lines, Gpus())), "");
}

TEST(KernelLogTest, OnlyGpusOfTheDriverHaveFaults) {
  const char log[] =
      "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
      "NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x24:0x65:1423)";
  EXPECT_EQ(FindInKernelLog(LinesOf(log), {*ParsePciPlace("0000:3b:00")}).size(), 2u);
  EXPECT_THAT(FindInKernelLog(LinesOf(log), {*ParsePciPlace("0000:3c:00")}), IsEmpty());
  EXPECT_THAT(FindInKernelLog(LinesOf(log), {}), IsEmpty());
}

TEST(KernelLogTest, NamesAreCleaned) {
  const auto found =
      FindInKernelLog(LinesOf("INFO: task \x1b[31m<b>:7 blocked for more than 120 seconds."), {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject, "process 31mb");
}

}  // namespace
}  // namespace autodist::health
