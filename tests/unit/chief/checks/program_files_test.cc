#include "chief/checks/preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_folder.h"

namespace autodist::chief {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ProgramFilesTest, TheProgramAndItsArguments) {
  const test::TempFolder folder;
  folder.Write("train", "x");
  folder.Write("big.yaml", "x");
  folder.Write("other.yaml", "x");
  EXPECT_THAT(FilesOfProgram({"./train", "--config=big.yaml", "--lr", "0.1", "other.yaml", "none"},
                             folder.path())
                  .files,
              ElementsAre("./train", "big.yaml", "other.yaml"));
  EXPECT_THAT(FilesOfProgram({"train"}, folder.path()).files, IsEmpty());  // looked up in PATH
  EXPECT_THAT(FilesOfProgram({}, folder.path()).files, IsEmpty());
}

TEST(ProgramFilesTest, AScriptIncludesTheModulesBesideIt) {
  const test::TempFolder folder;
  for (const char* package : {"net", "net/deep"}) {
    std::filesystem::create_directories(folder.path() + "/" + package);
    folder.Write(std::string(package) + "/__init__.py", "");
  }
  folder.Write("train.py",
               "import os, torch.distributed as dist\nfrom net import layers  # ours\n"
               "from net.deep.ring import Ring\nimport train\n  import numpy\n"
               "text = 'import nothing'\n");
  folder.Write("net/layers.py", "from . import losses\nfrom .deep import ring\n");
  folder.Write("net/losses.py", "from ..net import layers\n");
  folder.Write("net/deep/ring.py", "");
  folder.Write("net/unused.py", "");
  const ProgramFiles found = FilesOfProgram({"/usr/bin/python3", "-u", "train.py"}, folder.path());
  EXPECT_THAT(found.files, testing::UnorderedElementsAre(
                               "train.py", "net/__init__.py", "net/layers.py", "net/losses.py",
                               "net/deep/__init__.py", "net/deep/ring.py"));
  EXPECT_THAT(found.python_modules, ElementsAre("torch", "numpy"));
}

TEST(ProgramFilesTest, AMissingScriptIsIncludedToo) {
  const test::TempFolder folder;
  std::filesystem::create_directories(folder.path() + "/src");
  std::filesystem::create_directories(folder.path() + "/app");
  folder.Write("src/train.py", "");
  ProgramFiles found = FilesOfProgram({"python", "src/trian.py", "out.txt"}, folder.path());
  EXPECT_THAT(found.files, ElementsAre("src/trian.py"));
  EXPECT_EQ(found.missing_script, "src/trian.py");
  EXPECT_EQ(found.nearest_script, "src/train.py");
  found = FilesOfProgram({"bash", "run.sh"}, folder.path());
  EXPECT_EQ(found.missing_script, "run.sh");
  EXPECT_EQ(found.nearest_script, "");
  EXPECT_EQ(FilesOfProgram({"python", "none/x.py"}, folder.path()).missing_script, "none/x.py");
  for (const char* there : {"src/train.py", "app", "/dev/null"}) {
    EXPECT_EQ(FilesOfProgram({"python", there}, folder.path()).missing_script, "") << there;
  }
}

TEST(ProgramFilesTest, AModuleOfTheFolder) {
  const test::TempFolder folder;
  std::filesystem::create_directories(folder.path() + "/net");
  folder.Write("net/__main__.py", "import layers\nfrom . import ring\n");
  folder.Write("net/ring.py", "");
  folder.Write("net/layers.py", "");  // Python does not look there
  folder.Write("net/train.py", "");
  EXPECT_THAT(FilesOfProgram({"python", "-m", "net"}, folder.path()).files,
              ElementsAre("net/__main__.py", "net/ring.py"));
  EXPECT_THAT(FilesOfProgram({"python", "-m", "net.train"}, folder.path()).files,
              ElementsAre("net/train.py"));
  const ProgramFiles elsewhere = FilesOfProgram({"python", "-m", "torch.run"}, folder.path());
  EXPECT_THAT(elsewhere.files, IsEmpty());
  EXPECT_EQ(elsewhere.missing_script, "");
}

std::vector<std::string> CertainImports(const ProgramFiles& found) {
  std::vector<std::string> imports;
  for (const auto& [module, where] : found.imports) imports.push_back(module + ": " + where);
  return imports;
}

TEST(ProgramFilesTest, UnconditionalImports) {
  const test::TempFolder folder;
  folder.Write("train.py",
               "\"\"\"Use:\nimport nothing_1\n\"\"\"\n"
               "import torch.nn as nn, numpy  # import nothing_2\nfrom helper import x\n"
               "try:\n    import apex\nexcept ImportError:\n    import other_apex\n"
               "if True:\n    import maybe\n"
               "def f():\n    import later\n"
               "import torch\n"
               "text = \"\"\"\nimport nothing_3\"\"\"\n"
               "import sys\nsys.path.insert(0, 'lib')\nimport of_lib\n");
  folder.Write("helper.py", "from yaml import load\n");
  const ProgramFiles found = FilesOfProgram({"python", "train.py"}, folder.path());
  EXPECT_THAT(CertainImports(found),
              ElementsAre("torch.nn: train.py, line 4", "numpy: train.py, line 4",
                          "yaml: helper.py, line 1", "torch: train.py, line 14"));
  EXPECT_THAT(found.optional_modules,
              testing::UnorderedElementsAre("apex", "other_apex", "of_lib"));
  EXPECT_THAT(found.python_modules, ElementsAre("torch", "numpy", "yaml", "apex", "other_apex",
                                                "maybe", "later", "of_lib"));
}

TEST(ProgramFilesTest, AScriptAsAnArgumentIsUncertain) {
  const test::TempFolder folder;
  folder.Write("conf.py", "import plugin\n");
  folder.Write("run", "#!/usr/bin/env python3\nimport torch\n");
  EXPECT_THAT(CertainImports(FilesOfProgram({"python", "-c", "pass", "conf.py"}, folder.path())),
              IsEmpty());
  EXPECT_THAT(CertainImports(FilesOfProgram({"./run", "conf.py"}, folder.path())),
              ElementsAre("torch: ./run, line 2"));
}

TEST(ProgramFilesTest, AFolderBesideTheScriptIsAPackage) {
  const test::TempFolder folder;
  std::filesystem::create_directories(folder.path() + "/net");
  folder.Write("net/ring.py", "");
  folder.Write("train.py", "from net import ring\n");
  const ProgramFiles found = FilesOfProgram({"python", "train.py"}, folder.path());
  EXPECT_THAT(found.python_modules, IsEmpty());
  EXPECT_THAT(found.files, testing::UnorderedElementsAre("train.py", "net/ring.py"));
}

TEST(LacksProgramHereTest, OnlyAPathThatSyncWouldCopyIsLookedFor) {
  const test::TempFolder folder;
  const std::string there = folder.Write("train", "x");
  const struct {
    std::string program;
    bool takes_part;
    bool lacks;
  } rows[] = {{there, false, false},
              {folder.path() + "/other", false, true},
              {folder.path() + "/other", true, false},
              {"in-path", false, false}};
  for (const auto& row : rows) {
    v1::LaunchPlan plan;
    v1::NodePlan& node = *plan.add_nodes();
    if (row.takes_part) {
      node.mutable_reach()->mutable_local();
    } else {
      node.mutable_reach()->mutable_ssh();
    }
    node.add_ranks()->add_argv(row.program);
    EXPECT_EQ(LacksProgramHere(plan), row.lacks) << row.program;
  }
  EXPECT_FALSE(LacksProgramHere({}));
}

}  // namespace
}  // namespace autodist::chief
