#include "agent/stacks/mapped_code.h"

#include <gtest/gtest.h>

namespace autodist::agent {
namespace {

TEST(MappedCodeTest, IsThatOfFiles) {
  const auto code = ReadMappedCode(
      "7f0c00001000-7f0c00101000 r-xp 0001f000 fe:01 4711                       /lib/libc.so.6");
  ASSERT_TRUE(code.has_value());
  EXPECT_EQ(code->file, "/lib/libc.so.6");
  EXPECT_EQ(code->size, 0x100000U);
  for (const char* line : {"", "/", "x", "7f0c-7f0d rw-p 0 fe:01 4711 /lib/libc.so.6",
                           "7f0c-7f0d r-xp 0 00:00 0 ", "7f0d-7f0c r-xp 0 fe:01 4711 /lib/a",
                           "7f0c r-xp 0 fe:01 4711 /lib/a", "-7f0c r-xp 0 0 0 /a"}) {
    EXPECT_FALSE(ReadMappedCode(line).has_value()) << line;
  }
}

}  // namespace
}  // namespace autodist::agent
