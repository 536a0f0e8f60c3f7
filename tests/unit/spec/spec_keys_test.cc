// Keys that AutoDist does not have: other ways to reach a node, and between nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/yaml_reader.h"

namespace autodist::spec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> IssuesOf(const std::string& text) {
  const ReadOutcome outcome = ReadSpec(text, "f");
  EXPECT_EQ(outcome.spec.has_value(), outcome.issues.empty());
  std::vector<std::string> issues;
  for (const Issue& issue : outcome.issues) issues.push_back(issue.ToString());
  return issues;
}

ResourceSpec Read(const std::string& text) {
  const ReadOutcome outcome = ReadSpec(text, "f");
  EXPECT_THAT(IssuesOf(text), ElementsAre());
  return outcome.spec.value_or(ResourceSpec{});
}

// Two nodes; `second` is the rest of the second one, from its address on.
std::string TwoNodes(const std::string& second) {
  return "nodes:\n  - {address: 10.0.0.1, chief: true}\n  - {ssh_config: a, address: " + second +
         "}\nssh:\n  a:\n";
}

std::string Group(const std::string& settings) {
  return "nodes: [{address: localhost}]\nssh:\n  a: {" + settings + "}\n";
}

TEST(SpecKeysTest, PortsInAddresses) {
  const ResourceSpec spec = Read(TwoNodes("'[fd00::2]:2222'"));
  EXPECT_EQ(spec.nodes[1].address, "fd00::2");
  EXPECT_EQ(spec.nodes[1].port, 2222);
  EXPECT_FALSE(spec.nodes[0].port);
  EXPECT_THAT(IssuesOf(TwoNodes("'host:2222'")),
              ElementsAre(HasSubstr("f:3:30: 'host:2222' is neither")));
  EXPECT_THAT(IssuesOf(TwoNodes("'[fd00::2]:0'")), ElementsAre(HasSubstr("f:3:30: port '0'")));
}

TEST(SpecKeysTest, SshAddresses) {
  const ResourceSpec spec = Read(TwoNodes("'gpu[1-2]', ssh_address: 'far[7-8]'"));
  EXPECT_EQ(spec.nodes[1].ssh_address, "far7");
  EXPECT_EQ(spec.nodes[2].ssh_address, "far8");
  EXPECT_THAT(IssuesOf(TwoNodes("'gpu[1-2]', ssh_address: far7")),
              ElementsAre(HasSubstr("'ssh_address' stands for 1 machine, and 'address' for 2")));
}

TEST(SpecKeysTest, HostKeys) {
  const std::string key =
      "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
  const ResourceSpec spec = Read(TwoNodes("a, host_keys: ['" + key + " root@a']"));
  EXPECT_THAT(spec.nodes[1].host_keys, ElementsAre(key));
  EXPECT_THAT(IssuesOf(TwoNodes("a, host_keys: ['ssh-rsa " + key.substr(12) + "', x]")),
              ElementsAre(HasSubstr("is no public key"), HasSubstr("'x' is no public key")));
  EXPECT_THAT(IssuesOf(TwoNodes("'a[1-2]', host_keys: ['" + key + "']")),
              ElementsAre(HasSubstr("'host_keys' are those of one machine")));
}

TEST(SpecKeysTest, UnquotedBracketsAreExplained) {
  EXPECT_THAT(IssuesOf("nodes:\n  - address: [fd00::2]\n"),
              ElementsAre(HasSubstr("f:2:14: 'address' is a list; it should be a text, which in "
                                    "brackets needs quotes")));
  EXPECT_THAT(IssuesOf("nodes:\n  - address: [10.0.0.2]:2222\n"),
              ElementsAre(HasSubstr("an address in brackets needs quotes: '[host]:2222'")));
  EXPECT_THAT(IssuesOf("nodes:\n  - address: [1\n"),
              ElementsAre(Not(HasSubstr("in brackets needs quotes"))));
  EXPECT_THAT(IssuesOf(TwoNodes("gpu[1-4]")),
              ElementsAre(HasSubstr("a range of addresses needs quotes here: 'gpu[1-4]'")));
}

TEST(SpecKeysTest, ATabIsExplained) {
  EXPECT_THAT(IssuesOf("nodes:\n\t- address: a\n"),
              ElementsAre(HasSubstr("the line begins with a tab")));
}

