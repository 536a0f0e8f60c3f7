#include "agent/prepare/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "agent/prepare/local_checkpoint.h"
#include "support/quiet_supervisor.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using process::Environment;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

class PrepareTest : public testing::Test {
 protected:
  void SetUp() override {
    request_.set_working_directory(folder_.path());
    request_.mutable_node()->set_data_address("127.0.0.1");
    request_.mutable_node()->add_ranks()->add_argv("true");
    node().add_environment()->mutable_clean_login();
    agent_.Set("HOME", folder_.path());
    agent_.Set("FROM_AGENT", "1");
  }

  v1::NodePlan& node() { return *request_.mutable_node(); }
  void Share(const std::string& name, const std::string& value) { Set(name).set_expanded(value); }
  void Activate(const std::string& statements) {
    node().clear_environment();
    node().add_environment()->mutable_clean_login();
    node().add_environment()->set_activate(statements);
  }
  v1::SetVariable& Set(const std::string& name) {
    v1::SetVariable& variable = *node().add_environment()->mutable_set();
    variable.set_name(name);
    return variable;
  }
  PreparedNode Prepare() {
    return PrepareNode(request_, agent_, {"/socket", folder_.path() + "/files", "/the/agent"},
                       state_, *supervisor_, limit_);
  }

  std::vector<std::string> ReadyEnvironment() {
    const PreparedNode prepared = Prepare();
    EXPECT_TRUE(prepared.issues.empty())
        << (prepared.issues.empty() ? "" : prepared.issues[0].cause());
    return prepared.ranks.empty() ? std::vector<std::string>()
                                  : prepared.ranks[0].spawn.environment;
  }
  std::string OnlyIssue(v1::PrepareIssueKind kind) {
    const PreparedNode prepared = Prepare();
    EXPECT_EQ(prepared.issues.size(), 1u);
    if (prepared.issues.empty()) return "";
    EXPECT_EQ(prepared.issues[0].kind(), kind);
    EXPECT_NE(prepared.issues[0].remedy(), "");
    return prepared.issues[0].cause();
  }

