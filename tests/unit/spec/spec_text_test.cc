#include "spec/spec_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/for_user.h"
#include "spec/yaml_reader.h"

namespace autodist::spec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

HostFacts Has(uint32_t gpus, uint32_t cpus = 64) {
  HostFacts facts;
  facts.gpus = gpus;
  facts.cpus = cpus;
  return facts;
}

HostFacts NotReached(const std::string& why) {
  HostFacts facts;
  facts.unknown = Error(StatusCode::kUnavailable, why);
  return facts;
}

HostFacts Here(HostFacts facts) {
  facts.here = true;
  return facts;
}

SshGroup Login(const std::string& key_file, const std::string& username,
               std::optional<uint16_t> port) {
  SshGroup login;
  login.key_file = key_file;
  login.username = username;
  login.port = port;
  return login;
}

const SshGroup kLogin = Login("~/.ssh/id_ed25519", "ubuntu", 2222);

// Checks that the parsed text equals the draft's spec.
void ExpectReadsBack(const SpecDraft& draft) {
  const std::string text = SpecText(draft);
  const ReadOutcome outcome = ReadSpec(text, "f");
  ASSERT_TRUE(outcome.spec) << outcome.issues[0].ToString() << "\n" << text;
  ASSERT_EQ(outcome.spec->nodes.size(), draft.spec.nodes.size());
  for (size_t i = 0; i < draft.spec.nodes.size(); ++i) {
    const Node& read = outcome.spec->nodes[i];
    const Node& meant = draft.spec.nodes[i];
    EXPECT_EQ(read.address, meant.address);
    EXPECT_EQ(read.gpus, meant.gpus);
    EXPECT_EQ(read.cpus, meant.cpus);
    EXPECT_EQ(read.chief, meant.chief);
    EXPECT_EQ(read.ssh_config, meant.ssh_config);
    EXPECT_EQ(read.python_venv, meant.python_venv);
    EXPECT_EQ(read.shared_envs, meant.shared_envs);
  }
  ASSERT_EQ(outcome.spec->ssh.size(), draft.spec.ssh.size());
  for (const auto& [name, meant] : draft.spec.ssh) {
    const SshGroup& read = outcome.spec->ssh.at(name);
    EXPECT_EQ(read.key_file, meant.key_file);
    EXPECT_EQ(read.username, meant.username);
    EXPECT_EQ(read.port, meant.port);
    EXPECT_EQ(read.python_venv, meant.python_venv);
    EXPECT_EQ(read.shared_envs, meant.shared_envs);
  }
}

TEST(SpecTextTest, IsReadable) {
  HostFacts chief = Here(Has(4));
  chief.address = "10.0.0.1";
  chief.address_note = "given as localhost, which others cannot reach";
  const SpecDraft draft =
      DraftSpec({{"", "localhost", std::nullopt}, {"", "b", 2}, {"ann", "c", 2}, {"", "d", 3}},
                {chief, Has(8), Has(0), NotReached("Connection refused\nmore")}, kLogin);
  EXPECT_EQ(SpecText(draft),
            R"(# Which machines take part in a job, with which devices, and how to log in to them.
# After a change:            autodist validate FILE
# What would be started:     autodist run --spec FILE --dry-run -- ./train
nodes:
  - address: 10.0.0.1  # given as localhost, which others cannot reach
    gpus: [0, 1, 2, 3]
    chief: true  # the machine on which autodist run is typed
  - address: b
    gpus: [0, 1]  # the first 2 of 8
    ssh_config: as_ubuntu
  - address: c
    cpus: [0, 1]  # no GPU there, 64 CPUs; one rank per number
    ssh_config: as_ann
  - address: d
    gpus: [0, 1, 2]  # not reached: Connection refused
    ssh_config: as_ubuntu
ssh:
  as_ann:
    key_file: ~/.ssh/id_ed25519
    username: ann
    port: 2222
  as_ubuntu:
    key_file: ~/.ssh/id_ed25519
    username: ubuntu
    port: 2222
)");
  ExpectReadsBack(draft);
  EXPECT_EQ(draft.spec.nodes[0].given, "localhost");
  EXPECT_EQ(draft.spec.nodes[1].given, "");
  EXPECT_THAT(draft.warnings,
              ElementsAre(HasSubstr("d did not report the devices: Connection refused"),
                          HasSubstr("c has no GPU, 2 have; leave it out unless")));
}

