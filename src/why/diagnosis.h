// Makes one diagnosis from all data of a job. Pure logic.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"
#include "why/connections.h"

namespace autodist::why {

// All of it is untrusted; the diagnosis is short and contains no terminal control sequences.
struct Known {
  v1::JobSnapshot now;
  std::optional<v1::JobSnapshot> before;  // the same job some seconds earlier
  std::vector<v1::WholeStack> stacks;     // of the running ranks, between the two
  // the same some seconds earlier; empty: not requested
  std::vector<v1::WholeStack> stacks_earlier;
  Rendezvous rendezvous;
  // All ranks have been silent for so long that the job is certainly stalled.
  bool stalled = false;
};

v1::JobDiagnosis Judge(const Known& known);

// Judges by sockets alone, for when stacks take long or the ranks have ended meanwhile. nullopt: no
// rank fails to connect, or something else is known to be wrong.
std::optional<v1::JobDiagnosis> JudgeConnections(const Known& known);

// Steps advanced or a rank wrote output between the two snapshots, so the job is not stalled.
bool GoesOn(const v1::JobSnapshot& now, const v1::JobSnapshot& before);

// What the ranks do, without the judgement: "rank 2 (host3) computes in …; 3 ranks wait for that".
// "": the cause is unknown, or the job continues.
std::string WhatRanksDo(const v1::JobDiagnosis& diagnosis);

// For a rank that stopped waiting for others: names the running ranks that are elsewhere, and what
// they do; "": none or unknown.
std::string WhoIsMissing(const Known& known);

// For a job none of whose ranks runs yet, or again.
v1::JobDiagnosis JudgeStarting(const v1::JobSnapshot& snapshot);

// For a job that has ended: judges by its end and its last snapshot, which may be empty.
v1::JobDiagnosis JudgeEnded(const v1::JobStatus& job, const v1::JobSnapshot& snapshot);

// Formats a diagnosis with its evidence, in lines without terminal control sequences.
std::string DiagnosisText(const v1::JobDiagnosis& diagnosis);

}  // namespace autodist::why
