#include "spec/yaml_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_folder.h"

namespace autodist::spec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> YamlIssues(const std::string& text) {
  const ReadOutcome outcome = ReadSpec(text, "f.yaml");
  EXPECT_EQ(outcome.spec.has_value(), outcome.issues.empty());
  std::vector<std::string> issues;
  for (const Issue& issue : outcome.issues) issues.push_back(issue.ToString());
  return issues;
}

constexpr char kSsh[] =
    "ssh:\n  conf:\n    username: 'root'\n    key_file: '/root/.ssh/id_rsa'\n    port: 12345\n";

// The formats of AutoDist's own test specs.
TEST(YamlReaderTest, AcceptsSingleNodes) {
  for (const std::string devices :
       {"    gpus: [0,1]\n    chief: true\n", "    gpus: [0]\n", "    gpus: [0,1]\n",
        "    cpus: [0]\n", "    cpus: [0,1]\n    chief: true\n", ""}) {
    const ReadOutcome outcome = ReadSpec("nodes:\n  - address: localhost\n" + devices, "f");
    ASSERT_TRUE(outcome.spec) << devices;
    EXPECT_TRUE(outcome.spec->chief());
    EXPECT_FALSE(outcome.spec->nodes[0].cpus.empty());
  }
}

TEST(YamlReaderTest, AcceptsTwoNodesWithDifferentDevices) {
  for (const std::string kind : {"gpus", "cpus"}) {
    for (const std::string first : {"[0]", "[0,1]"}) {
      const std::string text = "nodes:\n  - address: 10.20.41.57\n    " + kind + ": " + first +
                               "\n    chief: true\n    ssh_config: conf\n"
                               "  - address: 10.20.41.146\n    " +
                               kind + ": [0]\n    ssh_config: conf\n" + kSsh;
      const ReadOutcome outcome = ReadSpec(text, "f");
      ASSERT_TRUE(outcome.spec) << text;
      EXPECT_EQ(outcome.spec->ssh.at("conf").port, 12345);
      EXPECT_EQ(outcome.spec->ssh.at("conf").username, "root");
    }
  }
}

TEST(YamlReaderTest, AcceptsNodesToLaunchOnFromOutside) {
  for (const std::string nodes :
       {"  - {address: 10.0.0.1, ssh_config: a}\n",
        "  - {address: 10.0.0.1, ssh_config: a}\n  - {address: '[gpu[1-2]]:22', ssh_config: a}\n",
        "  - {address: 'fe80::1%eth0', ssh_config: a}\n  - {address: h, ssh_config: a}\n"}) {
    const ReadOutcome outcome = ReadSpec("nodes:\n" + nodes + "ssh: {a: {}}\n", "f");
    ASSERT_TRUE(outcome.spec) << nodes;
    EXPECT_EQ(outcome.spec->chief(), nullptr);
  }
}

TEST(YamlReaderTest, ReadsTheThreeNodeExampleInFull) {
  const ReadOutcome outcome = ReadSpec(R"(nodes:
  - address: 172.31.30.187
    cpus: [0]
    gpus: [0,1,2,3]
    chief: true
  - address: 172.31.18.140
    gpus: [0,1,2,3]
    ssh_config: ssh_conf1
    network_bandwidth: 25
  - address: 172.31.18.65
    cpus: [0,1]
    gpus: [0,1]
    ssh_config: ssh_conf2

ssh:
  ssh_conf1:
    key_file: '/home/ubuntu/.ssh/autodist.pem'
    username: 'ubuntu'
    python_venv: 'source /home/ubuntu/venvs/autodist/bin/activate'
  ssh_conf2:
    key_file: '/home/ubuntu/.ssh/my_private_key'
    username: 'username'
    python_venv: 'source /home/username/anaconda3/etc/profile.d/conda.sh;conda activate autodist'
    shared_envs:
      LD_LIBRARY_PATH: '$LD_LIBRARY_PATH:/usr/local/cuda/lib64'
)",
                                       "f");
  ASSERT_TRUE(outcome.spec);
  const ResourceSpec& spec = *outcome.spec;
  ASSERT_EQ(spec.nodes.size(), 3u);
  EXPECT_EQ(spec.chief()->address, "172.31.30.187");
  EXPECT_THAT(spec.nodes[2].gpus, ElementsAre(0u, 1u));
  EXPECT_DOUBLE_EQ(spec.nodes[1].network_bandwidth, 25);
  EXPECT_FALSE(spec.ssh.at("ssh_conf1").port);
  EXPECT_THAT(spec.ssh.at("ssh_conf2").shared_envs,
              ElementsAre(std::pair<std::string, std::string>(
                  "LD_LIBRARY_PATH", "$LD_LIBRARY_PATH:/usr/local/cuda/lib64")));
}

