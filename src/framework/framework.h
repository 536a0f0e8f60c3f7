// How the programs of a framework are told who they are: one framework per framework, one file per
// framework.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::framework {

// One process of a plan of which all is known but environments.
struct Process {
  const v1::LaunchPlan& plan;
  const v1::NodePlan& node;
  const v1::RankPlan& rank;
};

using SetVariable = std::function<void(const std::string& name, const std::string& value)>;

struct Framework {
  const char* name;
  const char* programs;  // whose language it is
  std::vector<v1::ProgramKind> kinds;
  // Whether the program opens the job's rendezvous port. Only one framework of a job may.
  bool uses_master_port;
  // Sets what one process finds. Auxiliary processes are passed only to who adds them.
  void (*set_variables)(const Process& process, const SetVariable& set);
  // Refuses a plan that the framework cannot take; says all that is wrong with it.
  Status (*check)(const v1::LaunchPlan& plan) = nullptr;
  // Adds what is needed besides variables: auxiliary processes, files, ports.
  void (*extend)(v1::LaunchPlan& plan) = nullptr;
  // Whether the ranks listen at the job's rank ports. Only those of one framework may.
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