TEST(SpecTextTest, CommandsInTheHeaderNameTheFile) {
  const SpecDraft draft = DraftSpec({{"", "localhost", 1}}, {Here(Has(1))}, {});
  EXPECT_THAT(SpecText(draft, "made.yaml"),
              testing::AllOf(HasSubstr("autodist validate made.yaml\n"),
                             HasSubstr("autodist run --spec made.yaml --dry-run -- ./train\n")));
  EXPECT_THAT(SpecText(draft, "a\nb c"), HasSubstr(R"(autodist validate 'a\nb c')"));
}

TEST(SpecTextTest, UnknownDevicesAreNotGuessed) {
  HostFacts reached;
  reached.cpus = 64;
  reached.unknown = Error(StatusCode::kFailedPrecondition, "nvidia-smi -L fails: mismatch");
  struct Case {
    HostEntry host;
    HostFacts facts;
    const char* line;  // of the devices
    bool counted;
  };
  const Case cases[] = {
      {{"", "a", {}}, reached, "gpus: unknown  # nvidia-smi -L fails: mismatch; write the", false},
      {{"", "a", {}}, NotReached("timed out"), "gpus: unknown  # timed out; write the", false},
      {{"", "a", {}}, {}, "gpus: unknown  # not asked; write the numbers of the GPUs", false},
      {{"", "a", 2}, reached, "gpus: [0, 1]  # not counted: nvidia-smi -L fails", true},
      {{"", "a", 2}, NotReached("timed out"), "gpus: [0, 1]  # not reached: timed out", true},
  };
  for (const Case& one : cases) {
    const SpecDraft draft = DraftSpec({one.host}, {one.facts}, {});
    const std::string text = SpecText(draft);
    EXPECT_THAT(text, HasSubstr(one.line));
    EXPECT_EQ(draft.spec.nodes[0].counted.ok(), one.counted) << text;
    const ReadOutcome read = ReadSpec(text, "f");
    EXPECT_EQ(read.spec.has_value(), one.counted) << text;
    if (!one.counted) {
      EXPECT_THAT(read.issues[0].ToString(), HasSubstr("'gpus' is 'unknown'; it should be a list"));
    }
  }
}

TEST(SpecTextTest, AllKeysOfASpec) {
  const std::string text = R"(nodes:
  - {address: '[fd00::2]:2222', gpus: [0, 1], ssh_config: a, device_ips: [10.9.0.1, 10.9.0.2],
     ssh_address: far, data_address: 10.1.0.2, interface: ib0, network_bandwidth: 25,
     host_keys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA],
     python_venv: "one 'two'\nthree\t\"", shared_envs: {X: '', 'null': "a\nb", PS: "\x1b[1m"}}
  - {address: b, cpus: [3], ssh_config: a}
  - {address: c, cpus: [], gpus: [], ssh_config: 'the pods'}
ssh:
  a: {key_file: ~/k, username: ann, port: 2222, proxy_jump: 'j,k:22', host_key_check: accept-new,
      via: podman, image: 'i:1', run_options: [-v, '/d:/d']}
  the pods: {via: [kubectl, exec, '{node}', --], python_venv: 'source v: # x'}
  b: {via: docker, container: train, host_key_check: 'off'}
