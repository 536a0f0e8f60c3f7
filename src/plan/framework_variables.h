// The variables that a framework sets, by an example, for `autodist frameworks`.
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
  bool on_chief = false;  // only there
};

struct Example {
  std::vector<ExampleVariable> variables;  // in addition to those of every program
  bool pmix = false;                       // whether MPI_Init is supported
  std::vector<std::pair<std::string, std::string>> auxiliary;  // process, address of the node
};

// Plans two nodes with eight devices each.
Result<Example> ExampleOf(const framework::Framework& framework, v1::ProgramKind kind);

}  // namespace autodist::plan
