// Starts a remote chief: the nodes have real agents, and a shell simulates the program on the
// chief's node. A separate program, because it receives signals and becomes the parent of processes
// that agents leave.
#include "chief/remote_controller/start_remote.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <stop_token>

#include "autodist/v1/job_request.pb.h"
#include "base/for_user.h"
#include "chief/loop/signal_watcher.h"
#include "chief/remote_controller/controller.h"
#include "json/proto_json.h"
#include "spec/yaml_reader.h"
#include "support/agents_test.h"
#include "support/in_seconds.h"
#include "transport/local.h"

namespace autodist::chief {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr seconds kHangs{500};  // for the slowest of builds
constexpr std::chrono::milliseconds kLongLease{3'600'000};

// Runs before other threads exist, so that none receives a signal for the watcher.
const bool blocked = (SignalWatcher::Block(), true);

// $1 the nonce, $2 a folder, $3 this process. Reads its command like controller.cc.
constexpr char kReadRun[] =
    "printf '\\nAUTODIST-READY %s\\n' \"$1\"; "
    "n=$(head -c 4 | od -An -tu1 | awk '{ print ($1 * 256 + $2) * 65536 + $3 * 256 + $4 }'); "
    "head -c \"$n\" > \"$2/run\"; ";

constexpr char kHostKey[] =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tr";

class StartRemoteTest : public test::AgentsTest {
 protected:
  StartRemoteTest() {
    std::string nodes;
    plan_.set_job_id(NewJobId());
    plan_.set_working_directory("/");
    plan_.set_world_size(2);
    folder_.Write("known_hosts", std::string("node1 ") + kHostKey + "\n");
    for (uint32_t i = 0; i < 2; ++i) {
      const std::string name = "node" + std::to_string(i);
      v1::NodePlan& node = *plan_.add_nodes();
      node.set_node_rank(i);
      node.set_address(name);
      node.set_data_address("127.0.0.1");
      v1::SshReach& ssh = *node.mutable_reach()->mutable_ssh();
      ssh.set_host(name);
      ssh.set_host_key_name(name);
      ssh.set_port(22);
      ssh.set_username("ann");
      ssh.add_known_hosts_files(folder_.path() + "/known_hosts");
      v1::RankPlan& rank = *node.add_ranks();
      rank.set_rank(i);
      rank.add_argv("true");
      nodes += "  - {address: " + name + ", cpus: [0], ssh_config: g}\n";
    }
    input_.spec = *spec::ReadSpec("nodes:\n" + nodes + "ssh: {g: {}}\n", "test").spec;
    input_.request.set_hosts("node0,node1");
    input_.request.set_chief_on("first");
    input_.request.set_sync(true);
    input_.request.set_grace(3);
    input_.request.add_program("./train");
    input_.request.add_program("two words");
    input_.variables = {{"PLAIN", "text"}, {"SECRET", "s3cret", true}};
    input_.working_directory = "/";
  }
  ~StartRemoteTest() override { ExpectNothingLeft(plan_.job_id()); }

