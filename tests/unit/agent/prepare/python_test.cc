// Runs the machine's Python.
#include "agent/prepare/python.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support/quiet_supervisor.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class PythonTest : public testing::Test {
 protected:
  PythonTest() {
    environment_.Set("PATH", "/usr/local/bin:/usr/bin:/bin");
    environment_.Set("PYTHONPATH", folder_.path() + "/site");
  }

  void Write(const std::string& name, const std::string& content) {
    const std::filesystem::path path = folder_.path() + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    folder_.Write(name, content);
  }
  // Creates a module that records its import.
  void WriteModule(const std::string& name) {
    Write(name, "open('" + folder_.path() + "/imported', 'w')\n");
  }
  bool SomethingWasImported() const {
    return access((folder_.path() + "/imported").c_str(), F_OK) == 0;
  }
  v1::PythonFact Ask(const std::vector<std::string>& command,
                     const std::vector<std::string>& modules) {
    const auto python = PythonOf(command, environment_, folder_.path());
    EXPECT_TRUE(python);
    return PythonFacts(python.value_or(RankPython()), {modules.begin(), modules.end()},
                       environment_, folder_.path(), *supervisor_);
  }
  std::optional<v1::FailedImport> Import(const std::vector<std::string>& modules) {
    google::protobuf::RepeatedPtrField<v1::PythonImport> imports;
    for (const std::string& module : modules) imports.Add()->set_module(module);
    return TryImports({"python3", "script/train.py"}, imports, environment_, folder_.path(),
                      *supervisor_);
  }

  const test::TempFolder folder_;
  process::Environment environment_;
  const std::unique_ptr<Supervisor> supervisor_ = test::QuietSupervisor();
};

TEST_F(PythonTest, ThePythonOfACommand) {
  const auto found = [&](const std::vector<std::string>& command) {
    const auto python = PythonOf(command, environment_, folder_.path());
    return python ? python->program + " " + python->script : "";
  };
  const auto write = [&](const std::string& name, const std::string& first_line) {
    Write(name, first_line + "\nimport os\n");
    chmod((folder_.path() + "/" + name).c_str(), 0755);
  };
  write("by_path", "#!/usr/bin/python3 -u");
  write("by_env", "#!/usr/bin/env -S python3 -u");
  write("shell", "#!/bin/sh");
  write("bin/conda", "#!/usr/bin/python3");
  write("bin/torchrun", "#! /opt/venv/bin/python3.11");
  environment_.Set("PATH", folder_.path() + "/bin:/usr/bin");
  EXPECT_EQ(found({"python3", "-u", "train.py", "x.py"}), "python3 train.py");
  EXPECT_EQ(found({"env", "A=1", "/opt/bin/python3", "train.py"}), "/opt/bin/python3 train.py");
  EXPECT_EQ(found({"numactl", "--cpunodebind=0", "python", "-m", "net"}), "python ");
  EXPECT_EQ(found({"./by_path", "--lr", "1"}), "/usr/bin/python3 ./by_path");
  EXPECT_EQ(found({"./by_env"}), "python3 ./by_env");
  EXPECT_EQ(found({"torchrun", "--nnodes", "2", "train.py"}), "/opt/venv/bin/python3.11 train.py");
  for (const char* other : {"./shell", "./absent", "env", "sh"}) EXPECT_EQ(found({other}), "");
  EXPECT_EQ(found({"conda", "run", "-n", "x", "python", "train.py"}), "");
  EXPECT_EQ(found({}), "");
}

TEST_F(PythonTest, ImportsUntilOneFails) {
  Write("site/good.py", "print('noise'); import sys; sys.stderr.write('noise')");
  Write("script/beside.py", "");
  Write("site/library.py", "raise OSError('libx.so.3: cannot open shared object file')");
  Write("site/of_a_rank.py", "import os; os.environ['RANK']");
  Write("site/deadly.py", "import os; os.kill(os.getpid(), 4)");
  EXPECT_FALSE(Import({}));
  EXPECT_FALSE(Import({"good", "beside", "os.path"}));
  const auto absent = Import({"good", "absent.deep", "deadly"});
  ASSERT_TRUE(absent);
  EXPECT_EQ(absent->index(), 1u);
  EXPECT_EQ(absent->error(), "ModuleNotFoundError: No module named 'absent'");
  EXPECT_TRUE(absent->certain());
  EXPECT_TRUE(Import({"library"})->certain());
  EXPECT_FALSE(Import({"of_a_rank"})->certain());
  EXPECT_EQ(Import({"deadly"})->error(), "its Python was ended by signal 4");
}

TEST_F(PythonTest, ParsesTheOutputOfImports) {
  const auto error = [](std::string_view printed, const std::string& ended) {
    const auto failed = FailedImportIn(printed, ended, 2);
    return failed ? std::to_string(failed->index()) + " " + failed->error() : "";
  };
  EXPECT_EQ(error("trying\t0\ntrying\t1\nimported\n", ""), "");
  EXPECT_EQ(error("trying\t0\nfailed\t1\tE: x\ty\n", ""), "0 E: x\ty");
  EXPECT_EQ(error("trying\t1\n", "was ended by signal 11"), "1 its Python was ended by signal 11");
  EXPECT_EQ(error("trying\t1\n", "did not end within 20 s"), "");  // slow, but not failed
  EXPECT_EQ(error("", "ended with status 1"), "");
  EXPECT_EQ(error("trying\t2\nfailed\t1\tE\n", ""), "");  // the number of modules is missing
}

