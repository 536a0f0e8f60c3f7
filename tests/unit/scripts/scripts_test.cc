#include "scripts/scripts.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "base/shell_quote.h"

namespace autodist::scripts {
namespace {

TEST(ScriptsTest, AFileBecomesOneLine) {
  EXPECT_EQ(OneLine("# what it is\n\nif true; then\n  # why\n  echo '#';\nfi\n"),
            "if true; then echo '#'; fi");
}

// Shells before bash 5.1 write a here-document, which may contain a key, to a file in /tmp.
TEST(ScriptsTest, NoneHasAHereDocument) {
  for (const std::string_view name : {"start_agent", "own_folder", "install_program",
                                      "connect_back", "clean", "clean_step", "run_on_node"}) {
    EXPECT_EQ(Script({name}).find("<<"), std::string::npos) << name;
  }
}

// Slurm may signal the shell alone, which must not end before the agent.
TEST(ScriptsTest, ConnectBackPassesKeyAndSignalOnAndEndsWithTheAgent) {
  std::string folder = "/tmp/scripts_test.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string agent = folder + "/agent";
  std::ofstream(agent) << R"(#!/bin/sh
    read key
    trap 'received=TERM' TERM
    kill -TERM $PPID
    i=0
    until [ "$received" ] || [ $i = 500 ]; do sleep 0.01; i=$((i + 1)); done
    echo "$key $* $received"
    exit 3
)";
  std::filesystem::permissions(agent, std::filesystem::perms::owner_all);
  const std::string script = Script({"connect_back"}) + " l=KEY; run 60 7 h; echo continued";
  const std::string command = "cd " + folder +
                              " && f=agent o=022 w=5 SLURMD_NODENAME=n "
                              "SLURM_LAUNCH_NODE_IPADDR=10.0.0.9 sh -c " +
                              base::ShellQuote(script);
  FILE* const output = popen(command.c_str(), "r");
  ASSERT_NE(output, nullptr);
  std::array<char, 200> printed{};
  (void)!fread(printed.data(), 1, printed.size() - 1, output);
  EXPECT_EQ(WEXITSTATUS(pclose(output)), 3);
  EXPECT_STREQ(printed.data(), "KEY connect-back n 60 10.0.0.9:7 h TERM\n");
  std::filesystem::remove_all(folder);
}

// Minimal images have a shell alone.
TEST(ScriptsTest, MissingProgramsAreNamed) {
  std::string folder = "/tmp/scripts_test.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto output_of_start = [&folder] {
    const std::string script = Script({"start_agent", "own_folder", "install_program"});
    const std::string command = "PATH=" + folder + " HOME=" + folder + " /bin/sh -c " +
                                base::ShellQuote(script) + " sh NONCE 5 agent f - 2>&1";
    FILE* const output = popen(command.c_str(), "r");
    EXPECT_NE(output, nullptr);
    std::array<char, 500> printed{};
    (void)!fread(printed.data(), 1, printed.size() - 1, output);
    EXPECT_EQ(WEXITSTATUS(pclose(output)), 1);
    return std::string(printed.data());
  };
  EXPECT_EQ(output_of_start(),
            "\nAUTODIST-SHELL NONCE\n"
            "not in PATH: uname, id, ls, wc, mkdir, rm, mv, chmod, head, timeout, sleep\n"
            "hint: install them there (coreutils or busybox), also in a container image\n");
  for (const char* name :
       {"uname", "id", "ls", "mkdir", "rm", "mv", "chmod", "head", "timeout", "sleep"}) {
    const std::string program = folder + "/" + name;
    std::ofstream(program) << "#!/bin/sh\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  EXPECT_NE(output_of_start().find("not in PATH: wc\n"), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(ScriptsTest, AnInstalledProgramNeedsFewOthers) {
  std::string folder = "/tmp/scripts_test.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string place = folder + "/.cache/autodist/agent/VERSION";
  ASSERT_EQ(std::system(("umask 077; mkdir -p " + place).c_str()), 0);
  for (const std::string& program : {place + "/f", folder + "/uname", folder + "/sleep"}) {
    std::ofstream(program) << "#!/bin/sh\necho MACHINE\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  for (const char* name : {"id", "ls", "wc"}) {
    const std::string links = "ln -s $(command -v " + std::string(name) + ") " + folder;
    ASSERT_EQ(std::system(links.c_str()), 0);
  }
  const std::string script = Script({"start_agent", "own_folder", "install_program"});
  const std::string size = std::to_string(std::filesystem::file_size(place + "/f"));
  const std::string command = "PATH=" + folder + " HOME=" + folder + " /bin/sh -c " +
                              base::ShellQuote(script) +
                              " sh NONCE 5 agent f MACHINE VERSION 1 1 " + size + " - 2>&1";
  FILE* const output = popen(command.c_str(), "r");
  ASSERT_NE(output, nullptr);
  std::array<char, 500> printed{};
  (void)!fread(printed.data(), 1, printed.size() - 1, output);
  EXPECT_EQ(pclose(output), 0);
  EXPECT_STREQ(printed.data(), "\nAUTODIST-SHELL NONCE\nMACHINE\n");
  std::filesystem::remove_all(folder);
}

TEST(ScriptsTest, TheFolderAboveTheProgramThatOthersCanChangeIsNamed) {
  std::string folder = "/tmp/scripts_test.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  // The folder in /tmp cannot be made.
  for (const char* text : {"uname:echo MACHINE", "id:echo none/none"}) {
    const std::string_view line = text;
    const std::string program = folder + "/" + std::string(line.substr(0, line.find(':')));
    std::ofstream(program) << "#!/bin/sh\n" << line.substr(line.find(':') + 1) << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  const std::string script = Script({"start_agent", "own_folder", "install_program"});
  const std::string command = "PATH=" + folder + ":$PATH HOME=" + folder + " /bin/sh -c " +
                              base::ShellQuote(script) +
                              " sh NONCE 5 agent f MACHINE VERSION 1 1 1 - 2>&1";
  for (const char* open : {"/.cache", "/.cache/autodist", "/.cache/autodist/agent",
                           "/.cache/autodist/agent/VERSION"}) {
    ASSERT_EQ(std::system(("umask 077; mkdir -p " + folder + open).c_str()), 0);
    std::filesystem::permissions(folder + open, std::filesystem::perms::all);
    FILE* const output = popen(command.c_str(), "r");
    ASSERT_NE(output, nullptr);
    std::array<char, 1000> printed{};
    (void)!fread(printed.data(), 1, printed.size() - 1, output);
    EXPECT_EQ(WEXITSTATUS(pclose(output)), 1);
    const std::string said = printed.data();
    EXPECT_NE(said.find("\n" + folder + open + ": not used: another user"), said.npos) << said;
    EXPECT_TRUE(said.ends_with(std::string("\nhint: chmod go-w ~") + open + "\n")) << said;
    std::filesystem::remove_all(folder + "/.cache");
  }
  std::filesystem::remove_all(folder);
}

// A shell can parse each as one line, alone and after the others.
TEST(ScriptsTest, AllAreShellPrograms) {
  for (const auto& names :
       {std::initializer_list<std::string_view>{"start_agent", "own_folder", "install_program"},
        {"connect_back", "own_folder", "install_program"},
        {"own_folder", "clean"},
        {"own_folder", "clean_step"},
        {"own_folder", "run_on_node"},
        {"devices"},
        {"device_ips"},
        {"agent_is_there"},
        {"until_agent_ends"},
        {"in_made_container"}}) {
    const std::string command = "sh -n -c " + base::ShellQuote(Script(names));
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
}

// Returns the first arguments of the container runtime, when the script runs `agent ARGUMENTS` in a
// container that does not exist.
std::string RuntimeCalls(const std::string& arguments) {
  std::string folder = "/tmp/scripts_test.XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  const std::string runtime = folder + "/runtime";
  std::ofstream(runtime) << "#!/bin/sh\necho \"$1\" >>" << folder << "/calls\n[ \"$1\" = run ]\n";
  std::filesystem::permissions(runtime, std::filesystem::perms::owner_all);
  const std::string command = "sh -c " + base::ShellQuote(Script({"in_made_container"})) + " sh " +
                              runtime + " box image /tmp '' main test agent attach " + arguments;
  EXPECT_NE(std::system(command.c_str()), 0) << command;  // no container, so no agent
  std::stringstream calls;
  calls << std::ifstream(folder + "/calls").rdbuf();
  std::filesystem::remove_all(folder);
  return calls.str();
}

TEST(ScriptsTest, AStartCreatesTheContainer) {
  EXPECT_EQ(RuntimeCalls("job 0 key 60000 30000 start"), "container\nrun\nexec\nexec\n");
}

// A node whose container is gone is lost: a new container would have no agent.
TEST(ScriptsTest, AResumeCreatesNoContainer) {
  EXPECT_EQ(RuntimeCalls("job 0 key 60000 30000 resume"), "exec\nexec\n");
  EXPECT_EQ(RuntimeCalls("job 0 key 60000 30000 resume boot:4026531836"), "exec\nexec\n");
}

// Returns the exit code of agent_is_there if a process with this name were the only one: agents of
// other tests may run.
int AgentIsThere(const std::string& name) {
  std::string folder = "/tmp/scripts_test.XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  const std::string program = folder + "/" + name;
  std::filesystem::copy("/bin/sleep", program);
  const char* const argv[] = {program.c_str(), "100", nullptr};
  pid_t pid = -1;  // posix_spawn returns when the process has its name
  EXPECT_EQ(posix_spawn(&pid, program.c_str(), nullptr, nullptr, const_cast<char**>(argv), environ),
            0);
  std::string script = Script({"agent_is_there"});
  constexpr std::string_view kAnyProcess = "/proc/[0-9]*/";
  script.replace(script.find(kAnyProcess), kAnyProcess.size(),
                 "/proc/" + std::to_string(pid) + "/");
  const int status = std::system(("sh -c " + base::ShellQuote(script)).c_str());
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  std::filesystem::remove_all(folder);
  return WEXITSTATUS(status);
}

TEST(ScriptsTest, OnlyAgentAndWatchdogKeepAContainer) {
  EXPECT_EQ(AgentIsThere("autodist-agent"), 0);
  EXPECT_EQ(AgentIsThere("autodist-guard"), 0);
  EXPECT_EQ(AgentIsThere("autodist-agent.c0ffee"), 3);         // the agent while it is unpacked
  EXPECT_EQ(AgentIsThere("autodist-agent.c0ffee.packed"), 3);  // the unpacker
}

}  // namespace
}  // namespace autodist::scripts
