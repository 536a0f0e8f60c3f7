// What a person is told when a job could not be launched or has failed.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "chief/attempt/attempt.h"
#include "chief/attempt/job_state.h"
#include "launch/launcher.h"

namespace autodist::chief {

// All nodes on which the launch failed, each with cause and remedy; "" if there is none.
std::string LaunchReport(const v1::LaunchPlan& plan,
                         const std::vector<launch::LaunchedNode>& nodes);

// 126 or 127 if all that is wrong is the command, else 125; 0 if nothing is wrong.
int LaunchExitCode(const std::vector<launch::LaunchedNode>& nodes);

// "rank 3 on node2 exited with code 3": in a few words, the cause that `state` has. `plan` is the
// attempt's.
std::string DescribeCause(const JobState& state, const v1::LaunchPlan& plan);
std::string HowItEnded(const v1::RankExited& exit);

// "rank 3 on node2"; of a node of the plan.
std::string NameAndNode(const v1::LaunchPlan& plan, uint32_t node_rank, uint32_t rank);

// That no rank has written for `time`, with each one's last line.
std::string HangReport(const Attempt& attempt, std::chrono::milliseconds time);

struct TakenPort {
  uint32_t port;
  std::string address;  // of the node, as the spec writes it
};

// Ports of the plan that somebody else has.
std::vector<TakenPort> PortsTaken(const v1::LaunchPlan& plan,
                                  const std::vector<launch::LaunchedNode>& nodes);

// Whether a rank's last lines say that it could not open one of the node's ports, other than
// `fixed`.
bool TellsOfTakenPort(const std::vector<std::string>& lines, const v1::NodePlan& node,
                      uint32_t fixed);

// Why the job ended early, what became of the other ranks, and what is to be known of its output;
// "" if it ended well. After the attempt's output has been finished.
std::string EndReport(const Attempt& attempt);

}  // namespace autodist::chief
