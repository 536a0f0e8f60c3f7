#include "process/kernel_log.h"

#include <gtest/gtest.h>

namespace autodist::process {
namespace {

TEST(KernelRecordTest, OnlyRecordsOfTheKernelCount) {
  struct Row {
    const char* record;
    const char* line;  // "": none
  };
  const Row rows[] = {
      {"6,339,5140900,-;NVRM: loading NVIDIA\n SUBSYSTEM=pci\n", "NVRM: loading NVIDIA"},
      {"3,340,5140901,-,caller=T1;a;b", "a;b"},
      {"0,1,1,-;emergency", "emergency"},
      // Of users (facility 1), daemons (3) and local use (23), as journald and `logger` write them.
      {"8,341,5140902,-;NVRM: Xid (PCI:0000:3b:00): 79, x", ""},
      {"14,341,5140902,-;NVRM: Xid (PCI:0000:3b:00): 79, x", ""},
      {"30,342,5140903,-;Killed process 1 (x) total-vm:1kB", ""},
      {"190,343,5140904,-;x", ""},
      {"", ""},
      {"6,339,5140900,-", ""},
      {"6;text", ""},
      {"x,339,5140900,-;text", ""},
      {"-1,339,5140900,-;text", ""},
      {"6,339,now,-;text", ""},
  };
  for (const Row& row : rows) {
    const auto record = ParseKernelRecord(row.record);
    EXPECT_EQ(record ? record->line : "", row.line) << row.record;
  }
  EXPECT_EQ(ParseKernelRecord(rows[0].record)->since_boot, std::chrono::microseconds(5140900));
}

}  // namespace
}  // namespace autodist::process