TEST(SpecKeysTest, AddressesOfNoMachine) {
  EXPECT_THAT(IssuesOf(TwoNodes("0.0.0.0")),
              ElementsAre(HasSubstr("f:3:30: '0.0.0.0' means any address, not one machine; give")));
  EXPECT_THAT(IssuesOf(TwoNodes("ff02::1")), ElementsAre(HasSubstr("multicast")));
  EXPECT_THAT(IssuesOf(TwoNodes("255.255.255.255")), ElementsAre(HasSubstr("broadcast")));
}

TEST(SpecKeysTest, OnlyTheChiefUsesLinkLocalAddresses) {
  EXPECT_THAT(IssuesOf(TwoNodes("fe80::2")),
              ElementsAre(HasSubstr("f:3:30: 'fe80::2' is a link-local address; it needs the "
                                    "interface by which the chief reaches it, such as "
                                    "'fe80::2%eth0'")));
  EXPECT_THAT(IssuesOf(TwoNodes("fe80::2%eth0")),
              ElementsAre(HasSubstr("f:3:30: 'fe80::2%eth0' is valid only on the chief; add "
                                    "a 'data_address'")));
  const ResourceSpec spec = Read(TwoNodes("fe80::2%eth0, data_address: 10.1.0.2"));
  EXPECT_EQ(spec.nodes[1].address, "fe80::2%eth0");
  EXPECT_THAT(IssuesOf(TwoNodes("10.0.0.2, data_address: fe80::2%eth0")),
              ElementsAre(HasSubstr("f:3:54: 'fe80::2%eth0' is valid only on one machine")));
  Read("nodes: [{address: fe80::2%eth0}]\n");
}

TEST(SpecKeysTest, DataAddressesAndInterfaces) {
  const ResourceSpec spec = Read(TwoNodes("10.0.0.2, data_address: node2-ib, interface: ib0.8001"));
  EXPECT_EQ(spec.nodes[1].data_address, "node2-ib");
  EXPECT_EQ(spec.nodes[1].interface, "ib0.8001");
  for (const std::string bad : {"'[fd00::2]:22'", "'host:22'", "0.0.0.0", "10.0.0.256"}) {
    EXPECT_THAT(IssuesOf(TwoNodes("10.0.0.2, data_address: " + bad)),
                ElementsAre(HasSubstr("f:3:54: 'data_address': ")))
        << bad;
  }
  EXPECT_THAT(IssuesOf(TwoNodes("10.0.0.2, data_address: 127.0.0.1")),
              ElementsAre(HasSubstr("f:3:54: '127.0.0.1' is a loopback address")));
  Read("nodes: [{address: localhost, data_address: 127.0.0.1}]\n");
  for (const std::string bad : {"a-name-too-long-", "'a b'", "a/b", "..", "\"a\\x1b\""}) {
    EXPECT_THAT(IssuesOf(TwoNodes("10.0.0.2, interface: " + bad)),
                ElementsAre(HasSubstr("is not the name of a network interface, such as eth0")))
        << bad;
  }
}

// "address data:port" of each node except the chief.
std::string Range(const std::string& second) {
  std::string text;
  for (const Node& node : Read(TwoNodes(second)).nodes) {
    if (node.chief) continue;
    text += (text.empty() ? "" : " ") + node.address;
    if (!node.data_address.empty()) text += "/" + node.data_address;
    if (node.port) text += ":" + std::to_string(*node.port);
  }
  return text;
}

TEST(SpecKeysTest, AnAddressMayBeARangeOfNodes) {
  EXPECT_EQ(Range("'gpu[09-10,12]'"), "gpu09 gpu10 gpu12");
  EXPECT_EQ(Range("'10.0.0.[2-3]'"), "10.0.0.2 10.0.0.3");
  EXPECT_EQ(Range("'[r[1-2]n[3-4]]:2222'"), "r1n3:2222 r1n4:2222 r2n3:2222 r2n4:2222");
  EXPECT_EQ(Range("'gpu[2-3]', data_address: 'gpu[2-3]-ib'"), "gpu2/gpu2-ib gpu3/gpu3-ib");
  const ResourceSpec spec = Read(TwoNodes("'gpu[1-5000]', gpus: [4, 5], interface: ib0"));
  ASSERT_EQ(spec.nodes.size(), 5001u);
  EXPECT_THAT(spec.nodes.back().gpus, ElementsAre(4, 5));
  EXPECT_EQ(spec.nodes.back().interface, "ib0");
  EXPECT_EQ(spec.nodes.back().ssh_config, "a");
}