struct Refused {
  const char* name;
  const char* text;
  std::vector<std::string> issues;  // each must be in the issue at its position
};

class RefusedSpecTest : public testing::TestWithParam<Refused> {};

TEST_P(RefusedSpecTest, ReportsThePositionAndTheCorrection) {
  const std::vector<std::string> found = YamlIssues(GetParam().text);
  ASSERT_EQ(found.size(), GetParam().issues.size()) << testing::PrintToString(found);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_THAT(found[i], HasSubstr(GetParam().issues[i]));
}

#define SSH_A "ssh:\n  a: {key_file: k}\n"
INSTANTIATE_TEST_SUITE_P(
    Specs, RefusedSpecTest,
    testing::Values(
        Refused{"NoChiefAndNoSshGroup",
                "nodes:\n  - {address: 10.0.0.1}\n"
                "  - {address: 10.0.0.2, ssh_config: a}\n" SSH_A,
                {"f.yaml:2:15: node '10.0.0.1' has no 'ssh_config', which says how to log in; name "
                 "a, or add 'chief: true' if you run autodist on it"}},
        Refused{"TwoChiefs",
                "nodes:\n  - {address: 10.0.0.1, chief: true}\n"
                "  - {address: 10.0.0.2, chief: true}\n",
                {"f.yaml:3:15: a second chief; the first is on line 2"}},
        Refused{"LoopbackWithSeveralNodes",
                "nodes:\n  - {address: localhost, chief: true}\n"
                "  - {address: 127.0.0.2, ssh_config: a}\n"
                "  - {address: '::1', ssh_config: a}\n" SSH_A,
                {"f.yaml:2:15: 'localhost' is a loopback address", "f.yaml:3:15:", "f.yaml:4:15:"}},
        Refused{"UnknownKey",
                "nodes:\n  - address: localhost\n    gpu: [0]\n",
                {"f.yaml:3:5: unknown key 'gpu' in a node; did you mean 'gpus'?"}},
        Refused{
            "UnknownKeyFarFromAll",
            "nodes:\n  - address: localhost\n    colour: 1\n",
            {"known keys are address, gpus, cpus, chief, ssh_config, device_ips, data_address, "
             "ssh_address, host_keys, interface, python_venv, shared_envs or network_bandwidth"}},
        Refused{"UndefinedSshGroup",
                "nodes:\n  - {address: 10.0.0.1, chief: true}\n"
                "  - address: 10.0.0.2\n    ssh_config: con\n"
                "ssh:\n  conf: {key_file: k}\n  other: {key_file: k}\n",
                {"f.yaml:4:17: ssh group 'con' is not defined; defined are: conf or other; did you "
                 "mean 'conf'?"}},
        Refused{"NoSshGroup",
                "nodes:\n  - {address: 10.0.0.1, chief: true}\n  - address: 10.0.0.2\n" SSH_A,
                {"f.yaml:3:14: node '10.0.0.2' has no 'ssh_config'"}},
        Refused{"DuplicateAddress",
                "nodes:\n  - {address: host, chief: true}\n"
                "  - {address: HOST, ssh_config: a}\n" SSH_A,
                {"f.yaml:3:15: address 'HOST' is already that of the node on line 2"}},
        Refused{"DuplicateAddressSpeltDifferently",
                "nodes:\n  - {address: 'fd00::1', chief: true}\n"
                "  - {address: 'fd00:0::1', ssh_config: a}\n" SSH_A,
                {"is already that of the node on line 2"}},
        Refused{"DuplicateAndNegativeDevices",
                "nodes:\n  - address: localhost\n    gpus: [0, 1, 0, -1, x]\n    cpus: [0, 0]\n",
                {"f.yaml:3:18: in 'gpus': device 0 is listed twice", "f.yaml:3:21: in 'gpus': '-1'",
                 "f.yaml:3:25: in 'gpus': 'x'", "f.yaml:4:15: in 'cpus': device 0"}},
        Refused{
            "WrongTypes",
            "nodes:\n  - address: [1]\n    gpus: 2\n    chief: maybe\n    ssh_config: {}\n"
            "    network_bandwidth: fast\nssh: 3\n",
            {"f.yaml:2:14: 'address' is a list", "f.yaml:3:11: 'gpus' is '2'; it should be a list",
             "f.yaml:4:12: 'chief' is 'maybe'; it should be true or false",
             "f.yaml:5:17: 'ssh_config' is a mapping",
             "f.yaml:6:24: 'network_bandwidth' should be a positive number",
             "f.yaml:7:6: 'ssh' is a single value"}},
        Refused{"BadPorts",
                "nodes: [{address: localhost}]\nssh:\n  a: {key_file: k, port: 0}\n"
                "  b: {key_file: k, port: 65536}\n  c: {key_file: k, port: ssh}\n",
                {"f.yaml:3:26: 'port' is '0'; it should be a number from 1 to 65535", "f.yaml:4:26",
                 "f.yaml:5:26"}},
        Refused{"PortInAddress",
                "nodes: [{address: 'host:22'}]\n",
                {"a port belongs to the ssh group, as 'port: 2222', or [host]:2222 in quotes"}},
        Refused{"EmptyNodes", "nodes: []\n", {"f.yaml:1:8: 'nodes' is an empty list"}},
        Refused{"NoNodes", "ssh: {a: {key_file: k}}\n", {"f.yaml:1:1: key 'nodes' is missing"}},
        Refused{"NodesNull", "nodes:\n", {"'nodes' is empty"}},
        Refused{"EmptyFile", "", {"f.yaml:1:1: the file is empty"}},
        Refused{"OnlyComments", "# nothing\n", {"the file is empty"}},
        Refused{"ASingleWord",
                "hello\n",
                {"f.yaml:1:1: the spec is a single value; it should be a mapping with the key "
                 "'nodes'; for a list of hosts: autodist init --from f.yaml"}},
        Refused{"NodeIsText", "nodes: [a]\n", {"f.yaml:1:9: a node is a single value"}},
        Refused{"SyntaxError", "nodes:\n  - address: [1\n", {"YAML syntax error"}},
        Refused{"TabIndentation", "nodes:\n\t- address: a\n", {"f.yaml:2:"}},
        Refused{
            "DuplicateKeys",
            "nodes:\n  - address: a\n    address: b\n    gpus: [0]\n    gpus: [1]\n",
            {"f.yaml:3:5: key 'address' appears twice", "f.yaml:5:5: key 'gpus' appears twice"}},
        Refused{"DuplicateGroups",
                "nodes: [{address: a}]\nssh:\n  a: {key_file: k}\n  a: {key_file: j}\n",
                {"f.yaml:4:3: ssh group 'a' appears twice"}},
        Refused{"TwoDocuments",
                "nodes: [{address: a}]\n---\nnodes: [{address: b}]\n",
                {"a second YAML document"}},
        Refused{
            "BadSharedEnvs",
            "nodes: [{address: a}]\nssh:\n  a:\n    key_file: k\n    shared_envs:\n"
            "      1X: a\n      Y: [1]\n      Z: 1\n      Z: 2\n",
            {"f.yaml:6:7: '1X' is not a name for an environment variable",
             "f.yaml:7:10: the value of 'Y' is a list", "f.yaml:9:7: variable 'Z' appears twice"}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(YamlReaderTest, ReportsIssuesInTheOrderOfTheFile) {
  const std::vector<std::string> issues = YamlIssues(
      "ssh:\n  a: {port: 99999, key_file: k}\nnodes:\n  - gpus: [0, 0]\n  - adress: x\n");
  EXPECT_THAT(issues, ElementsAre(HasSubstr("f.yaml:2:13"), HasSubstr("f.yaml:4:5"),
                                  HasSubstr("f.yaml:4:5"), HasSubstr("f.yaml:4:15"),
                                  HasSubstr("f.yaml:5:5: unknown key 'adress'"),
                                  HasSubstr("f.yaml:5:13: node 'x' has no 'ssh_config'")));
}

TEST(YamlReaderTest, MergeKeys) {
  const ReadOutcome outcome = ReadSpec(
      "x-a: &a {cpus: [0, 1], ssh_config: g}\n.b: &b {cpus: [0], gpus: [3]}\n"
      "nodes:\n  - {address: a, chief: true}\n  - {address: b, <<: *a}\n"
      "  - &c {<<: [*b, *a], address: c}\n  - {<<: *c, address: d, gpus: []}\n"
      "  - {'<<': 1, <<: {ssh_config: g}, address: e}\nssh: {g: }\n",
      "f");
  ASSERT_EQ(outcome.issues.size(), 1u);  // in quotes it is an ordinary key
  EXPECT_THAT(outcome.issues[0].ToString(), HasSubstr("f:8:6: unknown key '<<' in a node"));
  const ReadOutcome right = ReadSpec(
      "x-a: &a {cpus: [0, 1], ssh_config: g}\n.b: &b {cpus: [0], gpus: [3]}\n"
      "nodes:\n  - {address: a, chief: true}\n  - {address: b, <<: *a}\n"
      "  - &c {<<: [*b, *a], address: c}\n  - {<<: *c, address: d, gpus: []}\nssh: {g: }\n",
      "f");
  ASSERT_TRUE(right.spec) << right.issues[0].ToString();
  EXPECT_EQ(right.spec->nodes[1].cpus.size(), 2u);
  EXPECT_THAT(right.spec->nodes[2].gpus, ElementsAre(3u));
  EXPECT_EQ(right.spec->nodes[2].ssh_config, "g");
  EXPECT_THAT(right.spec->nodes[3].devices(), ElementsAre(0u));
}

TEST(YamlReaderTest, AnInvalidMergeIsReportedOnce) {
  for (const auto& [text, what] : std::initializer_list<std::pair<const char*, const char*>>{
           {"nodes: [&a {<<: *a}]", "f.yaml:1:13: '<<' merges a mapping into itself"},
           {"nodes: [{<<: x}]", "f.yaml:1:10: '<<' takes a mapping, or a list of mappings"},
           {"nodes: [{<<: {a: 1}, <<: {b: 1}}]", "f.yaml:1:22: '<<' appears twice"},
           {"nodes: !x []", "f.yaml:1:8: the tag '!x' is not known here"},
           {"nodes: !!python/object:a {}", "the tag 'tag:yaml.org,2002:python/object:a' is not"},
       }) {
    EXPECT_THAT(YamlIssues(text), ElementsAre(HasSubstr(what)));
  }
}

TEST(YamlReaderTest, OneLoginForAllNodes) {
  const std::string nodes = "nodes:\n  - {address: a, chief: true}\n  - {address: b}\n";
  const ReadOutcome flat = ReadSpec(nodes + "ssh: {username: ann, shared_envs: {A: b}}", "f");
  ASSERT_TRUE(flat.spec) << flat.issues[0].ToString();
  EXPECT_EQ(flat.spec->ssh.at(flat.spec->nodes[1].ssh_config).username, "ann");
  EXPECT_EQ(flat.spec->group_of(flat.spec->nodes[1]).shared_envs.size(), 1u);
  const ReadOutcome one = ReadSpec("nodes: [{address: a}]\nssh: {username: ann}", "f");
  ASSERT_TRUE(one.spec);
  EXPECT_TRUE(one.spec->nodes[0].chief);
  // A group may have a setting's name.
  EXPECT_TRUE(ReadSpec("nodes: [{address: a, ssh_config: image}]\nssh: {image: }", "f").spec);
  EXPECT_THAT(YamlIssues(nodes + "  - {address: c, ssh_config: x}\n  - {address: d, ssh_config: "
                                 "y}\nssh: {username: ann}"),
              ElementsAre(HasSubstr("'ssh' is one login for all nodes, but they name the groups x "
                                    "or y")));
  EXPECT_THAT(YamlIssues(nodes + "ssh: {username: ann, lab: {port: 1}}"),
              ElementsAre(HasSubstr("f.yaml:4:7: 'ssh' has 'username' beside the group 'lab'")));
}

TEST(YamlReaderTest, AMissingFileIsAnIssue) {
  const test::TempFolder folder;
  const ReadOutcome outcome = ReadSpecFile(folder.path() + "/none.yaml");
  ASSERT_EQ(outcome.issues.size(), 1u);
  EXPECT_THAT(outcome.issues[0].ToString(), HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace autodist::spec
