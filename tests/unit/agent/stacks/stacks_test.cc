// Uses real processes and the real gdb.
#include "agent/stacks/stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "agent/stacks/stack_programs.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "process/process_tree.h"
#include "process/spawn.h"
#include "support/limit.h"
#include "support/quiet_supervisor.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using base::Deadline;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::kLimit;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class StacksTest : public testing::Test {
 protected:
  StacksTest() { environment_.Set("PATH", "/usr/bin:/bin"); }
  ~StacksTest() override {
    if (pid_ > 0) {
      kill(-pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  // Starts it and waits until it writes the line "ready".
  void Start(const std::vector<std::string>& argv) {
    base::FdPair output = *base::Pipe();
    process::SpawnRequest request;
    request.argv = argv;
    request.environment = {"PATH=/usr/bin:/bin"};
    request.working_directory = "/";
    request.stdout_fd = output.second.get();
    const auto pid = process::Spawn(request);
    ASSERT_TRUE(pid.ok()) << pid.status();
    pid_ = *pid;
    output_ = std::move(output.first);
    EXPECT_EQ(Line(), "ready");
  }

  std::string Line() const {
    std::string line;
    for (char c = 0;;) {
      const auto got = base::ReadSome(output_.get(), &c, 1, Deadline::After(kLimit));
      if (!got.ok() || *got == 0 || c == '\n') return line;
      line += c;
    }
  }

  static void AwaitState(pid_t pid, const std::string& state) {
    const std::string status = "/proc/" + std::to_string(pid) + "/status";
    const Deadline deadline = Deadline::After(kLimit);
    while (base::ReadFile(status, 65536).value_or(state).find(state) == std::string::npos) {
      ASSERT_FALSE(deadline.Expired());
      std::this_thread::yield();
    }
  }

  // Installs a script that is found before the real programs.
  void Install(const std::string& name, const std::string& script) {
    ASSERT_EQ(chmod(folder_.Write(name, "#!/bin/sh\n" + script).c_str(), 0755), 0);
    environment_.Set("PATH", folder_.path() + ":/usr/bin:/bin");
  }

  // Installs a gdb that runs `script` for the process $pid.
  void InstallGdb(const std::string& script) {
    Install("gdb",
            "for word; do case $word in attach*) pid=${word#attach };; esac; done\n"
            "echo \"autodist: begin $pid\"\n" +
                script);
  }

  std::string Look(milliseconds program_limit = kLimit) {
    return ProcessStacks(pid_, *supervisor_, environment_, {.limit = program_limit});
  }

  const test::TempFolder folder_;
  process::Environment environment_;
  const std::unique_ptr<Supervisor> supervisor_ = test::QuietSupervisor();
  pid_t pid_ = 0;
  base::UniqueFd output_;
};

TEST_F(StacksTest, ShowsTheProcessesAndTheirFrames) {
  Start({"sh", "-c", "sleep 1000 & echo ready; wait"});
  AwaitState(pid_, "(sleeping)");
  AwaitState(process::Descendants(pid_).at(0), "(sleeping)");
  const std::string text = Look();
  EXPECT_THAT(text, HasSubstr("process " + std::to_string(pid_) +
                              " (sleeping): sh -c 'sleep 1000 & echo ready; wait'\n  child of " +
                              std::to_string(getpid()) + "\n  thread " + std::to_string(pid_) +
                              " (sh): sleeping"));
  EXPECT_THAT(text, ContainsRegex("\nprocess [0-9]+ \\(sleeping\\): sleep 1000\n"));
  EXPECT_THAT(text, ContainsRegex("\\(sleep\\): sleeping.*, system call [0-9]+\n"));
  EXPECT_THAT(text, ContainsRegex("user-space stacks by gdb:\n(    .*\n)*    .*#0 .* (in|at) "));
  EXPECT_THAT(text, Not(HasSubstr("no user-space")));
}

// Opening a FIFO waits for a writer, reading one waits for data.
TEST_F(StacksTest, NamesTheFileThatIsOpenedOrRead) {
  const std::string pipe = folder_.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const char* mode : {"<", "<>"}) {
    Start({"sh", "-c", "echo ready; read line " + std::string(mode) + pipe});
    AwaitState(pid_, "(sleeping)");
    EXPECT_THAT(Look(), ContainsRegex("system call [0-9]+\n    file: " + pipe +
                                      "\n    switched [0-9]+ times\n"));
    kill(-pid_, SIGKILL);
    waitpid(std::exchange(pid_, 0), nullptr, 0);
  }
}

// readline, as of Python's input(), selects the descriptor before it reads.
TEST_F(StacksTest, NamesTheInput) {
  for (const char* program :
       {"read line", "exec python3 -c 'import select as s; s.select([0], [], [])'",
        "exec python3 -c 'import select as s; p = s.poll(); p.register(0); p.poll()'"}) {
    Start({"sh", "-c", "echo ready; sleep 1000 | { " + std::string(program) + "; }"});
    const Deadline deadline = Deadline::After(kLimit);
    std::string text;
    while (text.find("    file: its input\n") == std::string::npos && !deadline.Expired()) {
      text = ProcessStacks(pid_, *supervisor_, environment_,
                           {.programs = v1::CollectStacks::PROGRAMS_NONE});
    }
    EXPECT_THAT(text, HasSubstr("    file: its input\n")) << program;
    kill(-pid_, SIGKILL);
    waitpid(std::exchange(pid_, 0), nullptr, 0);
  }
}

TEST_F(StacksTest, ShowsEveryThreadOfAPython) {
  Start({"/usr/bin/python3", "-c",
         "import threading, time\n"
         "threading.Thread(target=time.sleep, args=(1000,)).start()\n"
         "print('ready', flush=True)\n"
         "time.sleep(1000)"});
  const std::string text = Look();
  EXPECT_THAT(text, HasSubstr("): /usr/bin/python3 -c 'import threading, time\\nthreading."));
  EXPECT_THAT(text, ContainsRegex("\\(python3\\): .*\n(    .*\n)*  thread [0-9]+ \\(python3\\)"));
  EXPECT_THAT(text, AllOf(HasSubstr("Thread 1 ("), HasSubstr("Thread 2 (")));
}

TEST_F(StacksTest, PySpyHandlesPythonAndGdbTheRest) {
  Install("py-spy", "echo \"asked: $*\"; echo 'Thread 1 (idle): \"MainThread\"'");
  InstallGdb("echo \"asked: $*\"; printf '\\033[31m'; [ -z \"$PYTHONHOME\" ]");
  environment_.Set("PYTHONHOME", "/nowhere");
  Start({"/usr/bin/python3", "-c",
         "import subprocess\nsubprocess.run(['sh', '-c', 'echo ready; sleep 1000; :'])"});
  const std::string text = Look();
  EXPECT_THAT(text,
              HasSubstr("user-space stacks by py-spy:\n    asked: dump --full-filenames --pid " +
                        std::to_string(pid_) + "\n"));
  EXPECT_THAT(text,
              ContainsRegex("user-space stacks by gdb:\n    asked: -batch -nx .* -ex attach [0-9]+ "
                            "-ex thread apply all bt .*\n    \\\\x1b\\[31m\n"));
  EXPECT_THAT(text, Not(HasSubstr("ended with")));
}

TEST_F(StacksTest, GdbIsUsedForAPythonThatPySpyCannotRead) {
  Install("py-spy", "echo 'no Python' >&2; exit 1");
  InstallGdb("echo '#0  main ()'");
  Start({"/usr/bin/python3", "-c", "import time\nprint('ready', flush=True)\ntime.sleep(1000)"});
  const std::string text = Look();
  EXPECT_THAT(text, HasSubstr("user-space stacks by gdb:\n    #0  main ()\n"));
  EXPECT_THAT(text, HasSubstr("  no user-space stacks of Python: py-spy ended with status 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("stacks by py-spy:")));
}

TEST_F(StacksTest, RetransmissionsAreCountedAsOfTheGivenTime) {
  Start({"python3", "-c",
         "import os, socket, time; s = socket.socket(); print('ready'); "
         "print(os.fstat(s.fileno()).st_ino, flush=True); time.sleep(1000)"});
  const uint64_t socket = std::stoull(Line());
  SocketTraffic sent;
  sent.peer = "10.0.0.3";
  sent.sent = 170;
  sent.sent_again = 4;
  sent.unanswered = 2;
  const TcpTraffic earlier = {{socket, sent}};
  const auto as_of = [&](const TcpTraffic* counted) {
    return ProcessStacks(pid_, *supervisor_, environment_,
                         {.programs = v1::CollectStacks::PROGRAMS_NONE, .counted = counted});
  };
  EXPECT_THAT(as_of(&earlier),
              HasSubstr("\n  sent again to 10.0.0.3: 4 of 170 segments, unanswered 2\n"));
  EXPECT_THAT(as_of(nullptr), Not(HasSubstr("sent again")));
}

TEST_F(StacksTest, WithoutProgramsOnlyTheKernelIsAsked) {
  Install("py-spy", "echo 'Thread 1 (idle)'");
  InstallGdb("echo '#0  main ()'");
  Start({"sh", "-c", "echo ready; sleep 1000; :"});
  const auto by = [&](v1::CollectStacks::Programs programs) {
    return ProcessStacks(pid_, *supervisor_, environment_, {.programs = programs});
  };
  EXPECT_THAT(by(v1::CollectStacks::PROGRAMS_UNSPECIFIED),
              AllOf(HasSubstr("stacks by gdb"), Not(HasSubstr("\n  stack: "))));
  EXPECT_THAT(by(v1::CollectStacks::PROGRAMS_QUICK),
              HasSubstr("  no user-space stacks: gdb was not requested\n"));
  EXPECT_THAT(by(v1::CollectStacks::PROGRAMS_NONE),
              AllOf(testing::StartsWith("no user-space stacks: none were requested\n"),
                    HasSubstr("\n  thread "), ContainsRegex("\n  stack: [0-9]+ bytes deep, at ")));
}

// A program that shows another process's stacks may take long.
TEST_F(StacksTest, TheDepthOfAStackIsThatOfTheShownState) {
  const std::string pipe = folder_.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  Install("py-spy", "parent=$(sed -n 's/^PPid:[[:space:]]*//p' \"/proc/$4/status\")\necho > " +
                        pipe +
                        "\nuntil grep -q '^State:.R' \"/proc/$parent/status\"; do :; done\n"
                        "echo 'Thread 1 (idle): \"MainThread\"'");
  Start({"sh", "-c",
         "python3 -c 'import time; print(\"ready\", flush=True); time.sleep(1000)' &\n"
         "read line < " +
             pipe + "\nwhile :; do :; done"});
  AwaitState(pid_, "(sleeping)");
  const std::string text = ProcessStacks(pid_, *supervisor_, environment_,
                                         {.programs = v1::CollectStacks::PROGRAMS_QUICK});
  EXPECT_THAT(text, HasSubstr(" (sleeping): sh -c"));
  EXPECT_THAT(text,
              ContainsRegex("\n  stack: [0-9]+ bytes deep, at [^\n]*\n  no user-space stacks: "
                            "gdb was not requested\n"));
}

// Such as a worker of a data loader, unless its parent only waits for it.
TEST_F(StacksTest, TheDepthOfAForkedChildIsNotShown) {
  const auto count = [](const std::string& text, const std::string& part) {
    int found = 0;
    for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  for (const auto& [waits, expected] : {std::pair("time.sleep(1000)", 1), {"os.wait()", 2}}) {
    Start({"python3", "-c",
           "import os, time\nif os.fork() == 0: time.sleep(1000)\nprint('ready', flush=True)\n" +
               std::string(waits)});
    const Deadline deadline = Deadline::After(kLimit);
    std::string text;
    do {
      text = ProcessStacks(pid_, *supervisor_, environment_,
                           {.programs = v1::CollectStacks::PROGRAMS_NONE});
    } while ((count(text, ", system call ") != 2 || count(text, "\n  stack: ") != expected) &&
             !deadline.Expired());
    EXPECT_EQ(count(text, "\n  stack: "), expected) << waits << "\n" << text;
    kill(-pid_, SIGKILL);
    waitpid(std::exchange(pid_, 0), nullptr, 0);
  }
}

TEST_F(StacksTest, AStoppedProcessStaysStopped) {
  Start({"sh", "-c", "echo ready; while :; do :; done"});
  kill(pid_, SIGSTOP);
  ASSERT_EQ(waitpid(pid_, nullptr, WUNTRACED), pid_);
  EXPECT_THAT(Look(), AllOf(HasSubstr(" (stopped): sh -c"), HasSubstr("#0 ")));
  EXPECT_THAT(Look(milliseconds(1)),
              HasSubstr("  no user-space stacks: gdb did not end within 0 s; py-spy"));
  // The kernel stops the process again some time after the gdb that held it was killed.
  const base::Deadline limit = base::Deadline::After(test::kLimit);
  std::string text = Look();
  while (!limit.Expired() && text.find(" (stopped): sh -c") == std::string::npos) text = Look();
  EXPECT_THAT(text, HasSubstr(" (stopped): sh -c"));
}

TEST_F(StacksTest, AProcessHeldByGdbAtItsTimeLimitRunsOn) {
  Install(
      "gdb",
      "for word; do shift; [ \"$word\" != detach ] || word='shell echo attached >&2; sleep 1000'\n"
      "set -- \"$@\" \"$word\"; done; exec /usr/bin/gdb \"$@\"");
  Start({"sh", "-c", "echo ready; while :; do echo tick; done"});
  EXPECT_THAT(Look(seconds(10)),
              AllOf(HasSubstr("  no user-space stacks: gdb did not end within 10 s"),
                    HasSubstr("attached")));
  // More ticks than a pipe buffers.
  for (int i = 0; i < 50'000; ++i) ASSERT_EQ(Line(), "tick");
}

TEST_F(StacksTest, AProcessThatWasLeftStoppedIsContinued) {
  InstallGdb("kill -STOP $pid; exit 1");
  Start({"sh", "-c", "echo ready; while :; do echo tick; done"});
  EXPECT_THAT(Look(), HasSubstr("  no user-space stacks: gdb ended with status 1"));
  for (int i = 0; i < 50'000; ++i) ASSERT_EQ(Line(), "tick");
}

TEST_F(StacksTest, LongOutputIsTruncated) {
  InstallGdb("yes stack | head -c 1000000");
  Start({"sh", "-c", "echo ready; sleep 1000; :"});
  const std::string text = Look();
  EXPECT_THAT(text, HasSubstr(" (cut here)\n"));
  EXPECT_LT(text.size(), 2'000'000u);
}

TEST_F(StacksTest, ReportsMissingTools) {
  environment_.Set("PATH", folder_.path());
  Start({"sh", "-c", "echo ready; sleep 1000"});
  EXPECT_THAT(Look(), AllOf(testing::StartsWith("no user-space stacks: neither py-spy (pip install "
                                                "py-spy) nor gdb is installed on this node\n"),
                            HasSubstr("\n  thread ")));
  Install("py-spy", "");
  environment_.Set("PATH", folder_.path());
  EXPECT_THAT(Look(), HasSubstr("  no user-space stacks: gdb is not installed\n"));
}

TEST_F(StacksTest, AnEndedProcessIsNoError) {
  Start({"sh", "-c", "echo ready & exec sleep 1000"});
  AwaitState(process::Descendants(pid_).at(0), "(zombie)");
  EXPECT_THAT(
      Look(),
      ContainsRegex(
          "\nprocess [0-9]+ \\(zombie\\): \\[sh\\]\n  child of [0-9]+\n  thread [^\n]*\n$"));
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);  // or the supervisor does, which reaps all our children
  EXPECT_EQ(Look(), "process " + std::to_string(pid_) + " has ended\n");
}

TEST_F(StacksTest, AProcessThatEndsMeanwhileIsMarked) {
  InstallGdb(
      "kill -KILL $pid; while [ -e /proc/$pid ] && ! grep -q 'State:.Z' /proc/$pid/status; do :; "
      "done");
  Start({"sh", "-c", "echo ready; exec sleep 1000"});
  EXPECT_THAT(Look(), testing::EndsWith("\n  has ended meanwhile\n"));
}

// A gdb that fails after it has announced itself to the test and has waited for the answer.
class SuspendedStacksTest : public StacksTest {
 protected:
  SuspendedStacksTest() {
    for (const char* name : {"asks", "answers"}) {
      EXPECT_EQ(mkfifo((folder_.path() + "/" + name).c_str(), 0600), 0);
    }
    InstallGdb("echo > " + folder_.path() + "/asks; read x < " + folder_.path() +
               "/answers; exit 1");
    RankCommand rank;
    rank.spawn.argv = {"/bin/sh", "-c", "while :; do :; done"};
    rank.spawn.working_directory = "/";
    supervisor_->Start({rank}, SIGTERM);
    const Deadline deadline = Deadline::After(kLimit);
    while (supervisor_->RunningRanks().empty() && !deadline.Expired()) std::this_thread::yield();
    rank_ = supervisor_->RunningRanks().at(0);
    AwaitState(rank_, "(running)");
  }

  // Signals the rank while gdb runs.
  void LookAndSignal(int signal, const std::string& state) {
    std::thread look([&] { ProcessStacks(rank_, *supervisor_, environment_, {.limit = kLimit}); });
    EXPECT_EQ(*base::ReadFile(folder_.path() + "/asks", 1), "\n");
    supervisor_->Signal(signal);
    AwaitState(rank_, state);
    folder_.Write("answers", "\n");
    look.join();
    AwaitState(rank_, state);
  }

  pid_t rank_ = 0;
};

TEST_F(SuspendedStacksTest, ARankThatIsSuspendedMeanwhileStaysSuspended) {
  LookAndSignal(SIGTSTP, "(stopped)");
}

TEST_F(SuspendedStacksTest, ARankThatIsContinuedMeanwhileRunsOn) {
  supervisor_->Signal(SIGTSTP);
  AwaitState(rank_, "(stopped)");
  LookAndSignal(SIGCONT, "(running)");
}

TEST_F(StacksTest, AnotherProcessWithThePidIsNotSignalled) {
  InstallGdb("kill -STOP $pid; exit 1");
  Start({"sh", "-c", "echo ready; while :; do :; done"});
  StackPrograms programs(*supervisor_, environment_, {.limit = kLimit});
  programs.StacksOf({{.pid = pid_, .started = StartTime(pid_) + 1}});
  AwaitState(pid_, "(stopped)");
  programs.StacksOf({{.pid = pid_, .started = StartTime(pid_)}});
  AwaitState(pid_, "(running)");
}

}  // namespace
}  // namespace autodist::agent