shared_paths: [/home, '/a b']
)";
  const ReadOutcome meant = ReadSpec(text, "f");
  ASSERT_TRUE(meant.spec) << meant.issues[0].ToString();
  const std::string written = SpecText(*meant.spec);
  const ReadOutcome read = ReadSpec(written, "f");
  ASSERT_TRUE(read.spec) << read.issues[0].ToString() << "\n" << written;
  EXPECT_EQ(SpecText(*read.spec), written);
  const Node& node = read.spec->nodes[0];
  EXPECT_EQ(node.python_venv, "one 'two'\nthree\t\"");
  EXPECT_THAT(node.shared_envs, ElementsAre(testing::Pair("X", ""), testing::Pair("null", "a\nb"),
                                            testing::Pair("PS", "\x1b[1m")));
  EXPECT_EQ(node.port, 2222);
  EXPECT_EQ(node.ssh_address, "far");
  EXPECT_EQ(node.network_bandwidth, 25);
  EXPECT_EQ(node.host_keys.size(), 1U);
  EXPECT_THAT(node.device_ips, ElementsAre("10.9.0.1", "10.9.0.2"));
  EXPECT_THAT(read.spec->nodes[2].devices(), IsEmpty());
  EXPECT_EQ(read.spec->ssh.at("a").host_key_check, v1::HOST_KEY_CHECK_ACCEPT_NEW);
  EXPECT_EQ(read.spec->ssh.at("b").host_key_check, v1::HOST_KEY_CHECK_OFF);
  EXPECT_THAT(read.spec->ssh.at("a").run_options, ElementsAre("-v", "/d:/d"));
  EXPECT_EQ(read.spec->ssh.at("the pods").python_venv, "source v: # x");
  EXPECT_THAT(read.spec->shared_paths, ElementsAre("/home", "/a b"));
}

TEST(SpecTextTest, TheEnvironmentAppliesToTheChiefToo) {
  SshGroup login;
  login.python_venv = "source 'my venv'/bin/activate; export A=\"1\"";
  login.shared_envs = {{"PATH", "$PATH:/opt/bin"}, {"EMPTY", ""}, {"NUMBER", "1"}, {"Z", "#: -"}};
  const SpecDraft draft = DraftSpec({{"", "a", 1}, {"", "b", 1}}, {Here(Has(1)), Has(1)}, login);
  EXPECT_EQ(draft.spec.nodes[0].python_venv, login.python_venv);
  EXPECT_EQ(draft.spec.nodes[1].python_venv, "");
  ExpectReadsBack(draft);
}

TEST(SpecTextTest, OneMachineNeedsNoSsh) {
  const SpecDraft draft = DraftSpec({{"", "localhost", std::nullopt}}, {Here(Has(2))}, kLogin);
  EXPECT_THAT(SpecText(draft), testing::Not(HasSubstr("ssh")));
  ExpectReadsBack(draft);
}

TEST(SpecTextTest, OneGroupForOneUser) {
  const SpecDraft draft =
      DraftSpec({{"ann", "a", 1}, {"bob", "b", 1}, {"bob", "c", 1}}, {Here({}), {}, {}}, kLogin);
  EXPECT_THAT(SpecText(draft), HasSubstr("ssh:\n  workers:\n"));
  EXPECT_THAT(SpecText(draft), HasSubstr("gpus: [0]  # not asked; put the numbers"));
  ExpectReadsBack(draft);
}

TEST(SpecTextTest, WithoutThisMachineThereIsNoChief) {
  const SpecDraft draft = DraftSpec({{"ann", "a", 1}, {"bob", "b", 1}}, {{}, {}}, kLogin);
  EXPECT_EQ(draft.spec.chief(), nullptr);
  EXPECT_THAT(SpecText(draft), HasSubstr("ssh:\n  as_ann:\n"));
  ExpectReadsBack(draft);
}

TEST(SpecTextTest, AnUnknownLoginIsAnEmptyGroup) {
  const SpecDraft draft = DraftSpec({{"", "a", 1}, {"", "b", 1}}, {Has(1), Here(Has(1))}, {});
  EXPECT_THAT(SpecText(draft),
              HasSubstr("ssh:\n  workers: {}  # empty: log in as 'ssh HOST' does"));
  EXPECT_TRUE(draft.spec.nodes[1].chief);
}

TEST(SpecTextTest, MoreSlotsThanGpusCauseAWarning) {
  const SpecDraft draft =
      DraftSpec({{"", "a", 8}, {"", "b", 1}}, {Here(Has(4)), Has(9999999)}, kLogin);
  EXPECT_THAT(draft.warnings, ElementsAre(HasSubstr("a has 4 GPUs, fewer than the 8 given")));
  EXPECT_EQ(draft.spec.nodes[0].gpus.size(), 4u);
  EXPECT_THAT(SpecText(draft), HasSubstr("  # 8 were asked for; it has 4\n"));
  ExpectReadsBack(draft);
}