TEST(SpecKeysTest, InvalidRanges) {
  EXPECT_THAT(IssuesOf("nodes:\n  - address: gpu[1-4]\n    chief: true\n"),
              ElementsAre(HasSubstr("f:3:12: 'chief' with an address that stands for 4 machines")));
  EXPECT_THAT(IssuesOf("nodes: [{address: 'gpu[1-4]'}]\nssh: {a: }\n"),
              ElementsAre(HasSubstr("f:1:19: node 'gpu1' has no 'ssh_config'")));
  EXPECT_THAT(IssuesOf(TwoNodes("'gpu[1-2]', gpus: [0], device_ips: [10.0.0.1]")),
              ElementsAre(HasSubstr("'device_ips' are those of one machine")));
  EXPECT_THAT(IssuesOf(TwoNodes("'gpu[1-2]', data_address: gpu-ib")),
              ElementsAre(HasSubstr("'data_address' stands for 1 machine, and 'address' for 2")));
  EXPECT_THAT(IssuesOf(TwoNodes("'gpu[1,1]'")),
              ElementsAre(HasSubstr("'gpu1' is already that of the node on line 3")));
  EXPECT_THAT(IssuesOf(TwoNodes("'gpu[1-'")), ElementsAre(HasSubstr("f:3:30: 'gpu[1-': ")));
  EXPECT_THAT(IssuesOf(TwoNodes("'10.0.0.[255-256]'")), ElementsAre(HasSubstr("10.0.0.256")));
  EXPECT_THAT(IssuesOf(TwoNodes("'gpu[1-5001]'")), ElementsAre(HasSubstr("more than 5000")));
  // Once, not for each of the nodes.
  EXPECT_THAT(
      IssuesOf("nodes:\n  - {address: a, chief: true}\n  - {address: 'gpu[1-9]'}\nssh: {b: }\n"),
      ElementsAre(HasSubstr("f:3:15: node 'gpu1' has no 'ssh_config'")));
}

TEST(SpecKeysTest, ANodeMayHaveItsOwnEnvironment) {
  const ResourceSpec spec =
      Read("nodes: [{address: localhost, python_venv: source v, shared_envs: {A: $B, C: }}]\n");
  EXPECT_EQ(spec.nodes[0].python_venv, "source v");
  EXPECT_THAT(spec.nodes[0].shared_envs, ElementsAre(std::pair("A", "$B"), std::pair("C", "")));
  EXPECT_THAT(IssuesOf("nodes: [{address: localhost, shared_envs: {1A: b}}]\n"),
              ElementsAre(HasSubstr("f:1:44: '1A' is not a name")));
}

TEST(SpecKeysTest, AChiefWithAGroupHasItsEnvironment) {
  const std::string nodes =
      "nodes:\n  - {address: a, chief: true, ssh_config: lab, shared_envs: {A: own}}\n"
      "  - {address: b, ssh_config: lab}\nssh:\n  lab: {";
  const Node chief =
      Read(nodes + "username: ann, python_venv: source v, shared_envs: {A: b, C: d}}\n").nodes[0];
  EXPECT_EQ(chief.python_venv, "source v");
  EXPECT_THAT(chief.shared_envs, ElementsAre(std::pair("C", "d"), std::pair("A", "own")));
  // The paths of a container are not those of the chief.
  EXPECT_EQ(
      Read(nodes + "via: podman, container: c, python_venv: source v}\n").nodes[0].python_venv, "");
}

TEST(SpecKeysTest, AUserWithTheHostIsRefused) {
  EXPECT_THAT(IssuesOf("nodes: [{address: gpu1, ssh_config: a}]\nssh: {a: {username: ann@gpu1}}\n"),
              ElementsAre("f:1:37: the user 'ann@gpu1' has the address of the node, too; write "
                          "'username: ann'"));
  Read("nodes: [{address: gpu1, ssh_config: a}]\nssh: {a: {username: ann@corp}}\n");
}

