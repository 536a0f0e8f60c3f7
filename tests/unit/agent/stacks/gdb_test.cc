#include "agent/stacks/stack_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace autodist::agent {
namespace {

using testing::Contains;
using testing::Not;

TEST(GdbTest, ReadsTheFilesBeforeItStopsAProcess) {
  const auto argv = GdbCommand({7, 8}, {"/lib/libc.so.6", "/odd name/lib.so", "/lib/libtorch.so"});
  const auto at = [&](const std::string& word) { return std::ranges::find(argv, word); };
  EXPECT_THAT(argv, Contains("add-symbol-file /lib/libc.so.6 -o 68719476736"));
  EXPECT_THAT(argv, Not(Contains(testing::HasSubstr("odd name"))));
  EXPECT_LT(at("add-symbol-file /lib/libtorch.so -o 137438953472"), at("attach 7"));
  EXPECT_LT(at("attach 7"), at("detach"));
  EXPECT_LT(at("detach"), at("attach 8"));
  EXPECT_LT(at("inferior 2"), at("attach 7"));
  EXPECT_LT(at("attach 7"), at("inferior 3"));
}

TEST(GdbTest, SplitsTheOutputByProcess) {
  const auto stacks = ReadGdbStacks(
      "add symbol table from file\nautodist: begin 7\nThread 2.1 (LWP 7):\n#0  0x1 in main "
      "()\nautodist: end 7\n"
      "[New inferior 3]\nautodist: begin 8\nautodist: end 8\nautodist: begin 9\n#0  poll ()\n");
  ASSERT_EQ(stacks.size(), 3U);
  EXPECT_EQ(stacks.at(7).text, "Thread 1 (LWP 7):\n#0  0x1 in main ()\n");
  EXPECT_TRUE(stacks.at(7).ended && stacks.at(7).frames);
  EXPECT_EQ(stacks.at(8).text, "");
  EXPECT_TRUE(stacks.at(8).ended && !stacks.at(8).frames);
  EXPECT_TRUE(!stacks.at(9).ended && stacks.at(9).frames);
  EXPECT_TRUE(
      ReadGdbStacks("autodist: begin 99999999999\nautodist: begin x\nautodist: end 7\n").empty());
}

TEST(GdbTest, PrintsNamesAsProgramsDo) {
  EXPECT_EQ(Demangled("#1 0x7 in _ZN4c10d4Work4waitEl () from libtorch_cpu.so"),
            "#1 0x7 in c10d::Work::wait(long) () from libtorch_cpu.so");
  EXPECT_EQ(Demangled("_Znwm@plt, _ZN1a1bEv.cold"),
            "operator new(unsigned long)@plt, a::b() [clone .cold]");
  EXPECT_EQ(Demangled("not_Zeros _Z! x"), "not_Zeros _Z! x");
  EXPECT_EQ(Demangled(""), "");
  const std::string long_name = "_ZN" + std::string(5000, '1');
  EXPECT_EQ(Demangled(long_name), long_name);
}

}  // namespace
}  // namespace autodist::agent
