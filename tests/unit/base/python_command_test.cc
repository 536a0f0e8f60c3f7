#include "base/python_command.h"

#include <gtest/gtest.h>

namespace autodist::base {
namespace {

TEST(PythonCommandTest, APythonIsRecognizedByItsName) {
  EXPECT_TRUE(IsPython("python"));
  EXPECT_TRUE(IsPython("/opt/venv/bin/python3.11"));
  EXPECT_TRUE(IsPython("python3.13t"));
  for (const char* other :
       {"/opt/python/bin/train", "./python_train", "python3-config", "python3.sh", "pythonw", ""}) {
    EXPECT_FALSE(IsPython(other)) << other;
  }
}

}  // namespace
}  // namespace autodist::base