  const test::TempFolder folder_;
  Environment agent_;
  v1::PrepareRequest request_;
  std::chrono::milliseconds limit_{60'000};
  PrepareState state_;
  const std::unique_ptr<Supervisor> supervisor_ = test::QuietSupervisor();
};

TEST_F(PrepareTest, FilesAreWrittenAndTheirPathsReported) {
  v1::PlannedFile& file = *node().add_files();
  file.set_name("table.json");
  file.set_content("{}");
  Set("TABLE").set_on_node("{files}/table.json");
  EXPECT_THAT(ReadyEnvironment(), Contains("TABLE=" + folder_.path() + "/files/table.json"));
  EXPECT_EQ(folder_.Read("files/table.json"), "{}");
  for (const char* name : {"../table.json", "", ".", "/tmp/x"}) {
    file.set_name(name);
    EXPECT_THAT(OnlyIssue(v1::PREPARE_ISSUE_KIND_UNSPECIFIED), HasSubstr("is no name for a file"));
  }
}

TEST_F(PrepareTest, AnIssueWithTheFolderOfFilesHasARemedyForItsCause) {
  node().add_files()->set_name("table.json");
  ASSERT_EQ(mkdir((folder_.path() + "/files").c_str(), 0755), 0);
  const PreparedNode prepared = Prepare();
  ASSERT_EQ(prepared.issues.size(), 1u);
  EXPECT_THAT(prepared.issues[0].cause(), HasSubstr("is not a private folder"));
  EXPECT_EQ(prepared.issues[0].remedy(), "remove it");
}

TEST_F(PrepareTest, TheAgentsOwnProgramMayBeRun) {
  v1::RankPlan& own = *node().add_ranks();
  own.set_by_agent(true);
  own.add_argv("serve");
  Set("SHELL_OF_MPIRUN").set_on_node("{agent} remote-shell");
  EXPECT_THAT(ReadyEnvironment(), Contains("SHELL_OF_MPIRUN=/the/agent remote-shell"));
  EXPECT_THAT(Prepare().ranks.at(1).spawn.argv, testing::ElementsAre("/the/agent", "serve"));
}

TEST_F(PrepareTest, EveryProgramIsLookedUp) {
  node().add_ranks()->add_argv("no-such-program");
  node().add_ranks()->add_argv("no-such-program");
  EXPECT_THAT(OnlyIssue(v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND), HasSubstr("no-such-program"));
}

TEST_F(PrepareTest, ANodeStartsFromACleanEnvironment) {
  Set("PWD").set_on_node("{working_directory}");
  Set("AUTODIST_AGENT_SOCKET").set_on_node("{agent_socket}");
  const auto environment = ReadyEnvironment();
  EXPECT_THAT(environment, Not(Contains("FROM_AGENT=1")));
  EXPECT_THAT(environment, Contains("HOME=" + folder_.path()));
  EXPECT_THAT(environment, Contains("PWD=" + folder_.path()));
  EXPECT_THAT(environment, Contains("AUTODIST_AGENT_SOCKET=/socket"));
}

TEST_F(PrepareTest, ARankHasAFifoForItsProgress) {
  v1::RankPlan& other = *node().add_ranks();
  other.add_argv("true");
  other.set_rank(5);
  v1::RankPlan& scheduler = *node().add_ranks();
  scheduler.add_argv("true");
  scheduler.set_rank(6);
  scheduler.set_auxiliary(true);
  const PreparedNode prepared = Prepare();
  ASSERT_EQ(prepared.ranks.size(), 3u);
  const std::string path = folder_.path() + "/files/progress.5";
  EXPECT_THAT(prepared.ranks[1].spawn.environment, Contains("AUTODIST_PROGRESS=" + path));
  EXPECT_THAT(prepared.ranks[2].spawn.environment,
              Not(Contains(testing::StartsWith("AUTODIST_PROGRESS="))));
  EXPECT_THAT(prepared.progress, testing::ElementsAre(testing::Key(0), testing::Pair(5, path)));
}

TEST_F(PrepareTest, TheChiefKeepsItsShellsEnvironmentWithoutAnOuterLaunchers) {
  node().clear_environment();
  node().add_environment()->mutable_remove()->add_names("OUTER_*");
  agent_.Set("OUTER_RANK", "7");
  agent_.Set("PATH", "/usr/bin:/bin");
  const auto environment = ReadyEnvironment();
  EXPECT_THAT(environment, Contains("FROM_AGENT=1"));
  EXPECT_THAT(environment, Not(Contains("OUTER_RANK=7")));
}

TEST_F(PrepareTest, SharedEnvsAreExpandedAfterTheActivation) {
  Activate("export X=1; export PATH=/opt/bin:$PATH LD_LIBRARY_PATH=/venv/lib");
  Share("LD_LIBRARY_PATH", "$LD_LIBRARY_PATH:/opt/lib");
  Share("S", "a b \"c\" $X");
  Share("T", "$S$(touch pwned)`touch pwned`");
  const auto environment = ReadyEnvironment();
  EXPECT_THAT(environment, Contains("X=1"));
  EXPECT_THAT(environment, Contains("LD_LIBRARY_PATH=/venv/lib:/opt/lib"));
  EXPECT_THAT(environment, Contains("S=a b \"c\" 1"));
  EXPECT_THAT(environment, Contains("T=a b \"c\" 1$(touch pwned)`touch pwned`"));
  EXPECT_THAT(environment, Contains(HasSubstr("PATH=/opt/bin:")));
  EXPECT_NE(access((folder_.path() + "/pwned").c_str(), F_OK), 0);
}

TEST_F(PrepareTest, TheActivationMayDefineFunctionsAndFailInConditions) {
  folder_.Write("conda.sh", "conda() { export CONDA=$2; }\nfalse\n[ -n \"$NONE\" ] && x=1\ntrue\n");
  Activate("source ./conda.sh;conda activate autodist; false || true");
  EXPECT_THAT(ReadyEnvironment(), Contains("CONDA=autodist"));
}

TEST_F(PrepareTest, AnActivationRunsOnceForEachInput) {
  const std::string runs = folder_.path() + "/runs";
  const std::string statements = "echo >>" + runs + "; export RUN=$(wc -l <" + runs + ")";
  Activate(statements);
  EXPECT_THAT(ReadyEnvironment(), Contains("RUN=1"));
  Set("LATER").set_literal("x");  // after the activation
  EXPECT_THAT(ReadyEnvironment(), IsSupersetOf({"RUN=1", "LATER=x"}));
  agent_.Set("HOME", "/");
  EXPECT_THAT(ReadyEnvironment(), Contains("RUN=2"));
  Activate(statements + "; [ $RUN = 4 ]");
  EXPECT_FALSE(Prepare().issues.empty());
  EXPECT_THAT(ReadyEnvironment(), Contains("RUN=4"));  // a failure is not kept
}

TEST_F(PrepareTest, AnActivationRunsAgainAfterAChangeOfItsFile) {
  agent_.Set("HOME", folder_.path());
  for (const std::string& file :
       std::vector<std::string>{"activate", folder_.path() + "/activate", "~/activate"}) {
    folder_.Write("activate", "export V=wrong");
    Activate((file == "activate" ? "true && . ./" : "true && source ") + file + ";");
    EXPECT_THAT(ReadyEnvironment(), Contains("V=wrong"));
    folder_.Write("activate", "export V=mended");
    EXPECT_THAT(ReadyEnvironment(), Contains("V=mended")) << file;
  }
}

TEST_F(PrepareTest, TheBashOfAnActivationReadsNoInheritedFiles) {
  const std::string init = folder_.Write("init.sh", "export FROM_INIT=1; exit 3\n");
  node().clear_environment();
  node().add_environment()->set_activate("export V=1");
  agent_.Set("PATH", "/usr/bin:/bin");
  agent_.Set("BASH_ENV", init);
  agent_.Set("SHELLOPTS", "braceexpand:hashall:noexec");
  auto environment = ReadyEnvironment();
  EXPECT_THAT(environment, Contains("V=1"));
  EXPECT_THAT(environment, Not(Contains("FROM_INIT=1")));
  // Ranks have the original value, unless the statements set it.
  EXPECT_THAT(environment, Contains("BASH_ENV=" + init));
  EXPECT_THAT(environment, Contains("SHELLOPTS=braceexpand:hashall:noexec"));
  node().clear_environment();
  node().add_environment()->set_activate("export BASH_ENV=/site/profile");
  EXPECT_THAT(ReadyEnvironment(), Contains("BASH_ENV=/site/profile"));
}

TEST_F(PrepareTest, AnActivationThatClosesTheEnvironmentDescriptorIsReported) {
  Activate("export PATH=/nowhere; exec 3>/dev/null; trap 'echo bye' EXIT");
  node().mutable_ranks(0)->set_argv(0, "/bin/true");
  // The environment is returned on descriptor 3; closing it is an issue.
  EXPECT_THAT(OnlyIssue(v1::PREPARE_ISSUE_KIND_ACTIVATION), HasSubstr("exited the shell"));
}

TEST_F(PrepareTest, AFailingActivationShowsItsOutput) {
  for (const std::string statements :
       {"source /no/such/activate", "source /no/such/activate; export X=1"}) {
    Activate(statements);
    const std::string cause = OnlyIssue(v1::PREPARE_ISSUE_KIND_ACTIVATION);
    EXPECT_THAT(cause, HasSubstr("ended with status 1"));
    EXPECT_THAT(cause, HasSubstr("/no/such/activate: No such file or directory"));
    // Of several statements, the failed one is named.
    const bool names = cause.find("status 1 from: source /no/such/activate") != cause.npos;
    EXPECT_EQ(names, statements.find(';') != statements.npos) << cause;
  }
  Activate("echo some; exit 4");
  EXPECT_THAT(OnlyIssue(v1::PREPARE_ISSUE_KIND_ACTIVATION), HasSubstr("status 4:\nsome"));
  Activate("exit 0");
  EXPECT_THAT(OnlyIssue(v1::PREPARE_ISSUE_KIND_ACTIVATION), HasSubstr("exited the shell"));
  Activate("if then");
  EXPECT_THAT(OnlyIssue(v1::PREPARE_ISSUE_KIND_ACTIVATION), HasSubstr("syntax error"));
}

TEST_F(PrepareTest, StartUpFilesHaveNoEffect) {
  for (const char* name : {".bashrc", ".profile", ".bash_profile"}) {
    folder_.Write(name, "echo noise; export FROM_RC=1; sleep 100\n");
  }
  Activate("export X=1");
  EXPECT_THAT(ReadyEnvironment(), Not(Contains("FROM_RC=1")));
}

TEST_F(PrepareTest, AllIssuesOfANodeAreReportedAtOnce) {
  request_.set_working_directory(folder_.path() + "/none");
  Activate("export PATH=/nowhere");
  const PreparedNode prepared = Prepare();
  ASSERT_EQ(prepared.issues.size(), 2u);
  EXPECT_THAT(prepared.issues[0].cause(), HasSubstr("/none: No such file or directory"));
  EXPECT_EQ(prepared.issues[1].cause(), "'true' is not in PATH (/nowhere)");
}

TEST_F(PrepareTest, DistinguishesAMissingProgramFromAForbiddenOne) {
  node().mutable_ranks(0)->set_argv(0, "./train");
  EXPECT_THAT(OnlyIssue(v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND),
              HasSubstr("'./train' does not exist"));
  folder_.Write("train", "");
  EXPECT_THAT(OnlyIssue(v1::PREPARE_ISSUE_KIND_COMMAND_NOT_EXECUTABLE),
              HasSubstr("not an executable"));
}

TEST_F(PrepareTest, WhatAProgramLacksIsNoMissingProgram) {
  node().mutable_ranks(0)->set_argv(0, "./train");
  chmod(folder_.Write("train", "#!/no/python\n").c_str(), 0755);
  EXPECT_THAT(OnlyIssue(v1::PREPARE_ISSUE_KIND_COMMAND_NEEDS),
              HasSubstr("the interpreter of ./train, /no/python, does not exist"));
  std::ifstream sh("/bin/sh", std::ios::binary);
  std::string binary(std::istreambuf_iterator<char>(sh), {});
  const std::string library = "libc.so.6";
  size_t at = binary.find(library);
  if (at == std::string::npos) GTEST_SKIP() << "not of glibc";
  for (; at != std::string::npos; at = binary.find(library, at)) {
    binary.replace(at, library.size(), "libx.so.6");
  }
  chmod(folder_.Write("train", binary).c_str(), 0755);
  EXPECT_THAT(OnlyIssue(v1::PREPARE_ISSUE_KIND_COMMAND_NEEDS),
              HasSubstr("'./train' cannot be loaded: libx.so.6: cannot open shared object file"));
}

TEST_F(PrepareTest, ArgumentsThatLinuxDoesNotAccept) {
  node().mutable_ranks(0)->add_argv(std::string(200'000, 'x'));
  EXPECT_THAT(OnlyIssue(v1::PREPARE_ISSUE_KIND_UNSPECIFIED),
              HasSubstr("argument 1 of the program has 200,000 bytes"));
  EXPECT_TRUE(Prepare().ranks.empty());
}

TEST_F(PrepareTest, OnlyTheHintForANameMentionsPath) {
  node().mutable_ranks(0)->set_argv(0, "./no-such-program");
  EXPECT_THAT(Prepare().issues.at(0).remedy(), Not(HasSubstr("PATH")));
  node().mutable_ranks(0)->set_argv(0, "no-such-program");
  EXPECT_THAT(Prepare().issues.at(0).remedy(), HasSubstr("PATH"));
}

TEST_F(PrepareTest, EachStepUsesTheResultOfTheStepsBefore) {
  Set("A").set_literal("$B");
  Share("A", "$A:/c");
  node().add_environment()->mutable_remove()->add_names("A*");
  Share("A", "$A:/d");
  Set("A").set_literal("after");
  Set("Z").set_literal("{agent}");
  node().mutable_environment(node().environment_size() - 2)->mutable_set()->add_unless("A");
  v1::EnvironmentVariable& last = *node().mutable_ranks(0)->add_environment();
  last.set_name("Z");
  last.set_value("of the rank");
  const auto environment = ReadyEnvironment();
  EXPECT_THAT(environment, Contains("A=/d"));
  EXPECT_THAT(environment, Contains("Z=of the rank"));
  EXPECT_THAT(*Prepare().environment,
              testing::Property(&Environment::ToStrings, Contains("Z={agent}")));
}

TEST_F(PrepareTest, ADefaultMayGiveWayToAnotherVariable) {
  Share("A_EXCLUDE", "lo");
  for (const std::string name : {"A", "B"}) {
    v1::SetVariable& variable = Set(name + "_INCLUDE");
    variable.set_literal("");
    variable.add_unless(name + "_EXCLUDE");
  }
  const auto environment = ReadyEnvironment();
  EXPECT_THAT(environment, Not(Contains("A_INCLUDE=")));
  EXPECT_THAT(environment, Contains("B_INCLUDE="));
}

TEST_F(PrepareTest, InterfaceVariablesNameTheInterfaceOfTheAddressUnlessSet) {
  Share("GLOO_SOCKET_IFNAME", "eth7");
  for (const char* name : {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}) {
    v1::SetVariable& variable = Set(name);
    variable.set_on_node(name[0] == 'N' ? "={interface}" : "{interface}");
    variable.add_unless(name);
  }
  const auto environment = ReadyEnvironment();
  EXPECT_THAT(environment, Contains("NCCL_SOCKET_IFNAME==lo"));
  EXPECT_THAT(environment, Contains("GLOO_SOCKET_IFNAME=eth7"));

  node().set_data_address("192.0.2.1");
  const PreparedNode elsewhere = Prepare();
  ASSERT_EQ(elsewhere.warnings.size(), 1u);
  EXPECT_THAT(elsewhere.warnings[0],
              HasSubstr("no interface of this node has the address 192.0.2.1"));
  EXPECT_THAT(elsewhere.ranks.at(0).spawn.environment,
              Not(Contains(testing::StartsWith("NCCL_SOCKET_IFNAME="))));

  node().set_interface("ib0");  // the spec's interface needs no address
  EXPECT_THAT(ReadyEnvironment(), Contains("NCCL_SOCKET_IFNAME==ib0"));
}

TEST_F(PrepareTest, TheNewestCheckpointIsReportedIfRequested) {
  EXPECT_FALSE(Prepare().checkpoint);
  request_.mutable_checkpoints()->set_folder("ckpt");
  request_.mutable_checkpoints()->add_left_out(folder_.path() + "/ckpt/logs");
  ASSERT_TRUE(Prepare().checkpoint);
  EXPECT_EQ(Prepare().checkpoint->name(), "") << "the folder does not exist";
  std::filesystem::create_directories(folder_.path() + "/ckpt/step-1");
  std::ofstream(folder_.path() + "/ckpt/step-1/model.pt") << "weights";
  std::filesystem::create_directories(folder_.path() + "/ckpt/logs");
  std::ofstream(folder_.path() + "/ckpt/logs/rank-0.out") << "step 2";
  for (const std::string& folder : {std::string("ckpt"), folder_.path() + "/ckpt/"}) {
    request_.mutable_checkpoints()->set_folder(folder);
    EXPECT_EQ(Prepare().checkpoint->name(), "step-1/model.pt") << folder;
    EXPECT_GT(Prepare().checkpoint->written_ns(), 0);
  }
  request_.mutable_checkpoints()->set_folder("/proc/self");
  EXPECT_FALSE(Prepare().checkpoint) << "no local disk";
}

TEST(LocalCheckpointTest, OnlyLocalDisksAreOfOneMachine) {
  struct Row {
    const char* what;
    unsigned long type;
    bool local;
  };
  constexpr Row kRows[] = {
      {"ext4", 0xEF53, true},        {"xfs", 0x58465342, true},     {"tmpfs", 0x01021994, true},
      {"overlay", 0x794c7630, true}, {"NFS", 0x6969, false},        {"Lustre", 0x0bd00bd0, false},
      {"GPFS", 0x47504653, false},   {"FUSE", 0x65735546, false},   {"CIFS", 0xFF534D42, false},
      {"9p", 0x01021997, false},     {"CephFS", 0x00c36400, false},
  };
  for (const Row& row : kRows) EXPECT_EQ(IsOnOneMachine(row.type), row.local) << row.what;
}

}  // namespace
}  // namespace autodist::agent
