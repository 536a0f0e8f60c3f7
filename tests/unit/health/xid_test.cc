#include "health/xid.h"

#include <gtest/gtest.h>

namespace autodist::health {
namespace {

struct Row {
  const char* line;
  const char* gpu;
  uint32_t number;
  pid_t pid;  // 0: unknown
  bool needs_repair;
  const char* unit;
};

// Those of the GPU 0000:00:06 are of an H200 with driver 580.159.
constexpr Row kRows[] = {
    {"NVRM: Xid (PCI:0000:00:06): 31, pid=5699, name=python3, channel 0x0000000a, intr 00000000. "
     "MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_4 faulted @ 0x7f00_00000000. Fault is of type "
     "FAULT_PDE ACCESS_TYPE_VIRT_WRITE",
     "0000:00:06", 31, 5699, false, "GPC 1, client T1_4"},
    {"NVRM: Xid (PCI:0000:00:06): 13, Graphics SM Warp Exception on (GPC 1, TPC 2, SM 0): "
     "Misaligned Address",
     "0000:00:06", 13, 0, false, "GPC 1, TPC 2, SM 0"},
    {"NVRM: Xid (PCI:0000:00:06): 13, pid=5813, name=python3, Graphics Exception: channel "
     "0x0000000a, Class 0000cbc0, Offset 00000510, Data 0017e2ac",
     "0000:00:06", 13, 5813, false, ""},
    {"NVRM: Xid (PCI:0000:00:06): 43, pid=5927, name=python3, channel 0x0000000a", "0000:00:06", 43,
     5927, false, ""},
    {"NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
     "0000:5d:00", 79, 0, true, ""},
    {"NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node "
     "Reboot Required)",
     "0000:3b:00", 154, 0, true, ""},
    {"NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) "
     "to 0x0 (None)",
     "0000:3b:00", 154, 0, false, ""},
    // The name of a program is any text.
    {"NVRM: Xid (PCI:0000:3b:00): 154, pid=7, name= to 0x0 (None), GPU recovery action changed "
     "from "
     "0x0 (None) to 0x1 (GPU Reset Required)",
     "0000:3b:00", 154, 7, true, ""},
    {"NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal   XC0 i0 Link 17 (0x00000001 "
     "0x00000002)",
     "0018:01:00", 149, 0, true, ""},
    {"NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Nonfatal XC0 i0 Link 17 (0x00000001 "
     "0x00000002)",
     "0018:01:00", 149, 0, false, ""},
    {"NVRM: Xid (PCI:0018:01:00): 144, SAW_MVB Nonfatal XC0 i0 Link 17 (0x00000001)", "0018:01:00",
     144, 0, false, ""},
    {"NVRM: Xid (PCI:0018:01:00): 145, pid=7, name=x Fatal y, RLW_CTRL Nonfatal XC0 i0 Link 2",
     "0018:01:00", 145, 7, false, ""},
    {"NVRM: Xid (PCI:0018:01:00): 150, pid=7, name=x Nonfatal y, MSE_WATCHDOG Fatal XC0 i0 Link 2",
     "0018:01:00", 150, 7, true, ""},
    {"NVRM: Xid (PCI:0018:01:00): 147, something new", "0018:01:00", 147, 0, false, ""},
    {"NVRM: Xid (PCI:0000:3b:00): 79, GPU pid=4711 has fallen off the bus.", "0000:3b:00", 79, 0,
     true, ""},
    {"NVRM: Xid (0000:03:00): 31, Ch 00000010", "0000:03:00", 31, 0, false, ""},
    {"NVRM: Xid (PCI:0000:03:00): 9999, something new", "0000:03:00", 9999, 0, false, ""},
};

TEST(XidTest, TheDriverNamesGpuNumberAndProgram) {
  for (const Row& row : kRows) {
    const auto xid = ParseXid(row.line);
    ASSERT_TRUE(xid) << row.line;
    EXPECT_EQ(xid->gpu, row.gpu) << row.line;
    EXPECT_EQ(xid->number, row.number) << row.line;
    EXPECT_EQ(xid->pid.value_or(0), row.pid) << row.line;
    EXPECT_EQ(xid->NeedsRepair(), row.needs_repair) << row.line;
    EXPECT_EQ(xid->Unit(), row.unit) << row.line;
  }
}

TEST(XidTest, ProgramsCauseSome) {
  for (const uint32_t number : {13u, 31u, 43u, 45u, 69u}) {
    EXPECT_TRUE((Xid{"0000:3b:00", number, {}, ""}.IsOfProgram())) << number;
  }
  for (const uint32_t number : {48u, 63u, 74u, 79u, 119u, 9999u}) {
    EXPECT_FALSE((Xid{"0000:3b:00", number, {}, ""}.IsOfProgram())) << number;
  }
}

TEST(XidTest, OtherLinesAreNone) {
  for (const char* none :
       {"", "NVRM: loading NVIDIA UNIX x86_64 Kernel Module", "NVRM: Xid (PCI:0000:5d:00", "x",
        "NVRM: Xid (PCI:0000:5d:00): many", "NVRM: Xid (): 79,",
        "NVRM: Xid (PCI:\x1b[31m<b>): 79, x", "NVRM: Xid (PCI:0000:5d:00): 4294967297, x",
        // Of programs that crash: the kernel writes their name, of 15 bytes, and their file's.
        "NVRM: Xid (PCI:[27810]: segfault at 8 ip 0 sp 0 error 6 in 0000:3b:00): 79, pid=1, x",
        "NVRM: Xid (0000[27810]: segfault at 8 ip 0 sp 0 error 6 in :3b:00): 79, pid=1, x",
        "NVRM: Demo (PCI[27810]: segfault at 8 ip 0 error 6 in NVRM: Xid (PCI:0000:3b:00): 79, x",
        "aaaaaaaaaaaaaaa[27810]: segfault at 8 ip 0 error 6 in NVRM: Xid (PCI:0000:3b:00): 79",
        "aaaaaaaaaaaaaaa NVRM: Xid (PCI:0000:3b:00): 79, pid=1"}) {
    EXPECT_FALSE(ParseXid(none)) << none;
  }
}

}  // namespace
}  // namespace autodist::health
