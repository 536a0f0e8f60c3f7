// How the programs of a framework are told who they are: one dialect per framework, one file per
// dialect.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::dialect {

// One process of a plan of which all is known but environments.
struct Process {
  const v1::LaunchPlan& plan;
  const v1::NodePlan& node;
  const v1::RankPlan& rank;
};

using SetVariable = std::function<void(const std::string& name, const std::string& value)>;

struct Dialect {
  const char* name;
  const char* programs;  // whose language it is
  std::vector<v1::ProgramKind> kinds;
  // Whether the program opens the job's rendezvous port. Only one dialect of a job may.
  bool uses_master_port;
  // Sets what one process finds. Auxiliary processes are passed only to who adds them.
  void (*set_variables)(const Process& process, const SetVariable& set);
  // Refuses a plan that the framework cannot take; says all that is wrong with it.
  Status (*check)(const v1::LaunchPlan& plan) = nullptr;
  // Adds what is needed besides variables: auxiliary processes, files, ports.
  void (*extend)(v1::LaunchPlan& plan) = nullptr;
  // Whether the ranks listen at the job's rank ports. Only those of one dialect may.
  bool uses_rank_ports = false;
};

extern const Dialect kTorch;
extern const Dialect kPaddle;
extern const Dialect kMindspore;
extern const Dialect kRanktable;
extern const Dialect kJax;
extern const Dialect kTensorflow;
extern const Dialect kHorovod;
extern const Dialect kDeepspeed;
extern const Dialect kMpi;

}  // namespace autodist::dialect
