#include "process/python_command.h"

#include <gtest/gtest.h>

namespace autodist::process {
namespace {

using Words = std::vector<std::string>;

TEST(PythonCommandTest, APythonIsRecognizedByItsName) {
  EXPECT_TRUE(IsPython("python"));
  EXPECT_TRUE(IsPython("/opt/venv/bin/python3.11"));
  EXPECT_TRUE(IsPython("python3.13t"));
  for (const char* other :
       {"/opt/python/bin/train", "./python_train", "python3-config", "python3.sh", "pythonw", ""}) {
    EXPECT_FALSE(IsPython(other)) << other;
  }
}

TEST(PythonCommandTest, SeparatesThePythonFromItsProgram) {
  const struct {
    Words argv, python, program;
  } cases[] = {
      {{"python3", "train.py"}, {"python3"}, {"train.py"}},
      {{"/v/bin/python", "-u", "a/train.py", "-m", "x"},
       {"/v/bin/python", "-u"},
       {"a/train.py", "-m", "x"}},
      {{"python3", "-m", "train", "--lr", "1"}, {"python3"}, {"-m", "train", "--lr", "1"}},
      {{"python3", "-mtrain", "-c"}, {"python3"}, {"-m", "train", "-c"}},
      {{"python3", "-Oum", "a.b"}, {"python3", "-Ou"}, {"-m", "a.b"}},
      {{"python3", "-W", "ignore", "-Xdev", "t.py"},
       {"python3", "-W", "ignore", "-Xdev"},
       {"t.py"}},
      {{"python3", "-uX", "utf8", "-Werror", "t.py"},
       {"python3", "-uX", "utf8", "-Werror"},
       {"t.py"}},
  };
  for (const auto& one : cases) {
    const auto command = ParsePython(one.argv);
    ASSERT_TRUE(command) << one.argv[1];
    EXPECT_EQ(command->python, one.python);
    EXPECT_EQ(command->program, one.program);
  }
}

TEST(PythonCommandTest, OtherCommandsAreNoPrograms) {
  for (const Words& argv : std::vector<Words>{{},
                                              {"./train"},
                                              {"torchrun", "train.py"},
                                              {"env", "python3", "train.py"},
                                              {"python3"},
                                              {"python3", "-"},
                                              {"python3", "-u"},
                                              {"python3", "folder"},
                                              {"python3", "-c", "pass"},
                                              {"python3", "-ucpass"},
                                              {"python3", "-i", "train.py"},
                                              {"python3", "-m"},
                                              {"python3", "-W"},
                                              {"python3", "-x", "train.py"},
                                              {"python3", "--version"},
                                              {"python3", "-Z", "train.py"}}) {
    EXPECT_FALSE(ParsePython(argv)) << testing::PrintToString(argv);
  }
}

}  // namespace
}  // namespace autodist::process