TEST_F(PythonTest, FindsModulesWithoutImportingThem) {
  WriteModule("site/lone.py");
  WriteModule("site/torch/__init__.py");
  Write("site/torch/version.py",
        "from typing import Optional\n__version__ = '2.3.0+cu121'\ndebug = False\n"
        "cuda: Optional[str] = '12.1'\ngit_version = 'x'\n");
  WriteModule("site/paddle/__init__.py");
  Write("site/paddlepaddle_gpu-2.6.1.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: paddlepaddle-gpu\nVersion: 2.6.1\n");
  const v1::PythonFact fact = Ask({"python3", "train.py"}, {"torch", "paddle", "lone", "absent"});
  EXPECT_EQ(fact.error(), "");
  EXPECT_THAT(fact.version(), StartsWith("3."));
  ASSERT_EQ(fact.modules_size(), 4);
  EXPECT_EQ(fact.modules(0).name(), "torch");
  EXPECT_EQ(fact.modules(0).version(), "2.3.0+cu121");
  EXPECT_EQ(fact.modules(0).cuda(), "12.1");
  EXPECT_EQ(fact.modules(1).version(), "2.6.1");
  EXPECT_TRUE(fact.modules(2).found());
  EXPECT_EQ(fact.modules(2).version(), "");
  EXPECT_EQ(fact.modules(3).name(), "absent");
  EXPECT_FALSE(fact.modules(3).found());
  EXPECT_FALSE(SomethingWasImported());
}

TEST_F(PythonTest, ACpuTorchNamesNoCuda) {
  Write("site/torch/__init__.py", "");
  Write("site/torch/version.py", "__version__ = '2.1.0'\ncuda = None\nhip = None\n");
  const v1::PythonFact fact = Ask({"python3"}, {"torch"});
  EXPECT_EQ(fact.modules(0).version(), "2.1.0");
  EXPECT_EQ(fact.modules(0).cuda(), "");
}

TEST_F(PythonTest, SeesTheSameAsTheScript) {
  WriteModule("script/beside_script.py");
  WriteModule("beside_folder.py");
  const std::vector<std::string> modules = {"beside_script", "beside_folder"};
  const auto found = [&](const std::vector<std::string>& command) {
    const v1::PythonFact fact = Ask(command, modules);
    return std::pair(fact.modules(0).found(), fact.modules(1).found());
  };
  EXPECT_EQ(found({"python3", "-u", "-W", "ignore", "script/train.py", "-m"}),
            std::pair(true, false));
  EXPECT_EQ(found({"python3", "-m", "train"}), std::pair(false, true));
  EXPECT_EQ(found({"python3", "-c", "pass"}), std::pair(false, true));
  EXPECT_FALSE(SomethingWasImported());
}

TEST_F(PythonTest, FilesOfTheUserDoNotShadowTheStandardLibrary) {
  for (const char* name : {"re.py", "email.py", "random.py", "csv.py", "json.py"}) {
    WriteModule(name);
    WriteModule(std::string("script/") + name);
  }
  EXPECT_EQ(Ask({"python3", "train.py"}, {"torch"}).error(), "");
  EXPECT_EQ(Ask({"python3", "script/train.py"}, {"torch"}).error(), "");
  EXPECT_FALSE(SomethingWasImported());
}

TEST_F(PythonTest, OtherOutputIsIgnored) {
  Write("site/sitecustomize.py",
        "import atexit, sys\nprint('noise', end='')\nprint('version\\t9.9')\n"
        "sys.stdout.flush()\natexit.register(print, 'bye\\tbye')\n");
  const v1::PythonFact fact = Ask({"python3"}, {"os"});
  EXPECT_EQ(fact.error(), "");
  EXPECT_THAT(fact.version(), StartsWith("3."));
  EXPECT_TRUE(fact.modules(0).found());
}

TEST_F(PythonTest, ReportsWhyItKnowsNothing) {
  EXPECT_THAT(Ask({"python9"}, {}).error(), HasSubstr("'python9' is not in PATH"));
  Write("site/sitecustomize.py",
        "import sys\nsys.stderr.write('broken\\n')\nraise SystemExit(4)\n");
  EXPECT_THAT(Ask({"python3"}, {}).error(), HasSubstr("broken"));
  environment_.Set("PYTHONHOME", "/no/such/home");
  const v1::PythonFact fact = Ask({"python3"}, {"torch"});
  EXPECT_THAT(fact.error(), HasSubstr("ended with status 1:\n"));
  EXPECT_EQ(fact.modules_size(), 1);
}

}  // namespace
}  // namespace autodist::agent
