// What a framework sets for the processes of a job, by an example: for `autodist frameworks`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "framework/framework.h"

namespace autodist::plan {

struct ExampleVariable {
  std::string name;
  std::string value;
  bool on_chief = false;  // alone
};

struct Example {
  std::vector<ExampleVariable> variables;                      // beyond what every program finds
  bool pmix = false;                                           // MPI_Init is served
  std::vector<std::pair<std::string, std::string>> auxiliary;  // process, address of its node
};

// On two nodes with eight devices each.
Result<Example> WhatIsTold(const framework::Framework& framework, v1::ProgramKind kind);

}  // namespace autodist::plan