TEST(SpecKeysTest, ANodeWithEmptyListsOfDevicesHasNoRank) {
  EXPECT_THAT(Read(TwoNodes("10.0.0.2, gpus: [], cpus: []")).nodes[1].devices(), ElementsAre());
  EXPECT_THAT(Read(TwoNodes("10.0.0.2, gpus: []")).nodes[1].devices(), ElementsAre(0));
  EXPECT_THAT(Read(TwoNodes("10.0.0.2, cpus: []")).nodes[1].devices(), ElementsAre(0));
  EXPECT_THAT(IssuesOf("nodes: [{address: localhost, gpus: [], cpus: []}]\n"),
              ElementsAre(HasSubstr("f:1:8: 'gpus' and 'cpus' are empty on all nodes")));
}

TEST(SpecKeysTest, DuplicateDataAddresses) {
  EXPECT_THAT(IssuesOf("nodes:\n  - {address: 10.0.0.1, chief: true, data_address: fd00::1}\n"
                       "  - {address: 10.0.0.2, ssh_config: a, data_address: 'FD00:0::1'}\n"
                       "ssh: {a: }\n"),
              ElementsAre(HasSubstr("f:3:54: 'FD00:0::1' is already where ranks reach the node on "
                                    "line 2; each node needs a different data address")));
  // One node's data address is another's only address.
  EXPECT_THAT(IssuesOf(TwoNodes("10.0.0.2, data_address: 10.0.0.1")),
              ElementsAre(HasSubstr("f:3:54: '10.0.0.1' is already where ranks reach the node")));
}

TEST(SpecKeysTest, TwoServersBehindOneAddressNeedTwoNames) {
  EXPECT_THAT(
      IssuesOf("nodes:\n  - {address: 10.0.0.1, chief: true}\n"
               "  - {address: '[10.0.0.5]:2201', ssh_config: a}\n"
               "  - {address: '[10.0.0.5]:2202', ssh_config: a}\nssh: {a: }\n"),
      ElementsAre(HasSubstr("f:4:15: address '10.0.0.5' is already that of the node on line "
                            "3; two SSH servers behind one address need a host name each")));
}

TEST(SpecKeysTest, AllKeysOfAGroupAreOptional) {
  for (const std::string ssh : {"{a: }", "{a: {}}", "\n  a:\n", "{a: ~}"}) {
    const ResourceSpec spec = Read("nodes: [{address: localhost}]\nssh: " + ssh + "\n");
    ASSERT_TRUE(spec.ssh.contains("a")) << ssh;
    EXPECT_EQ(spec.ssh.at("a").key_file, "");
    EXPECT_FALSE(spec.ssh.at("a").port);
    EXPECT_FALSE(spec.ssh.at("a").host_key_check);
  }
  EXPECT_THAT(IssuesOf("nodes: [{address: localhost}]\nssh: {a: []}\n"),
              ElementsAre(HasSubstr("f:2:10: ssh group 'a' is a list")));
  EXPECT_THAT(IssuesOf(Group("key_file: ''")), ElementsAre(HasSubstr("'key_file' is empty")));
}

TEST(SpecKeysTest, Jumps) {
  EXPECT_EQ(Read(Group("proxy_jump: 'ann@gate:22,[fd00::1]'")).ssh.at("a").proxy_jump,
            "ann@gate:22,[fd00::1]");
  EXPECT_EQ(Read(Group("proxy_jump: none")).ssh.at("a").proxy_jump, "none");
  EXPECT_THAT(IssuesOf(Group("proxy_jump: '-oX'")),
              ElementsAre(HasSubstr("f:3:19: 'proxy_jump': '-oX' is neither")));
}