TEST(SpecTextTest, HostsWithoutGpusAmongOthers) {
  const HostEntry login{"", "login", 1, /*counted=*/true};
  const HostEntry meant{"", "login", 2};
  const HostEntry gpu{"", "gpu", 2};
  struct Case {
    std::vector<HostEntry> hosts;
    std::vector<HostFacts> facts;
    std::vector<size_t> ranks;
    const char* warning;  // empty: none
  };
  const Case cases[] = {
      {{login, gpu},
       {Here(Has(0)), Has(2)},
       {0, 2},
       "login has no GPU, the other one has; leave it"},
      {{meant, gpu}, {Here(Has(0)), Has(2)}, {2, 2}, "as the number behind login says"},
      {{{"", "a", {}}, {"", "b", {}}, gpu},
       {Has(0), Has(0), Has(2)},
       {0, 0, 2},
       "a, b have no GPU, the other one has; leave them out"},
      {{login, gpu}, {Has(0), Has(0)}, {1, 2}, ""},
      {{login, gpu}, {Has(0), NotReached("x")}, {1, 2}, "gpu did not report the devices: x"},
  };
  for (const Case& one : cases) {
    const SpecDraft draft = DraftSpec(one.hosts, one.facts, {});
    std::vector<size_t> ranks;
    for (const Node& node : draft.spec.nodes) ranks.push_back(node.devices().size());
    EXPECT_EQ(ranks, one.ranks);
    const std::string said = draft.warnings.empty() ? "" : draft.warnings[0];
    EXPECT_THAT(said, HasSubstr(one.warning));
    EXPECT_EQ(said.empty(), std::string(one.warning).empty());
    ExpectReadsBack(draft);
  }
}

TEST(SpecTextTest, WhatNvidiaSmiSaysIsQuoted) {
  HostFacts login = Here(Has(0));
  login.nvidia_smi = "couldn't communicate with the NVIDIA driver";
  HostFacts gpus = Has(2);
  gpus.nvidia_smi = "WARNING: infoROM is corrupted at gpu 0000:41:00.0";
  const SpecDraft draft = DraftSpec({{"", "login", {}}, {"", "gpu", {}}}, {login, gpus}, {});
  EXPECT_THAT(draft.warnings,
              ElementsAre("gpu: nvidia-smi says: " + gpus.nvidia_smi,
                          HasSubstr("login (nvidia-smi says: couldn't communicate with the NVIDIA "
                                    "driver) has no GPU, the other one has")));
  EXPECT_EQ(draft.spec.nodes[1].gpus.size(), 2u);
}

TEST(SpecTextTest, NumbersThatOthersUseAsPorts) {
  const auto warning = [](uint32_t slots, const HostFacts& facts) {
    const SpecDraft draft = DraftSpec({{"", "a", slots}}, {facts}, {});
    return draft.warnings.empty() ? "" : draft.warnings.back();
  };
  EXPECT_THAT(warning(22, {}), HasSubstr("'a:22' means 22 devices; a port is '--port 22' of init"));
  EXPECT_THAT(warning(2222, NotReached("x")), HasSubstr("'a:2222' means 2222 devices"));
  EXPECT_THAT(warning(22, Has(8)), HasSubstr("a has 8 GPUs, fewer than the 22 given"));
  EXPECT_THAT(warning(22, Has(0, 2)),
              HasSubstr("a has no GPU and 2 CPUs, fewer than the 22 given"));
  EXPECT_THAT(warning(22, Has(0, 64)),
              HasSubstr("a has no GPU and 64 CPUs, and there are 22 given"));
  EXPECT_THAT(warning(4, Has(0, 2)), HasSubstr("fewer than the 4 given; some share a CPU"));
  for (const uint32_t slots : {1u, 8u, 16u, 64u}) EXPECT_EQ(warning(slots, {}), "") << slots;
  base::SetNodeSource(base::NodeSource::kHosts);
  const auto of_run = DraftSpec({{"", "a", 22}}, {Has(0, 2)}, {}).warnings;
  base::SetNodeSource(base::NodeSource::kSpec);
  EXPECT_THAT(of_run,
              ElementsAre(testing::AllOf(HasSubstr("those that are there are used; 'a:22' means 22 "
                                                   "devices; a port is 'Port 22' in ~/.ssh/config"),
                                         testing::Not(HasSubstr("of init")))));
  EXPECT_EQ(DraftSpec({{"", "a", 22}}, {Has(0, 2)}, {}).spec.nodes[0].cpus.size(), 2u);
  EXPECT_EQ(DraftSpec({{"", "a", 4}}, {Has(0, 2)}, {}).spec.nodes[0].cpus.size(), 4u);
}