  // `script`: what the chief's node does after it has read its command.
  int Start(const std::string& script) {
    launch::LaunchOptions options;
    options.request.set_agent(AGENT_PROGRAM);
    options.request.set_lease(test::InSeconds(kLongLease));
    options.request.set_grace(test::InSeconds(seconds(1)));
    options.connector =
        std::make_shared<test::TestConnector>([this, script](const v1::Reach& reach) {
          return std::make_unique<Node>(*this, reach.ssh().host(), script);
        });
    testing::internal::CaptureStderr();
    const int code = StartRemote(input_, plan_, options, chief_);
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  static std::string Ended(const std::string& code) {
    return "printf '\\nAUTODIST-ENDED %s " + code + "\\n' \"$1\"";
  }
  v1::JobRequest Run() const {
    v1::JobRequest run;
    EXPECT_TRUE(json::FromJson(folder_.Read("run"), run).ok());
    return run;
  }

  const test::Watchdog watchdog_{kHangs};
  v1::LaunchPlan plan_;
  plan::Input input_;
  std::string chief_ = "node0";
  std::string unreachable_;  // a node
  bool answers_ = true;      // the chief's node says that it is ready, and reads its command
  bool interrupted_at_login_ = false;
  std::atomic<int> started_ = 0;
  std::string said_;

 private:
  // Transport to one node.
  class Node final : public transport::Transport {
   public:
    Node(StartRemoteTest& test, std::string name, std::string script)
        : test_(test), name_(std::move(name)), script_(std::move(script)) {}

    Result<std::unique_ptr<transport::Stream>> Run(const std::vector<std::string>& argv,
                                                   const std::stop_token& stop) override {
      if (name_ == test_.unreachable_) return Error(StatusCode::kUnavailable, "no route: a test");
      const auto controller = std::ranges::find(argv, "remote-controller");
      std::vector<std::string> command = {
          "env", "HOME=" + test_.folder_.path(), "sh", "-c", "cd && exec \"$@\"", "sh"};
      if (controller == argv.end()) {
        command.insert(command.end(), argv.begin(), argv.end());
      } else {
        EXPECT_EQ(name_, test_.chief_);
        if (test_.interrupted_at_login_) {
          std::promise<void> stopped;
          const std::stop_callback notify(stop, [&] { stopped.set_value(); });
          kill(getpid(), SIGINT);
          stopped.get_future().wait();
          return Error(StatusCode::kCancelled, "cancelled");
        }
        ++test_.started_;
        command = {"sh",
                   "-c",
                   (test_.answers_ ? kReadRun : "") + script_,
                   "sh",
                   *std::next(controller),
                   test_.folder_.path(),
                   std::to_string(getpid())};
      }
      return transport::LocalTransport().Run(command, stop);
    }

   private:
    StartRemoteTest& test_;
    const std::string name_;
    const std::string script_;
  };
};

TEST_F(StartRemoteTest, TheFirstCtrlCIsSentToTheRemoteChief) {
  // More than the buffers on the way hold: once it has been written, StartRemote reads.
  const std::string is_read = "head -c 16000000 /dev/zero; ";
  EXPECT_EQ(
      Start(is_read + "kill -INT \"$3\"; head -c 1 | od -An -tu1 > \"$2/signal\"; " + Ended("130")),
      130);
  EXPECT_EQ(std::stoi(folder_.Read("signal")), SIGINT);
}

TEST_F(StartRemoteTest, TheSecondCtrlCLeavesWithoutAnAnswer) {
  const std::string is_read = "head -c 16000000 /dev/zero; ";
  EXPECT_EQ(Start(is_read + "kill -INT \"$3\"; head -c 1 > /dev/null; kill -INT \"$3\"; "
                            "cat > /dev/null"),
            125);
  EXPECT_THAT(said_, HasSubstr("leaving without an answer from the chief on node0; its ranks may "
                               "run, or may still start\n"));
  EXPECT_THAT(said_, HasSubstr("check with `autodist ps --chief-on node0` whether the job runs"));
  EXPECT_THAT(said_, Not(HasSubstr("broke")));
}

TEST_F(StartRemoteTest, CtrlCBeforeTheChiefHasItsCommandStartsNothing) {
  answers_ = false;
  EXPECT_EQ(Start("kill -INT \"$3\"; cat > /dev/null"), 130);
  EXPECT_THAT(said_, HasSubstr("interrupted before node0 had received the job: no rank starts; "
                               "autodist there ends when it notices\n"));
  EXPECT_THAT(said_, Not(HasSubstr("cancelled")));
}

TEST_F(StartRemoteTest, CtrlCDuringTheLoginFindsNoAutodistOnTheNode) {
  interrupted_at_login_ = true;
  EXPECT_EQ(Start(Ended("0")), 130);
  EXPECT_THAT(said_, HasSubstr("interrupted before node0 had received the job: no rank starts\n"));
  EXPECT_EQ(started_, 0);
}

TEST_F(StartRemoteTest, TheChiefGetsItsCommandAndItsOutputIsShown) {
  EXPECT_EQ(
      Start("echo 'autodist: job 1 is running'; printf 'a\\033]0;title\\007\\n'; " + Ended("0")),
      0);
  EXPECT_THAT(said_, HasSubstr("autodist: job 1 is running\n"));
  EXPECT_THAT(said_, HasSubstr("a\\x1b]0;title\\x07\n")) << "the node is not to be trusted";
  const v1::JobRequest run = Run();
  EXPECT_THAT(run.program(), ElementsAre("./train", "two words"));
  EXPECT_EQ(run.grace(), 3);
  EXPECT_TRUE(run.detach());
  EXPECT_FALSE(run.has_hosts() || run.has_chief_on() || run.has_sync()) << "has been done here";
  ASSERT_EQ(run.passed_size(), 1);
  EXPECT_EQ(run.passed().at("SECRET"), "s3cret");
  EXPECT_EQ(run.workdir(), "/");
  EXPECT_EQ(run.node_source(), v1::NODE_SOURCE_SPEC);
  const auto there = spec::ReadSpec(run.spec_text(), "there").spec;
  ASSERT_TRUE(there);
  EXPECT_TRUE(there->nodes[0].chief);
  EXPECT_THAT(there->nodes[1].host_keys, ElementsAre(kHostKey));
  EXPECT_EQ(started_, 1);
}

TEST_F(StartRemoteTest, TheChiefKnowsThatItsSpecIsNoFile) {
  base::SetNodeSource(base::NodeSource::kHosts);
  EXPECT_EQ(Start(Ended("0")), 0);
  base::SetNodeSource(base::NodeSource::kSpec);
  EXPECT_EQ(Run().node_source(), v1::NODE_SOURCE_HOSTS);
}

TEST_F(StartRemoteTest, AnyNodeMayHaveTheChief) {
  chief_ = "node1";
  EXPECT_EQ(Start(Ended("0")), 0);
  EXPECT_TRUE(spec::ReadSpec(Run().spec_text(), "there").spec->nodes[1].chief);
}

// The ssh program itself also exits with 255.
TEST_F(StartRemoteTest, TheExitCodeIsThatOfTheRemoteRun) {
  EXPECT_EQ(Start(Ended("255")), 255);
  EXPECT_THAT(said_, Not(HasSubstr("broke")));
}

TEST_F(StartRemoteTest, AnInvalidExitCodeIsAFailure) {
  for (const char* code : {"256", "-1", "x", "7 7", ""}) {
    plan_.set_job_id(NewJobId());
    EXPECT_EQ(Start(Ended(code)), 125) << code;
    EXPECT_THAT(said_, HasSubstr("the chief on node0 logs in with keys of that machine")) << code;
  }
}

TEST_F(StartRemoteTest, ABrokenConnectionIsReportedWithAHint) {
  EXPECT_EQ(Start("echo half of a li"), 125);
  EXPECT_THAT(said_, HasSubstr("half of a li\n"));
  EXPECT_THAT(said_, HasSubstr("the connection with node0 broke"));
  EXPECT_THAT(said_, HasSubstr("check with `autodist ps --chief-on node0` whether the job runs"));
  input_.request.set_spec("my lab.yaml");
  plan_.set_job_id(NewJobId());
  EXPECT_EQ(Start("echo half of a li"), 125);
  EXPECT_THAT(said_, HasSubstr("`autodist ps --spec 'my lab.yaml' --chief-on node0`"));
}

TEST_F(StartRemoteTest, IfANodeIsNotReadyNoChiefIsStarted) {
  unreachable_ = "node1";
  EXPECT_EQ(Start(Ended("0")), 125);
  EXPECT_THAT(said_, HasSubstr("node1"));
  EXPECT_THAT(said_, HasSubstr("no route: a test"));
  EXPECT_EQ(started_, 0);
}

}  // namespace
}  // namespace autodist::chief
