#include "process/program_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "support/temp_folder.h"

namespace autodist::process {
namespace {

using testing::HasSubstr;

class ProgramCheckTest : public testing::Test {
 protected:
  Status Check(const std::string& name, const std::string& content, mode_t mode = 0755) {
    const std::string file = folder_.Write(name, content);
    chmod(file.c_str(), mode);
    return CheckProgramFile(file, name, place_);
  }

  const test::TempFolder folder_;
  const ProgramPlace place_{"/usr/bin:/bin", folder_.path()};
};

TEST_F(ProgramCheckTest, ExecutableFilesHaveNoIssue) {
  for (const char* content :
       {"#!/bin/sh\necho\n", "#! /bin/sh -e\n", "#!/usr/bin/env sh\n",
        "#!/usr/bin/env -S A=1 sh -e\n", "echo a shell runs it\n", "#!/bin/sh"}) {
    EXPECT_TRUE(Check("a", content).ok()) << content << Check("a", content);
  }
  EXPECT_TRUE(CheckProgramFile("/bin/sh", "/bin/sh", place_).ok());
}

TEST_F(ProgramCheckTest, EachReasonHasItsHeadlineAndItsHint) {
  struct Case {
    std::string name, content;
    mode_t mode;
    StatusCode code;
    std::string cause, hint;
  };
  const auto missing = StatusCode::kNotFound;
  const auto denied = StatusCode::kPermissionDenied;
  const Case cases[] = {
      {"a.sh", "#!/bin/bash\r\necho\r\n", 0755, missing, "`#!/bin/bash\\r`", "sed -i"},
      {"a.sh", "#!/bin/bash -e\r\n", 0755, missing, "`#!/bin/bash -e\\r`", "sed -i"},
      {"a.py", "#!/no/python\n", 0755, missing,
       "the interpreter of a.py, /no/python, does not exist", "first line"},
      {"a.py", "#!python\n", 0755, missing, "the interpreter of a.py, python, does not exist", ""},
      {"a", "#!\n", 0755, missing, "no interpreter", "#!/bin/bash"},
      {"a.py", "#!/usr/bin/env no-such\n", 0755, missing, "no-such (by /usr/bin/env)", ""},
      {"a", "#!/usr\n", 0755, denied, "'/usr' is a folder", ""},
      {"a.py", "print(1)\n", 0755, denied, "does not begin with `#!`", "python3"},
      {"a.sh", "#!/bin/sh\n", 0644, denied, "not an executable file", "chmod +x a.sh"},
      {"a", "", 0755, denied, "empty file", ""},
      {"a", "\xEF\xBB\xBF#!/bin/sh\n", 0755, denied, "byte order mark", "sed -i"},
      {"a", "\177ELF", 0755, denied, "is incomplete", ""},
  };
  for (const Case& one : cases) {
    const Status why = Check(one.name, one.content, one.mode);
    EXPECT_EQ(why.code(), one.code) << one.content;
    EXPECT_THAT(Message(why), HasSubstr(one.cause));
    EXPECT_THAT(Remedy(why), HasSubstr(one.hint));
  }
}

// What a machine has does not matter, as the file will run on others.
TEST_F(ProgramCheckTest, AFileToCopyIsJudgedByItself) {
  const struct {
    const char* content;
    mode_t mode;
    const char* cause;  // "": none
  } kCases[] = {
      {"#!/bin/sh\n", 0755, ""},
      {"#!/no/python\n", 0755, ""},
      {"#!/usr/bin/env no-such\n", 0755, ""},
      {"#!/bin/sh\n", 0644, "is not an executable file"},
      {"#!/no/python\r\n", 0755, "it has Windows line endings"},
      {"#!\n", 0755, "names no interpreter"},
      {"", 0755, "is an empty file"},
      {"\177ELF", 0755, "is incomplete"},
  };
  for (const auto& one : kCases) {
    const std::string file = folder_.Write("a", one.content);
    chmod(file.c_str(), one.mode);
    const Status why = CheckProgramToCopy(file, "a");
    EXPECT_EQ(why.ok(), *one.cause == '\0') << one.content;
    EXPECT_THAT(Message(why), HasSubstr(one.cause));
  }
}

TEST_F(ProgramCheckTest, ABinaryHasAnArchitectureAndALoader) {
  std::string elf("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\xF4\0",
                  20);  // an architecture without Linux
  elf.resize(100);
  if (!std::filesystem::exists("/proc/sys/fs/binfmt_misc/qemu-bpf")) {
    EXPECT_THAT(Message(Check("a", elf)), HasSubstr("is a program for"));
  }
}

TEST_F(ProgramCheckTest, WhatAProgramNeedsIsReportedAlikeBeforeAndAfterItIsThere) {
  struct Case {
    std::string content, needs;
  };
  for (const Case& one :
       {Case{"#!/no/python -u\n", "/no/python"}, Case{"#!/usr/bin/env no-such\n", "no-such"},
        Case{"#!/usr/bin/env -S A=1 no-such -u\n", "no-such"}}) {
    const Status there = Check("a", one.content);
    const auto need = NeedOf(folder_.path() + "/a", "a");
    ASSERT_TRUE(need) << one.content;
    EXPECT_EQ(need->program, one.needs);
    EXPECT_EQ(need->missing, there) << one.content;
  }
  EXPECT_EQ(NeedOf("/bin/sh", "/bin/sh")->program, LoaderOf("/bin/sh"));
  for (const char* content : {"", "echo\n", "#!python\n", "#!/bin/sh\r\n", "\177ELF"}) {
    EXPECT_FALSE(NeedOf(folder_.Write("a", content), "a")) << content;
  }
  EXPECT_FALSE(NeedOf(folder_.path() + "/none", "none"));
}

TEST(LibrariesMissingTest, QuotesTheLoader) {
  struct Case {
    const char *said, *cause, *hint;
  };
  const Case cases[] = {
      {"/w/train: error while loading shared libraries: libfoo.so.1: cannot open shared object "
       "file: No such file or directory\n",
       "'./train' cannot be loaded: libfoo.so.1: cannot open shared object file: No such file or "
       "directory",
       "LD_LIBRARY_PATH"},
      {"/w/train: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by "
       "/w/train)\n",
       "'./train' cannot be loaded: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not "
       "found (required by /w/train)",
       "oldest system"},
      {"Error loading shared library libfoo.so: No such file or directory (needed by ./train)\n",
       "'./train' cannot be loaded: libfoo.so: No such file or directory (needed by ./train)",
       "LD_LIBRARY_PATH"},
  };
  for (const Case& one : cases) {
    const Status missing = LibrariesMissing("./train", one.said);
    EXPECT_EQ(missing.code(), StatusCode::kNotFound);
    EXPECT_EQ(Message(missing), one.cause);
    EXPECT_THAT(Remedy(missing), HasSubstr(one.hint));
  }
  const Status other = LibrariesMissing(
      "a", "a: error while loading shared libraries: libc.so.6: wrong ELF class: ELFCLASS32\n");
  EXPECT_THAT(Message(other), HasSubstr("wrong ELF class"));
  EXPECT_EQ(Remedy(other), "");
  for (const char* said :
       {"", "ERROR: ld.so: object 'x.so' from LD_PRELOAD cannot be preloaded: ignored.\n",
        "unknown option --list\n"}) {
    EXPECT_TRUE(LibrariesMissing("./train", said).ok()) << said;
  }
}

TEST(CheckSizeOfArgumentsTest, AcceptsWhatLinuxAccepts) {
  constexpr uint64_t kStack = 8 << 20;
  const std::string large(131'071, 'x');
  EXPECT_TRUE(CheckSizeOfArguments({"a", large}, {"A=1"}, kStack).ok());
  const Status argument = CheckSizeOfArguments({"a", large + "x"}, {}, kStack);
  EXPECT_EQ(Message(argument),
            "argument 1 of the program has 131,072 bytes; this node accepts 131,071");
  EXPECT_THAT(Message(CheckSizeOfArguments({"a"}, {"A=" + large}, kStack)),
              HasSubstr("the variable A has 131,073 bytes"));
  const std::vector<std::string> many(20, large);
  const Status all = CheckSizeOfArguments(many, {}, kStack);
  EXPECT_THAT(Message(all), HasSubstr("have 2,621,600 bytes; this node accepts 2,097,152"));
  EXPECT_THAT(Remedy(all), HasSubstr("ulimit -s"));
  EXPECT_TRUE(CheckSizeOfArguments(many, {}, UINT64_MAX).ok());
  EXPECT_FALSE(CheckSizeOfArguments({"a", large, "b"}, {}, 1).ok());  // 128 KiB at least
  EXPECT_TRUE(CheckSizeOfArguments({"a", std::string(100'000, 'x')}, {}, 1).ok());
}

TEST_F(ProgramCheckTest, AMissingProgramMayBeMisspelt) {
  folder_.Write("train.py", "");
  struct Case {
    std::string program, cause, hint;
  };
  const Case cases[] = {
      {"train.py", "'train.py' is not in PATH", "write python3 train.py"},
      {"./trian.py", "'./trian.py' does not exist", "do you mean python3 ./train.py?"},
      {"echo hi", "is quoted as one word", "-- echo hi"},
      {"echo hi.py", "is quoted as one word", "-- echo hi.py"},
      {"ehco hi.py", "is not in PATH", ""},
      {"source venv && echo", "is for a shell", "-- bash -c 'source venv && echo' runs"},
      {"echo hi | cat", "is for a shell", "-- bash -c 'echo hi | cat' runs"},
      {"cd", "is for a shell", "-- bash -c 'cd ...' runs"},
      {"no-such-program-at-all", "is not in PATH", ""},
  };
  for (const Case& one : cases) {
    const Status why = WhyNotFound(one.program, place_);
    EXPECT_EQ(why.code(), StatusCode::kNotFound);
    EXPECT_THAT(Message(why), HasSubstr(one.cause));
    EXPECT_THAT(Remedy(why), HasSubstr(one.hint));
  }
}

TEST_F(ProgramCheckTest, AUsualProgramMayBeMisspelt) {
  std::filesystem::create_directory(folder_.path() + "/bin");
  folder_.Write("bin/python3", "#!/bin/sh\n");
  std::filesystem::permissions(folder_.path() + "/bin/python3", std::filesystem::perms::owner_all);
  const ProgramPlace place{folder_.path() + "/bin", folder_.path()};
  for (const char* name : {"pyhton3", "pthon3", "python33"}) {
    const Status why = WhyNotFound(name, place);
    EXPECT_EQ(Message(why), "'" + std::string(name) + "' is not in PATH");
    EXPECT_EQ(Remedy(why), "do you mean python3?");
  }
  EXPECT_EQ(Remedy(WhyNotFound("python", place)), "");
  EXPECT_EQ(Remedy(WhyNotFound("mpirn", place)), "");  // mpirun is not there
}

TEST(ShebangTest, IsParsedLikeTheKernelDoes) {
  EXPECT_EQ(ShebangOf("echo").interpreter, "");
  EXPECT_EQ(ShebangOf("#! /bin/sh \n").interpreter, "/bin/sh");
  EXPECT_EQ(ShebangOf("#!/usr/bin/env -S a b\nc").argument, "-S a b");
  EXPECT_TRUE(ShebangOf("#!/bin/sh\r\n").carriage_return);
  EXPECT_FALSE(ShebangOf("#!/bin/sh\n\r\n").carriage_return);
}

TEST(ShebangTest, EnvRunsAnotherProgram) {
  EXPECT_EQ(ProgramOfEnv("python3"), "python3");
  EXPECT_EQ(ProgramOfEnv("-S FOO=1 python3 -u"), "python3");
  EXPECT_EQ(ProgramOfEnv("-Spython3 -u"), "python3");
  EXPECT_EQ(ProgramOfEnv("-i"), "");
  EXPECT_EQ(ProgramOfEnv("-S \"a b\""), "");
}

}  // namespace
}  // namespace autodist::process