TEST(SpecKeysTest, HostKeyChecks) {
  EXPECT_EQ(Read(Group("host_key_check: strict")).ssh.at("a").host_key_check,
            v1::HOST_KEY_CHECK_STRICT);
  EXPECT_EQ(Read(Group("host_key_check: accept-new")).ssh.at("a").host_key_check,
            v1::HOST_KEY_CHECK_ACCEPT_NEW);
  EXPECT_EQ(Read(Group("host_key_check: off")).ssh.at("a").host_key_check, v1::HOST_KEY_CHECK_OFF);
  EXPECT_THAT(IssuesOf(Group("host_key_check: accept_new")),
              ElementsAre(HasSubstr("f:3:23: 'host_key_check': 'accept_new' should be strict, "
                                    "accept-new or off; did you mean 'accept-new'?")));
  for (const std::string bad : {"yes", "no", "Off", "ask"}) {
    EXPECT_THAT(IssuesOf(Group("host_key_check: " + bad)),
                ElementsAre(HasSubstr("should be strict, accept-new or off")));
  }
  EXPECT_THAT(IssuesOf(Group("host_key_check: no")), ElementsAre(HasSubstr("did you mean 'off'?")));
  EXPECT_THAT(IssuesOf(Group("host_key_check: [off]")), ElementsAre(HasSubstr("is a list")));
}

// Of reports about other programs: $HOME, "~" and "~user" in paths of keys, $USER as a name.
TEST(SpecKeysTest, NotationsOfAShellAreRefused) {
  const std::string variables = "variables are not replaced here; write the value itself";
  const std::string commands = "commands are not run here; write the value itself";
  const struct {
    std::string key, value, why;
  } cases[] = {
      {"username", "$USER", variables},
      {"username", "${USER}", variables},
      {"username", "`whoami`", commands},
      {"username", "{{ user }}", "templates are not filled in here"},
      {"key_file", "$KEYS/id_ed25519", variables},
      {"key_file", "${HOME}/.ssh/id", variables},
      {"key_file", "$(pwd)/key", commands},
      {"key_file", "~root/.ssh/id", "'~root' is not replaced here, only '~/' for your home folder"},
      {"proxy_jump", "$GATE", variables},
      {"proxy_jump", "${USER}@gate", variables},
      {"host_key_check", "$CHECK", variables},
      {"host_key_check", "${CHECK:-off}", variables},
      {"container", "train-$USER", variables},
      {"image", "registry/train:$TAG", variables},
  };
  for (const auto& [key, value, why] : cases) {
    const std::string via = key == "container" || key == "image" ? ", via: podman" : "";
    EXPECT_THAT(IssuesOf(Group(key + ": '" + value + "'" + via)),
                ElementsAre(HasSubstr("f:3:" + std::to_string(key.size() + 9) + ": '" + key +
                                      "' is '" + value + "': " + why)));
  }
  for (const std::string key : {"data_address", "ssh_address", "interface"}) {
    EXPECT_THAT(IssuesOf(TwoNodes("a, " + key + ": $NAME")),
                ElementsAre(HasSubstr("'" + key + "' is '$NAME': " + variables)));
  }
  EXPECT_THAT(IssuesOf(TwoNodes("$HOST")),
              ElementsAre(HasSubstr("f:3:30: 'address' is '$HOST': " + variables)));
  EXPECT_THAT(IssuesOf("nodes: [{address: localhost}]\nshared_paths: [$HOME/data, ~ann/data]\n"),
              ElementsAre(HasSubstr("'$HOME/data': " + variables), HasSubstr("'~ann' is not")));
  EXPECT_THAT(
      IssuesOf(TwoNodes("{{ host }}")),
      ElementsAre(HasSubstr("'address' is a mapping; it should be a text; templates are not "
                            "filled in here")));
  // All of them are reported together.
  EXPECT_THAT(IssuesOf(Group("username: $USER, key_file: $KEY, port: 0")), testing::SizeIs(3));
}

TEST(SpecKeysTest, NotationsOfAShellThatHaveAMeaning) {
  const ResourceSpec spec = Read(
      Group("username: 'host$', key_file: ~/k, python_venv: 'source $HOME/v; `x`', shared_envs: "
            "{A: '$B', C: '`d`'}"));
  EXPECT_EQ(spec.ssh.at("a").username, "host$");
  EXPECT_EQ(spec.ssh.at("a").key_file, "~/k");
  EXPECT_EQ(spec.ssh.at("a").python_venv, "source $HOME/v; `x`");
  EXPECT_THAT(spec.ssh.at("a").shared_envs,
              ElementsAre(std::pair("A", "$B"), std::pair("C", "`d`")));
}

