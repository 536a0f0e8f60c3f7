// The first launch of a job's nodes: connects to them, checks them unless --no-preflight, and
// prepares them for the first plan.
#pragma once

#include <cstdint>
#include <memory>
#include <set>

#include "autodist/status.h"
#include "chief/attempt/attempt.h"
#include "chief/checks/preflight.h"
#include "chief/start/node_results.h"
#include "chief/start/starting_job.h"
#include "chief/start/waiting_message.h"
#include "launch/launcher.h"

namespace autodist::chief {

// Used on the loop's thread only; never blocks.
class FirstLaunch {
 public:
  // `waits` must outlive it.
  FirstLaunch(const StartingJob& job, WaitingMessage& waits)
      : job_(job), waits_(waits), results_(job.nodes.size()) {}

  // Called once. The returned launcher must be destroyed before the arguments.
  Result<std::unique_ptr<launch::Launcher>> Begin(const Attempt& attempt);
  // Returns whether every node has a result.
  bool over() const { return results_.complete() && job_.nodes.AllResumed(); }

  // Valid once it is over: the results.
  const NodeResults::Nodes& Results();
  // Returns an error if issues on the nodes keep ranks from running; logs warnings. The job starts
  // without the nodes `without`.
  Status Check(const std::set<uint32_t>& without) const;
  // Diagnoses the nodes: by all checks, or with --no-preflight only by whether they are ready.
  v1::Diagnosis Diagnose() const;
  // Variables of the chief that are missing on nodes; null: there was no check.
  std::shared_ptr<const Attempt::MissingVariables> missing_variables() const;

 private:
  const StartingJob job_;
  WaitingMessage& waits_;
  std::shared_ptr<Preflight> preflight_;  // null: no checks
  bool lacks_program_here_ = false;
  NodeResults results_;
};

}  // namespace autodist::chief
