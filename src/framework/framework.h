// A framework's way to describe the job to its processes. Each framework has its own file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::framework {

// One process of a plan that is complete except for environments.
struct Process {
  const v1::LaunchPlan& plan;
  const v1::NodePlan& node;
  const v1::RankPlan& rank;
};

using SetVariable = std::function<void(const std::string& name, const std::string& value)>;

struct Framework {
  const char* name;
  const char* programs;  // the programs that it is for
  std::vector<v1::ProgramKind> kinds;
  // Whether the program opens the job's rendezvous port, which only one framework of a job may do.
  bool uses_master_port;
  // Sets the variables of one process. Auxiliary processes are passed only to the framework that
  // added them.
  void (*set_variables)(const Process& process, const SetVariable& set);
  // Rejects plans that the framework does not support, with all reasons.
  Status (*check)(const v1::LaunchPlan& plan) = nullptr;
  // Adds auxiliary processes, files and ports.
  void (*extend)(v1::LaunchPlan& plan) = nullptr;
  // Whether the ranks listen at the job's rank ports, which only one framework of a job may use.
  bool uses_rank_ports = false;
};

extern const Framework kTorch;
extern const Framework kPaddle;
extern const Framework kMindspore;
extern const Framework kRanktable;
extern const Framework kJax;
extern const Framework kTensorflow;
extern const Framework kHorovod;
extern const Framework kDeepspeed;
extern const Framework kMpi;

}  // namespace autodist::framework