TEST(SpecTextTest, AGroupForEachLogin) {
  HostEntry port{"", "b", 1};
  port.port = 2200;
  HostEntry key{"ann", "d", 1};
  key.key_file = "~/k";
  const SpecDraft draft =
      DraftSpec({{"", "a", 1}, port, {"ann", "c", 1}, key}, {{}, {}, {}, {}}, {});
  std::vector<std::string> groups;
  for (const Node& node : draft.spec.nodes) groups.push_back(node.ssh_config);
  EXPECT_THAT(groups, ElementsAre("workers", "workers_port_2200", "as_ann", "as_ann_2"));
  EXPECT_EQ(draft.spec.ssh.at("workers_port_2200").port, 2200);
  EXPECT_EQ(draft.spec.ssh.at("as_ann_2").key_file, "~/k");
  ExpectReadsBack(draft);
  HostEntry jump{"", "e", 1};
  jump.proxy_jump = "ann@gate:22";
  const SpecDraft behind = DraftSpec({{"", "a", 1}, jump}, {{}, {}}, {});
  EXPECT_EQ(behind.spec.ssh.at(behind.spec.nodes[1].ssh_config).proxy_jump, "ann@gate:22");
  EXPECT_EQ(behind.spec.ssh.at(behind.spec.nodes[0].ssh_config).proxy_jump, "");
  ExpectReadsBack(behind);
}

TEST(SpecTextTest, AnyNamesAreQuoted) {
  const SpecDraft draft =
      DraftSpec({{"", "fd00::", 1},
                 {"#its!x%*@y", "null", 1},
                 {"yes", "yes", 1},
                 {"~", "::2", 1},
                 {"", "x", 1}},
                {{}, {}, {}, {}, {}}, Login("~/a b/'key' #1: {x}", "null", std::nullopt));
  ExpectReadsBack(draft);
  ExpectReadsBack(DraftSpec({{"", "a", 1}, {"", "b", 1}}, {{}, {}}, Login("~", "", 1)));
}

TEST(SpecTextTest, AHostsOutputStaysInItsComment) {
  const SpecDraft draft =
      DraftSpec({{"", "a", 1}, {"", "b", 1}},
                {{}, NotReached("evil\r    chief: true\x1b[31m\xff\nsecond line")}, kLogin);
  EXPECT_THAT(SpecText(draft), HasSubstr("# not reached: evil?    chief: true?[31m?\n"));
  ExpectReadsBack(draft);
}

// The text is kept in the log folder, which users send to others.
TEST(SpecTextTest, WithoutEnvironmentsItHasNoSecrets) {
  ResourceSpec spec = SingleNode({});
  spec.nodes[0].shared_envs = {{"TOKEN", "secret"}};
  spec.nodes[0].python_venv = "export TOKEN=secret";
  spec.nodes[0].ssh_config = "lab";
  spec.ssh["lab"] = kLogin;
  spec.ssh["lab"].shared_envs = {{"KEY", "secret"}};
  spec.ssh["lab"].python_venv = "export KEY=secret";
  const std::string text = SpecText(WithoutEnvironments(spec));
  EXPECT_THAT(text, testing::Not(HasSubstr("secret")));
  EXPECT_THAT(text, HasSubstr("ubuntu"));
}

}  // namespace
}  // namespace autodist::spec
