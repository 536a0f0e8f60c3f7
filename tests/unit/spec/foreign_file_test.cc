#include "spec/foreign_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::spec {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(ForeignFileTest, IsRecognised) {
  struct Case {
    const char* text;
    const char* kind;  // "": unknown
    size_t hosts;      // 0: it names none
  };
  const Case cases[] = {
      {"nodes: [{address: a}]", "", 0},
      {"nodes: 3\ncluster_name: x\nprovider: {}", "", 0},
      {"", "", 0},
      {"hello", "", 0},
      {"a: b", "", 0},
      {"[1, {a: b}]", "", 0},
      {"gpu1", "a list of hosts", 1},
      {"hello slots=2", "a list of hosts", 1},
      {"a:2\nb:2", "a list of hosts", 2},
      {"- a\n- b:2", "a list of hosts", 2},
      {"{a: 2, b: 2}", "a list of hosts", 2},
      {"{a: 2, b: x}", "", 0},
      {"distributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 2", "an accelerate config", 1},
      {"distributed_type: MULTI_GPU\nnum_machines: 2", "an accelerate config", 0},
      {"distributed_type: DEEPSPEED\ndeepspeed_config: {deepspeed_hostfile: /h}",
       "an accelerate config", 0},
      {"{\"train_micro_batch_size_per_gpu\": 1}", "a DeepSpeed configuration", 0},
      {"cluster_name: a\nprovider: {type: local, head_ip: a, worker_ips: [b, c]}",
       "a Ray cluster configuration", 3},
      {"cluster_name: a\nprovider: {type: gcp}", "a Ray cluster configuration", 0},
      {"resources: {cloud: aws}\nrun: x", "a SkyPilot task", 0},
      {"p: {hosts: [a, {ip: b}]}\nq: {hosts: [c]}", "a list of SkyPilot's SSH node pools", 3},
      {"{\"server_list\": [{\"server_id\": \"a\", \"device\": [{\"device_id\": \"0\"}]}]}",
       "a rank table of HCCL", 1},
      {"group_list: [{instance_list: [{server_id: a, devices: [{device_id: 1}]}]}]",
       "a rank table of HCCL", 1},
      {"roles: [{name: x, entrypoint: y}]", "an AppDef of TorchX", 0},
      {"apiVersion: v1\nkind: Pod", "a Kubernetes manifest (kind 'Pod')", 0},
      {"services: {a: {image: b}}", "a file of docker compose", 0},
      {"{\"cluster\": {\"chief\": [\"a:1\"], \"worker\": [\"b:1\"]}}", "a TF_CONFIG", 2},
      {"- {hosts: all, tasks: []}", "a playbook of Ansible", 0},
      {"all: {hosts: {a: , b: }}", "an inventory of Ansible", 2},
      {"trainer: {devices: 2}", "a configuration of Lightning or NeMo", 0},
      {"#!/bin/sh\n#SBATCH -N 2", "a batch script of Slurm", 0},
      {"#!/bin/sh\n#BSUB -n 2", "a batch script of LSF", 0},
      {"#!/usr/bin/env python3\n", "a script", 0},
      {"Host a\n  HostName b\n", "a configuration of OpenSSH", 0},
      {"[w]\na1 ansible_user=b\n", "a list of hosts", 1},
      {"[w]\na1\na2\n", "a list of hosts", 2},
      {"[fd00::1]:4\n[fd00::2]:4\n", "a list of hosts", 2},
      {"hostname,ip\nn1,10.0.0.1\nn2,10.0.0.2\n", "a list of hosts", 2},
      {"ssh -p 22 root@10.0.0.1 -L 1:h:1\n", "a list of hosts", 1},
      {"10.0.0.1 n1.lab n1\n", "a list of hosts", 1},
      {"n1, n2\n", "a list of hosts", 2},
      {"n[1-2] gpu,compute\n", "a genders file", 0},
      {"{{ host }}\n", "a template that is not filled in", 0},
      {"n1\n{{ host }} slots=8\n", "a template that is not filled in", 0},
      {"{% for host in hosts %}\n{{ host }}\n{% endfor %}\n", "a template that is not filled in",
       0},
      {"Include more\nHost n*\n  ForwardAgent yes\n", "a configuration of OpenSSH", 0},
      {"n1 ssh-ed25519 AAAA\n", "a known_hosts file", 0},
      {"Hello, dear world\n", "", 0},
  };
  EXPECT_THAT(RecogniseFile("#!/bin/sh\n", "run it.sh")->advice,
              testing::EndsWith("-- './run it.sh'"));
  EXPECT_THAT(RecogniseFile("#!/bin/sh\n", "/a/run.sh")->advice, testing::EndsWith("-- /a/run.sh"));
  for (const auto& [text, kind, hosts] : cases) {
    const auto found = RecogniseFile(text, "f");
    ASSERT_EQ(found.has_value(), *kind != '\0') << text;
    if (!found) continue;
    EXPECT_EQ(found->kind, kind) << text;
    ASSERT_EQ(found->hosts.has_value(), hosts > 0) << text;
    if (hosts == 0) {
      EXPECT_NE(found->advice, "") << text;
      EXPECT_THAT(HostsIn(text, "f").issues, SizeIs(1)) << text;
    } else {
      EXPECT_THAT(found->hosts->issues, SizeIs(0)) << text;
      EXPECT_THAT(found->hosts->hosts, SizeIs(hosts)) << text;
      EXPECT_THAT(NoSpec(*found, "f f"), HasSubstr("'autodist init --from 'f f' --output"));
    }
  }
}

