#include "process/spawn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <thread>

#include "base/fd.h"
#include "support/temp_folder.h"

namespace autodist::process {
namespace {

using testing::HasSubstr;

struct Ended {
  std::string output;
  int wait_status = 0;
};

Ended RunToEnd(SpawnRequest request) {
  auto pipe = base::Pipe();
  request.stdout_fd = pipe->second.get();
  request.stderr_fd = pipe->second.get();
  if (request.working_directory.empty()) request.working_directory = "/";
  Ended ended;
  const auto pid = Spawn(request);
  EXPECT_TRUE(pid.ok()) << pid.status();
  if (!pid.ok()) return ended;
  pipe->second.Reset();
  char buffer[4096];
  for (;;) {
    const auto got =
        base::ReadSome(pipe->first.get(), buffer, sizeof buffer, base::Deadline::Never());
    if (!got.ok() || *got == 0) break;
    ended.output.append(buffer, *got);
  }
  waitpid(*pid, &ended.wait_status, 0);
  return ended;
}

SpawnRequest Command(std::vector<std::string> argv) {
  SpawnRequest request;
  request.argv = std::move(argv);
  request.environment = {"PATH=/usr/bin:/bin"};
  request.working_directory = "/";
  return request;
}

TEST(SpawnTest, ArgumentsArriveUnchanged) {
  const Ended ended = RunToEnd(
      Command({"printf", "[%s]", "two words", "", "$HOME", "*", "a\nb", "'\"", "ü€", "`id`"}));
  EXPECT_EQ(ended.output, "[two words][][$HOME][*][a\nb]['\"][ü€][`id`]");
}

TEST(SpawnTest, TheEnvironmentIsExactlyTheGivenOne) {
  SpawnRequest request = Command({"env"});
  request.environment = {"PATH=/usr/bin", "X=1"};
  EXPECT_EQ(RunToEnd(request).output, "PATH=/usr/bin\nX=1\n");
}

TEST(SpawnTest, WithoutAPathTheSystemsDefaultIsSearched) {
  SpawnRequest request = Command({"env"});
  request.environment = {"X=1"};
  EXPECT_EQ(RunToEnd(request).output, "X=1\n");
}

TEST(SpawnTest, RunsInTheWorkingDirectory) {
  const test::TempFolder folder;
  folder.Write("here", "content");
  SpawnRequest request = Command({"cat", "here"});
  request.working_directory = folder.path();
  EXPECT_EQ(RunToEnd(request).output, "content");
}

TEST(SpawnTest, RunsAScriptWithoutAnInterpreterLineWithTheShell) {
  const test::TempFolder folder;
  const std::string script = folder.Write("script", "echo \"$0 $1\"\n");
  chmod(script.c_str(), 0700);
  EXPECT_EQ(RunToEnd(Command({script, "a b"})).output, script + " a b\n");
}

TEST(SpawnTest, ReportsWhyAProgramCannotBeExecuted) {
  EXPECT_EQ(Spawn(Command({"no-such-program"})).status().code(), StatusCode::kNotFound);
  const test::TempFolder folder;
  const std::string plain = folder.Write("plain", "x");
  EXPECT_EQ(Spawn(Command({plain})).status().code(), StatusCode::kPermissionDenied);
  const std::string script = folder.Write("script", "#!/no/such/interpreter\n");
  chmod(script.c_str(), 0700);
  EXPECT_EQ(Spawn(Command({script})).status().code(), StatusCode::kNotFound);
  SpawnRequest request = Command({"true"});
  request.working_directory = folder.path() + "/none";
  EXPECT_THAT(Message(Spawn(request).status()), HasSubstr("/none: No such file or directory"));
}

TEST(SpawnTest, InheritsNoDescriptorsAndHasANewProcessGroup) {
  const Ended ended = RunToEnd(
      Command({"sh", "-c",
               "ls /proc/self/fd | tr '\\n' ' '; [ $(ps -o pgid= -p $$) = $$ ] && echo leader"}));
  EXPECT_EQ(ended.output, "0 1 2 3 leader\n");  // 3 is opened by ls itself
}

TEST(SpawnTest, MayShareOurProcessGroupAndReadGivenInput) {
  auto input = base::Pipe();
  EXPECT_TRUE(base::WriteAll(input->second.get(), "given", base::Deadline::Never()).ok());
  input->second.Reset();
  SpawnRequest request = Command({"sh", "-c", "cat; ps -o pgid= -p $$ | tr -d ' '"});
  request.stdin_fd = input->first.get();
  request.own_process_group = false;
  EXPECT_EQ(RunToEnd(request).output, "given" + std::to_string(getpgrp()) + "\n");
}

TEST(SpawnTest, MayHaveANewSession) {
  SpawnRequest request = Command({"sh", "-c", "[ $(ps -o sid= -p $$) = $$ ] && echo leader"});
  request.own_session = true;
  EXPECT_EQ(RunToEnd(request).output, "leader\n");
}

TEST(SpawnTest, MayOutliveTheThreadThatStartsIt) {
  auto input = base::Pipe();
  auto output = base::Pipe();
  SpawnRequest request = Command({"cat"});
  request.stdin_fd = input->first.get();
  request.stdout_fd = output->second.get();
  request.dies_with_thread = false;
  pid_t pid = -1;
  std::thread([&] { pid = Spawn(request).value_or(-1); }).join();
  output->second.Reset();
  EXPECT_TRUE(base::WriteAll(input->second.get(), "x", base::Deadline::Never()).ok());
  char byte = 0;
  EXPECT_EQ(read(output->first.get(), &byte, 1), 1);
  input->second.Reset();
  int status = -1;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status));
}

