// Plans for tests.
#pragma once

#include "autodist/v1/plan.pb.h"
#include "plan/plan.h"
#include "spec/yaml_reader.h"

namespace autodist::test {

// Three nodes: the second one in the file is the chief, with two ranks on GPUs 1 and 3; two CPU
// ranks on the first; one rank on the third.
inline plan::Input ThreeNodeInput() {
  plan::Input input;
  input.spec = *spec::ReadSpec(R"(
nodes:
  - {address: 10.0.0.2, cpus: [0, 1], ssh_config: a}
  - {address: 10.0.0.1, gpus: [1, 3], chief: true}
  - {address: node3, ssh_config: b}
ssh:
  a: {key_file: ~/k, port: 2222, python_venv: 'source v', shared_envs: {X: '$Y', API_TOKEN: s3cret}}
  b: {key_file: keys/b, username: ann}
)",
                               "test")
                    .spec;
  input.command = {"./train", "two words"};
  input.job_id = "job-1";
  input.user = {"me", "/home/me", "/work", "/run/agent"};
  input.working_directory = "/work";
  input.master_port = 4711;
  for (const auto& [name, ip] :
       {std::pair{"10.0.0.1", "10.0.0.1"}, {"10.0.0.2", "10.0.0.2"}, {"node3", "10.0.0.3"}}) {
    input.address_of[name] = {ip, ip, "", {}};
  }
  return input;
}

// With two CPUs each.
inline plan::Input EqualNodes() {
  plan::Input input = ThreeNodeInput();
  for (spec::Node& node : input.spec.nodes) {
    node.gpus.clear();
    node.cpus = {0, 1};
  }
  return input;
}

inline v1::LaunchPlan ThreeNodePlan() { return *plan::MakePlan(ThreeNodeInput()); }

}  // namespace autodist::test