TEST(ForeignFileTest, ASpecIsNotAHostList) {
  const HostList list = HostsIn("nodes: [{address: a}]", "f");
  ASSERT_THAT(list.issues, SizeIs(1));
  EXPECT_THAT(list.issues[0].what, HasSubstr("a resource spec already"));
  EXPECT_THAT(HostsIn("a: b", "f").issues[0].what, HasSubstr("unknown format"));
}

TEST(ForeignFileTest, DetailsOfTheHosts) {
  const HostList table = HostsIn(
      "{\"server_list\": [{\"server_id\": \"a\", \"device\": [\n\t{\"device_id\": \"2\", "
      "\"device_ip\": \"10.1.0.1\"}, {\"device_id\": \"5\", \"device_ip\": \"10.1.0.2\"}]}]}",
      "f");
  ASSERT_THAT(table.hosts, SizeIs(1));
  EXPECT_THAT(table.hosts[0].devices, testing::ElementsAre(2, 5));
  EXPECT_THAT(table.hosts[0].device_ips, testing::ElementsAre("10.1.0.1", "10.1.0.2"));
  const HostList ray = HostsIn(
      "cluster_name: a\nprovider: {head_ip: a, worker_ips: [b]}\nauth: {ssh_user: ann, "
      "ssh_private_key: ~/k}",
      "f");
  ASSERT_THAT(ray.hosts, SizeIs(2));
  EXPECT_EQ(ray.hosts[1].user, "ann");
  EXPECT_EQ(ray.hosts[1].key_file, "~/k");
}

TEST(ForeignFileTest, AliasesDoNotMultiply) {
  std::string bomb = "x: &a0 {hosts: {h: }}\n";
  for (int i = 1; i < 60; ++i) {
    bomb += "g" + std::to_string(i) + ": &a" + std::to_string(i) + " {children: {";
    for (int j = 0; j < 9; ++j) {
      bomb += "c" + std::to_string(j) + ": *a" + std::to_string(i - 1) + ", ";
    }
    bomb += "}}\n";
  }
  EXPECT_FALSE(RecogniseFile(bomb, "f"));
  EXPECT_FALSE(RecogniseFile("&a {all: {hosts: *a}}", "f"));
}

}  // namespace
}  // namespace autodist::spec