TEST(SpecKeysTest, ReadingsOfYaml) {
  EXPECT_EQ(Read(Group("username: 007")).ssh.at("a").username, "007");
  EXPECT_EQ(Read(Group("username: no")).ssh.at("a").username, "no");
  EXPECT_EQ(Read("nodes: [{address: localhost}]\nssh: {on: {port: '22'}}\n").ssh.at("on").port, 22);
  const struct {
    const char* setting;
    const char* issue;
  } cases[] = {
      {"username: root@gpu7",
       "'username': 'root@gpu7' is not a user name: a host is the 'address' of a node"},
      {"port: 0x16", "'port' is '0x16'; it should be a number"},
      {"port: 0o26", "'port' is '0o26'; it should be a number"},
      {"port: 1e3", "'port' is '1e3'; it should be a number"},
      {"port: 12:30", "'port' is '12:30'; it should be a number"},
      {"port: 2_222", "'port' is '2_222'; it should be a number"},
      {"port: yes", "'port' is 'yes'; it should be a number"},
      {"port: ~", "'port' is empty; it should be a number"},
      {"username: ~", "'username' is empty; it should be a text"},
      {"username: 12:30", "'username': '12:…' is not a user name"},
  };
  for (const auto& [setting, issue] : cases) {
    EXPECT_THAT(IssuesOf(Group(setting)), ElementsAre(HasSubstr(issue))) << setting;
  }
  EXPECT_THAT(IssuesOf("nodes: [{address: localhost, gpus: [0x1, 1e0, 1:30]}]\n"),
              ElementsAre(HasSubstr("'0x1' is not a device number"), HasSubstr("'1e0' is not"),
                          HasSubstr("'1:30' is not")));
}

TEST(SpecKeysTest, SharedPaths) {
  const std::string node = "nodes: [{address: localhost}]\n";
  EXPECT_THAT(Read(node + "shared_paths: [/home, /data//x/, /]\n").shared_paths,
              ElementsAre("/home", "/data/x", "/"));
  EXPECT_THAT(Read(node + "shared_paths: []\n").shared_paths, ElementsAre());
  EXPECT_THAT(
      IssuesOf(node + "shared_paths: /home\n"),
      ElementsAre(HasSubstr("f:2:15: 'shared_paths' is a single value; it should be a list")));
  EXPECT_THAT(
      IssuesOf(node + "shared_paths: [home, ~/x, '', {}, \"/a\\0\", /a, /a/]\n"),
      ElementsAre(HasSubstr("f:2:16: 'shared_paths': 'home' is not the absolute path of a folder; "
                            "it should begin with '/'"),
                  HasSubstr("f:2:22:"), HasSubstr("'shared_paths' is empty"),
                  HasSubstr("'shared_paths' is a mapping"), HasSubstr("cannot contain a zero byte"),
                  HasSubstr("'/a/' is listed twice")));
}

TEST(SpecKeysTest, ControlCharactersAreEscaped) {
  const std::string text =
      "\"k\\x1b[2J\": 1\nnodes:\n  - address: \"a\\nb\"\n    gpus: [\"\\e\"]\n    chief: \"\\a\"\n"
      "    ssh_config: \"g\\x9b\"\nssh:\n  \"h\\x1b\": {\"p\\u202e\": 1}\n";
  const std::vector<std::string> issues = IssuesOf(text);
  EXPECT_THAT(issues,
              ElementsAre(HasSubstr("unknown key 'k\\x1b[2J'"), HasSubstr("'a\\nb' is neither"),
                          HasSubstr("'\\x1b' is not a device number"), HasSubstr("'\\x07'"),
                          HasSubstr("ssh group 'g\\u009b' is not defined; defined are: h\\x1b"),
                          HasSubstr("unknown key 'p\\u202e' in ssh group 'h\\x1b'")));
  for (const std::string& issue : issues) {
    for (const char c : issue) EXPECT_FALSE(std::iscntrl(static_cast<unsigned char>(c))) << issue;
  }
}

TEST(SpecKeysTest, LongValuesAreTruncatedBetweenCharacters) {
  std::string name(59, 'a');
  for (int i = 0; i < 20; ++i) name += "ü";
  EXPECT_THAT(IssuesOf("nodes: [{address: '" + name + "'}]\n"),
              ElementsAre(HasSubstr("'" + std::string(59, 'a') + "…' is neither")));
}

}  // namespace
}  // namespace autodist::spec
