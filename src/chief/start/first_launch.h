// The first launch of a job's nodes: they are reached, looked at if that is wanted, and prepared
// for the first plan.
#pragma once

#include <memory>

#include "autodist/status.h"
#include "chief/attempt/attempt.h"
#include "chief/checks/preflight.h"
#include "chief/start/node_results.h"
#include "chief/start/starting_job.h"
#include "chief/start/waiting_message.h"
#include "launch/launcher.h"

namespace autodist::chief {

// For the loop's thread; never blocks.
class FirstLaunch {
 public:
  // `waits` must outlive it.
  FirstLaunch(const StartingJob& job, WaitingMessage& waits)
      : job_(job), waits_(waits), results_(job.nodes.size()) {}

  // Once. What launches must go before what was given.
  Result<std::unique_ptr<launch::Launcher>> Begin(const Attempt& attempt);
  // Whether every node has turned out.
  bool over() const { return results_.complete() && job_.nodes.AllResumed(); }

  // Then: how they did.
  const NodeResults::Nodes& Results();
  // What was found on them: an error where that keeps ranks from running; a warning is told.
  Status Check() const;
  // Of the variables that were asked for; null: none were.
  std::shared_ptr<const Attempt::MissingVariables> missing_variables() const;

 private:
  v1::Diagnosis Diagnose() const;

  const StartingJob job_;
  WaitingMessage& waits_;
  std::shared_ptr<Preflight> preflight_;  // null: nothing is looked at
  NodeResults results_;
};

}  // namespace autodist::chief
