#include "agent/sample/xids.h"

#include <gtest/gtest.h>

namespace autodist::agent {
namespace {

// As caused by an index out of bounds.
TEST(XidsTest, AnXidMayNameAProgram) {
  const auto xid =
      ParseXid("NVRM: Xid (PCI:0000:00:06): 43, pid=4744, name=python3, channel 0x00000008");
  ASSERT_TRUE(xid);
  EXPECT_EQ(xid->pid, 4744);
  EXPECT_TRUE(xid->IsOfProgram());
}

TEST(XidsTest, AnXidNamesAGpu) {
  const auto xid = ParseXid(
      "NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the "
      "bus.");
  ASSERT_TRUE(xid);
  EXPECT_EQ(xid->place, *ParsePciPlace("00000000:5D:00.0"));
  EXPECT_EQ(xid->number, 79u);
  EXPECT_FALSE(xid->pid);
  EXPECT_FALSE(xid->IsOfProgram());
  EXPECT_EQ(ParseXid("NVRM: Xid (0000:03:00): 31, Ch 00000010")->number, 31u);
  for (const char* none :
       {"", "NVRM: loading NVIDIA UNIX x86_64 Kernel Module", "NVRM: Xid (PCI:0000:5d:00", "x",
        "NVRM: Xid (PCI:0000:5d:00): many", "NVRM: Xid (): 79,"}) {
    EXPECT_FALSE(ParseXid(none)) << none;
  }
}

}  // namespace
}  // namespace autodist::agent
