// Runs a shell command in a test and returns its output.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace autodist::test {

inline std::string Shell(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

}  // namespace autodist::test