TEST(SpawnTest, SignalsHaveTheirDefaultEffect) {
  signal(SIGPIPE, SIG_IGN);
  const Ended ended = RunToEnd(Command({"sh", "-c", "kill -PIPE $$"}));
  EXPECT_TRUE(WIFSIGNALED(ended.wait_status));
}

TEST(SpawnTest, SignalsUsedByGlibcHaveTheirDefaultEffectToo) {
  // Its posix_spawn leaves them like this, and its sigaction() cannot change them.
  const std::array<unsigned long, 4> ignore = {1};
  ASSERT_EQ(syscall(SYS_rt_sigaction, 32, ignore.data(), nullptr, sizeof(uint64_t)), 0);
  EXPECT_EQ(RunToEnd(Command({"grep", "SigIgn", "/proc/self/status"})).output,
            "SigIgn:\t0000000000000000\n");
}

TEST(SpawnTest, RunsOnlyOnTheGivenCpus) {
  cpu_set_t ours;
  ASSERT_EQ(sched_getaffinity(0, sizeof ours, &ours), 0);
  uint32_t last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &ours)) --last;
  SpawnRequest request = Command({"sed", "-n", "s/^Cpus_allowed_list:\t//p", "/proc/self/status"});
  const std::string all = RunToEnd(request).output;
  request.cpus = {last};
  EXPECT_EQ(RunToEnd(request).output, std::to_string(last) + "\n");
  request.cpus = {last, 5000};  // the kernel ignores CPUs that do not exist
  EXPECT_EQ(RunToEnd(request).output, std::to_string(last) + "\n");
  request.cpus = {5000};
  EXPECT_EQ(RunToEnd(request).output, all);
  cpu_set_t still;
  ASSERT_EQ(sched_getaffinity(0, sizeof still, &still), 0);
  EXPECT_TRUE(CPU_EQUAL(&ours, &still));
}

TEST(SpawnTest, DiesWithTheThreadThatStartedIt) {
  auto pipe = base::Pipe();
  pid_t pid = 0;
  std::thread starter([&] {
    SpawnRequest request = Command({"sleep", "1000"});
    request.stdout_fd = pipe->second.get();
    const auto started = Spawn(request);
    ASSERT_TRUE(started.ok());
    pid = *started;
  });
  starter.join();
  int wait_status = 0;
  ASSERT_EQ(waitpid(pid, &wait_status, 0), pid);
  EXPECT_EQ(WTERMSIG(wait_status), SIGKILL);
}

TEST(FindProgramTest, SearchesLikeExec) {
  const test::TempFolder folder;
  const std::string tool = folder.Write("tool", "#!/bin/sh\n");
  folder.Write("plain", "");
  chmod(tool.c_str(), 0700);
  EXPECT_EQ(*FindProgram("tool", "/none:" + folder.path(), "/"), tool);
  EXPECT_EQ(*FindProgram("./tool", "", folder.path()), folder.path() + "/./tool");
  // an empty PATH means the current folder
  EXPECT_EQ(*FindProgram("tool", "", folder.path()), tool);
  EXPECT_EQ(FindProgram("tool", "/none", "/").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(FindProgram("plain", folder.path(), "/").status().code(),
            StatusCode::kPermissionDenied);
  EXPECT_EQ(FindProgram("/", "", "/").status().code(), StatusCode::kPermissionDenied);
}

TEST(SpawnTest, TheFileLimitIsTheOriginalOne) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit lower = before;
  lower.rlim_cur = 123;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &lower), 0);
  RaiseFileLimit();
  RaiseFileLimit();  // again, by another part of the program
  rlimit raised{};
  getrlimit(RLIMIT_NOFILE, &raised);
  EXPECT_EQ(raised.rlim_cur, before.rlim_max);
  EXPECT_EQ(RunToEnd(OurProgram({"sh", "-c", "ulimit -S -n"})).output, "123\n");
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace autodist::process
