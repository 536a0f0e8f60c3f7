#include "why/diagnosis.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "base/quantity.h"
#include "base/split.h"
#include "base/utf8.h"
#include "issues/issue.h"
#include "issues/issue_detector.h"
#include "issues/thresholds.h"
#include "snapshot/lookup.h"
#include "why/doing.h"
#include "why/group_counts.h"
#include "why/sent_again.h"
#include "why/stack_causes.h"
#include "why/standing.h"

namespace autodist::why {
namespace {

// Adds the resources that are known of all nodes as counter-evidence. Call it only if the checks of
// resources found no issue.
void AddRuledOut(const v1::JobSnapshot& now, v1::Issue& ruled_out) {
  const std::vector<int> nodes = snapshot::SampledNodes(now);
  if (nodes.empty()) return;
  const std::string number = base::Count(nodes.size(), "node");
  const auto all_have = [&](auto has) {
    return std::ranges::all_of(nodes, [&](int node) { return has(now.nodes(node).sample()); });
  };
  const auto rule_out = [&](const std::string& what, const std::string& source) {
    issues::AddEvidence(ruled_out, what, "not on any of " + number, source, true);
  };
  if (all_have([](const v1::NodeSample& one) { return one.host().has_disk_free(); })) {
    rule_out("a full disk", "agent");
  }
  if (all_have([](const v1::NodeSample& one) { return one.host().has_memory_pressure(); })) {
    rule_out("memory pressure", "/proc/pressure");
  }
  if (all_have([](const v1::NodeSample& one) { return one.gpus_size() > 0; })) {
    rule_out("a throttled GPU", "nvidia-smi");
  }
}

using std::chrono::milliseconds;

constexpr size_t kReportLines = 5;  // of the job's failure, as evidence

std::string Time(int64_t ms) { return base::Elapsed(milliseconds(std::max<int64_t>(0, ms))); }

// When any rank last wrote output, since 1970; 0: unknown.
int64_t LastOutput(const v1::JobSnapshot& snapshot) {
  int64_t last = snapshot.job().last_output_ms();
  // Samples are not used: a rank may have written since its sample was taken.
  for (const v1::RankSnapshot& rank : snapshot.ranks())
    last = std::max(last, rank.last_output_ms());
  return last;
}

// The last step that any rank has reported.
std::optional<uint64_t> LastStep(const v1::JobSnapshot& snapshot) {
  std::optional<uint64_t> last;
  const auto count = [&](const v1::Progress& progress) {
    if (progress.has_step()) last = std::max(last.value_or(0), progress.step());
  };
  count(snapshot.progress());
  for (const v1::RankSnapshot& rank : snapshot.ranks()) count(rank.progress());
  return last;
}

bool StepsRise(const v1::JobSnapshot& now, const v1::JobSnapshot& before) {
  const auto last = LastStep(now);
  const auto earlier = LastStep(before);
  return now.job().attempt() == before.job().attempt() && last && earlier && *last > *earlier;
}

// Adds how the job progresses, or since when it does not.
void AddProgress(const Known& known, v1::Issue& issue) {
  const v1::JobSnapshot& now = known.now;
  if (known.before && StepsRise(now, *known.before)) {
    issues::AddEvidence(issue, "steps",
                        "from " + base::Thousands(*LastStep(*known.before)) + " to " +
                            base::Thousands(*LastStep(now)) + " within " +
                            Time(now.time_ms() - known.before->time_ms()),
                        "progress");
  } else if (const auto last = LastStep(now)) {
    issues::AddEvidence(issue, "steps", base::Thousands(*last) + ", no further", "progress");
  }
  const int64_t output = LastOutput(now);
  if (output > 0) {
    issues::AddEvidence(issue, "last output", Time(now.time_ms() - output) + " ago", "chief");
  } else {
    issues::AddEvidence(issue, "output", "none yet", "chief");
  }
}

void AddStandstill(const Known& known, v1::Issue& issue) {
  const int64_t output = LastOutput(known.now);
  const int64_t silent = known.now.time_ms() - output;
  if (output == 0 || silent < 1000) return;
  if (issue.cost().empty()) issue.set_cost("no rank has written anything for " + Time(silent));
  issue.set_since_ms(output);
}

void AddLastLine(const v1::JobSnapshot& snapshot, v1::Issue& issue) {
  if (issue.ranks_size() != 1) return;
  const v1::RankSnapshot* rank = snapshot::FindRank(snapshot, issue.ranks(0));
  if (!rank || rank->last_line().empty()) return;
  issues::AddEvidence(issue, "its last line", base::Printable(rank->last_line()), "its output");
}

v1::JobDiagnosis Of(v1::JobDiagnosis::Kind kind, v1::Issue issue) {
  v1::JobDiagnosis diagnosis;
  diagnosis.set_kind(kind);
  *diagnosis.mutable_issue() = std::move(issue);
  return diagnosis;
}

v1::JobDiagnosis Wrong(v1::Issue issue) {
  return Of(v1::JobDiagnosis::KIND_ISSUE, std::move(issue));
}

v1::JobDiagnosis Well(const std::string& what, v1::Issue issue) {
  issue.set_what(what);
  return Of(v1::JobDiagnosis::KIND_OK, std::move(issue));
}

// The rank is in no recognized collective, but waits at a socket, or for a thread or process, which
// may be the same.
bool WaitsForAnother(const RankActivity& rank) {
  return !rank.now.AtWork() && (rank.now.doing == Doing::kSocket || rank.now.doing == Doing::kWait);
}

// Ranks that are at work, while all others wait for them.
struct Workers {
  std::vector<uint32_t> ranks;  // empty: others do not wait
  std::string what;             // "rank 2 (host3) computes in …; 3 ranks wait for that"
};

std::optional<Workers> AtWork(const v1::JobSnapshot& snapshot, const Activities& ranks) {
  const RankActivity* worker = nullptr;
  Ranks workers;
  for (const RankActivity& rank : ranks) {
    if (!rank.now.AtWork()) continue;
    // An activity that is expected to take long is the better explanation.
    const bool plain = worker && worker->now.doing == Doing::kCompute;
    if (!worker || (plain && rank.now.doing != Doing::kCompute)) worker = &rank;
    workers.push_back(&rank);
  }
  const size_t in_collectives = Waiting(ranks);
  const size_t waiting = in_collectives > 0
                             ? in_collectives
                             : static_cast<size_t>(std::ranges::count_if(ranks, WaitsForAnother));
  if (!worker || workers.size() + waiting < ranks.size()) return std::nullopt;
  std::string what = snapshot::RankName(snapshot, worker->rank) + " " + worker->now.words;
  if (workers.size() > 1 && waiting == 0) {
    return Workers{{}, "all " + base::Count(workers.size(), "rank") + " are at work; " + what};
  }
  if (workers.size() > 1) what += ", and " + base::Count(workers.size() - 1, "other rank") + " too";
  if (waiting > 0) {
    what += "; " + base::Count(waiting, "rank") + (waiting == 1 ? " waits" : " wait") +
            " for that" + (waiting == in_collectives ? " in a collective" : "");
  }
  return Workers{Numbers(workers), what};
}

// More CPU time would help a rank that is, or may be, at work.
bool HoldsUpWork(const issues::ResourceIssue& cause, const Activities& ranks) {
  return std::ranges::any_of(ranks, [&](const RankActivity& rank) {
    return rank.now.MayBeAtWork() && std::ranges::count(cause.issue.ranks(), rank.rank) > 0;
  });
}

bool AllRest(const Activities& ranks) {
  return !ranks.empty() &&
         std::ranges::none_of(ranks, [](const auto& rank) { return rank.now.MayBeAtWork(); });
}

bool SharesRank(const v1::Issue& one, const v1::Issue& other) {
  return std::ranges::any_of(
      one.ranks(), [&](uint32_t rank) { return std::ranges::count(other.ranks(), rank) > 0; });
}

// If ranks stand still, slow resources are only additional information. But a full disk or a lack
// of memory on the node of one of them may be what it waits for.
void AddBesides(const std::vector<issues::ResourceIssue>& causes, v1::Issue& standstill,
                v1::Issue& evidence) {
  for (const issues::ResourceIssue& cause : causes) {
    const v1::Issue& issue = cause.issue;
    const bool explains =
        cause.resource == issues::Resource::kDisk || cause.resource == issues::Resource::kMemory;
    if (explains && SharesRank(issue, standstill)) {
      standstill.set_what(standstill.what() + "; " + issue.what());
      evidence.mutable_evidence()->MergeFrom(issue.evidence());
    } else if (!issue.evidence().empty()) {
      issues::AddEvidence(evidence, "besides", issue.what(), issue.evidence(0).source());
    }
  }
}

// "all 4 ranks wait in "; "the rank waits in ".
std::string AllRanks(size_t number, const char* does, const char* they_do) {
  return number == 1 ? std::string("the rank") + does
                     : "all " + std::to_string(number) + " ranks" + they_do;
}

// "unclear: no data on 1 rank of 4"
std::string NoDataOn(size_t without_sample, const Activities& ranks) {
  return "unclear: no data on " + base::Count(without_sample, "rank") + " of " +
         std::to_string(ranks.size() + without_sample);
}

std::string WhatIsKnown(const Activities& ranks, size_t without_sample) {
  const size_t waiting = Waiting(ranks);
  if (ranks.empty()) return "unclear: no data on what the ranks are doing";
  if (without_sample > 0) {
    return NoDataOn(without_sample, ranks) + (waiting < ranks.size() ? ""
                                              : waiting == 1
                                                  ? "; the other rank waits in a collective"
                                                  : "; the others wait in collectives");
  }
  const std::string collective = ranks[0].now.collective;
  const bool same = std::ranges::all_of(ranks, [&](const RankActivity& rank) {
    return rank.now.doing == Doing::kCollective && rank.now.collective == collective;
  });
  if (same) {
    return "unclear: " + AllRanks(waiting, " waits in ", " wait in ") +
           (collective.empty() ? "a collective"
                               : "the same operation, " + WithArticle(collective)) +
           ", as they do when the network or a peer does not answer";
  }
  const std::string& place = ranks[0].now.place;
  const bool sleep = std::ranges::all_of(ranks, [&](const RankActivity& rank) {
    return rank.now.doing == Doing::kSleep && rank.now.place == place;
  });
  if (sleep && ranks.size() > 1) {
    return "unclear: all " + base::Count(ranks.size(), "rank") + " sleep" +
           (place.empty() ? "" : " in " + place) +
           ", as they do while they poll for a file or another program";
  }
  return "unclear: found no cause, and the job may be in order";
}

// Explains a job that makes no progress; tries the most obvious cause first.
std::optional<v1::Issue> WhatStands(const Known& known, const Activities& ranks, bool all_stand) {
  if (auto cause = RaisedCause(known.now, ranks)) return cause;
  if (all_stand && MostHaveEnded(known.now)) {
    if (auto cause = EndedWellCause(known.now, ranks)) return cause;
  }
  if (auto cause = CannotConnectCause(known.now, ranks, known.rendezvous, known.stalled)) {
    return cause;
  }
  if (auto cause = BehindCause(known.now, ranks, known.stalled)) return cause;
  if (auto cause = CircleCause(known.now, ranks, known.rendezvous)) return cause;
  return StandstillCause(known.now, ranks, known.stalled);
}

// ": python3 other.py (process 4711) uses 0.9 cores", on the node of the held back rank; or "".
std::string HeldBackBy(const v1::Issue& issue, const Activities& ranks) {
  const auto held = std::ranges::find_if(ranks, [&](const RankActivity& rank) {
    return std::ranges::count(issue.ranks(), rank.rank) > 0;
  });
  const std::string other = held == ranks.end() ? "" : held->now.node.other_program;
  return other.empty() ? "" : ": " + base::Printable(other);
}

// What explains no standstill is only evidence.
std::vector<issues::ResourceIssue> ResourceCausesOf(const Known& known, const Activities& ranks,
                                                    v1::Issue& evidence) {
  const v1::JobSnapshot* before = known.before ? &*known.before : nullptr;
  std::vector<issues::ResourceIssue> causes = issues::ResourceIssues(known.now, before);
  std::erase_if(causes, [&](const issues::ResourceIssue& one) {
    const bool held = one.resource == issues::Resource::kHeldBack;
    if (!held && one.resource != issues::Resource::kRepair) return false;
    issues::AddEvidence(evidence, "besides",
                        one.issue.what() + (held ? HeldBackBy(one.issue, ranks) : ""),
                        held ? "/proc" : "nvidia-smi");
    return true;
  });
  if (causes.empty()) AddRuledOut(known.now, evidence);
  if (auto cause = SentAgainCause(known.now, ranks)) {
    causes.insert(causes.begin(), {issues::Resource::kNetwork, *std::move(cause)});
  }
  return causes;
}

void LeaveOutIdle(const Activities& ranks, std::vector<issues::ResourceIssue>& causes) {
  std::erase_if(causes, [&](const issues::ResourceIssue& cause) {
    const bool of_cpus =
        cause.resource == issues::Resource::kCpuLimit || cause.resource == issues::Resource::kCpu;
    return of_cpus && !HoldsUpWork(cause, ranks);
  });
}

// Finds a scarce resource, a rank that the others wait for in each step, or steps that take longer
// than before.
std::optional<v1::Issue> WhatIsSlow(const Known& known, const Activities& ranks,
                                    const std::vector<issues::ResourceIssue>& causes,
                                    bool goes_on) {
  const v1::JobSnapshot& now = known.now;
  const auto slowdown = std::ranges::find_if(now.issues(), [](const v1::Issue& issue) {
    return issue.evidence_size() > 0 && issue.evidence(0).what() == issues::kStepTime;
  });
  const bool slow = goes_on && slowdown != now.issues().end();
  // A rank that does more in a single step, for example evaluates, is no straggler.
  const bool several = goes_on && StepsRise(now, *known.before) &&
                       *LastStep(now) - *LastStep(*known.before) >= issues::kStragglerSteps;
  auto straggler =
      causes.empty() && several ? StragglerCause(now, *known.before, ranks) : std::nullopt;
  if (causes.empty() && !straggler) return slow ? std::optional(*slowdown) : std::nullopt;
  v1::Issue cause = straggler ? *std::move(straggler) : causes.front().issue;
  if (slow) cause.set_what(cause.what() + "; " + slowdown->what());
  return cause;
}

constexpr char kAsFarAsSeen[] = "nothing is wrong as far as autodist sees: ";

// What ranks wait for is no fault in itself, but a rank without data may have one.
void SetKindOfWarning(const v1::JobSnapshot& snapshot, const Activities& ranks,
                      v1::JobDiagnosis& diagnosis) {
  const size_t without_sample = WithoutSample(snapshot, ranks);
  diagnosis.set_kind(without_sample == 0 ? v1::JobDiagnosis::KIND_OK
                                         : v1::JobDiagnosis::KIND_UNKNOWN);
  v1::Issue& issue = *diagnosis.mutable_issue();
  issue.set_what((without_sample == 0 ? kAsFarAsSeen : NoDataOn(without_sample, ranks) + "; ") +
                 issue.what());
}

// The job seems to make no progress, and no cause is known.
v1::JobDiagnosis WithoutCause(const Known& known, const Activities& ranks, v1::Issue evidence) {
  const size_t without_sample = WithoutSample(known.now, ranks);
  if (without_sample == 0 && !known.stalled && AllRun(ranks) &&
      (Waiting(ranks) > 0 || AllMoveData(ranks))) {
    return Well(kAsFarAsSeen +
                    AllRanks(ranks.size(), " runs and synchronizes", " run and synchronize") +
                    ", without output",
                std::move(evidence));
  }
  const auto workers = without_sample == 0 ? AtWork(known.now, ranks) : std::nullopt;
  if (workers && known.stalled) {
    v1::Issue issue = StalledIssue(known.now, workers->ranks, workers->what);
    issue.mutable_evidence()->MergeFrom(evidence.evidence());
    return Wrong(std::move(issue));
  }
  if (workers) {
    return Well((workers->ranks.empty() ? "nothing is wrong: " : kAsFarAsSeen) + workers->what,
                std::move(evidence));
  }
  evidence.set_what(WhatIsKnown(ranks, without_sample));
  return Of(v1::JobDiagnosis::KIND_UNKNOWN, std::move(evidence));
}

// Whether a running rank may wait where it is: a rank that waits for its GPU seems to compute.
bool MayWait(const v1::RankSnapshot& of, const RankActivity& rank) {
  const Doing doing = rank.now.doing;
  return rank.now.MayBeInCollective() || doing == Doing::kCollective || doing == Doing::kUnknown ||
         (doing == Doing::kCompute && of.gpus_size() > 0);
}

// NCCL's watchdog in the rank has given up, even if the rank ends a little later.
bool HasGivenUp(const v1::RankSnapshot& rank) {
  constexpr std::array<std::string_view, 4> kOfWatchdog = {
      "Watchdog caught collective operation timeout",
      "Some NCCL operations have failed or timed out", "we are taking the entire process down",
      "c10::DistBackendError"};
  return std::ranges::any_of(kOfWatchdog, [&](std::string_view text) {
    return rank.last_line().find(text) != std::string::npos;
  });
}

// It runs and has printed no failure.
bool HasNotFailed(const v1::RankSnapshot& rank) {
  return rank.state() == v1::RANK_STATE_RUNNING && rank.failure().empty() && !HasGivenUp(rank);
}

// For at least three ranks, if all others have given up; "": several are left, or none.
std::string TheOnlyOneLeft(const v1::JobSnapshot& snapshot) {
  std::vector<uint32_t> left;
  size_t others = 0;
  for (const v1::RankSnapshot& rank : snapshot.ranks()) {
    if (rank.auxiliary()) continue;
    if (HasNotFailed(rank)) {
      left.push_back(rank.rank());
    } else {
      ++others;
    }
  }
  return left.size() == 1 && others >= 2 ? snapshot::RankName(snapshot, left[0]) + " did not come"
                                         : "";
}

}  // namespace

bool GoesOn(const v1::JobSnapshot& now, const v1::JobSnapshot& before) {
  return StepsRise(now, before) || LastOutput(now) > before.time_ms();
}

v1::JobDiagnosis Judge(const Known& known) {
  if (auto cause = issues::FirstFailure(known.now)) return Wrong(*std::move(cause));
  const Activities ranks = ReadStacks(known.now, known.stacks, known.stacks_earlier);
  v1::Issue evidence;
  AddActivities(ranks, evidence);
  AddProgress(known, evidence);
  const auto with_evidence = [&](v1::Issue cause) {
    cause.mutable_evidence()->MergeFrom(evidence.evidence());
    return Wrong(std::move(cause));
  };
  if (auto cause = StoppedCause(known.now, ranks)) {
    AddStandstill(known, *cause);
    return with_evidence(*std::move(cause));
  }
  const bool goes_on = known.before && GoesOn(known.now, *known.before);
  const bool all_stand = AllRest(ranks) && (known.stalled || AllStand(ranks));
  std::vector<issues::ResourceIssue> causes = ResourceCausesOf(known, ranks, evidence);
  if (auto cause = goes_on ? std::nullopt : WhatStands(known, ranks, all_stand)) {
    AddStandstill(known, *cause);
    AddLastLine(known.now, *cause);
    AddBesides(causes, *cause, evidence);
    const bool warns = cause->kind() == v1::Issue::KIND_WARNING;
    v1::JobDiagnosis diagnosis = with_evidence(*std::move(cause));
    if (warns) SetKindOfWarning(known.now, ranks, diagnosis);
    return diagnosis;
  }
  if (!goes_on && known.before && !ranks.empty()) LeaveOutIdle(ranks, causes);
  if (auto cause = WhatIsSlow(known, ranks, causes, goes_on))
    return with_evidence(*std::move(cause));
  if (goes_on) {
    return Well(StepsRise(known.now, *known.before) ? "nothing is wrong: steps continue"
                                                    : "nothing is wrong: ranks write",
                std::move(evidence));
  }
  if (auto cause = all_stand ? EndedWellCause(known.now, ranks) : std::nullopt) {
    AddStandstill(known, *cause);
    return with_evidence(*std::move(cause));
  }
  return WithoutCause(known, ranks, std::move(evidence));
}

std::optional<v1::JobDiagnosis> JudgeConnections(const Known& known) {
  if (issues::FirstFailure(known.now)) return std::nullopt;
  const Activities ranks = ReadStacks(known.now, known.stacks, known.stacks_earlier);
  if (StoppedCause(known.now, ranks) || RaisedCause(known.now, ranks)) return std::nullopt;
  // An attempt that was repeated twice has lasted for seconds, also in a single look.
  auto cause = CannotConnectCause(known.now, ranks, known.rendezvous, true);
  if (!cause) return std::nullopt;
  AddStandstill(known, *cause);
  AddLastLine(known.now, *cause);
  AddActivities(ranks, *cause);
  AddProgress(known, *cause);
  return Wrong(*std::move(cause));
}

std::string WhatRanksDo(const v1::JobDiagnosis& diagnosis) {
  std::string_view what = diagnosis.issue().what();
  if (diagnosis.kind() == v1::JobDiagnosis::KIND_ISSUE) return std::string(what);
  return base::TakePrefix(what, kAsFarAsSeen) ? std::string(what) : "";
}

std::string WhoIsMissing(const Known& known) {
  const Activities ranks = ReadStacks(known.now, known.stacks, known.stacks_earlier);
  if (auto cause = BehindCause(known.now, ranks, known.stalled)) return cause->what();
  Ranks missing;
  for (const RankActivity& rank : ranks) {
    const v1::RankSnapshot* of = snapshot::FindRank(known.now, rank.rank);
    if (of && HasNotFailed(*of) && !MayWait(*of, rank)) missing.push_back(&rank);
  }
  if (missing.empty()) return TheOnlyOneLeft(known.now);
  const std::vector<uint32_t> numbers = Numbers(missing);
  return (numbers.size() == 1 ? "" : snapshot::RanksName(numbers) + " were elsewhere: ") +
         WhatTheyDo(known.now, missing);
}

v1::JobDiagnosis JudgeStarting(const v1::JobSnapshot& snapshot) {
  v1::Issue issue;
  const bool again = snapshot.job().phase() == v1::JOB_PHASE_RESTARTING;
  issue.set_what(std::string("unclear: the job is being started") + (again ? " again" : ""));
  size_t reported = 0;
  for (const v1::NodeSnapshot& node : snapshot.nodes()) {
    if (node.detail().empty() || reported++ >= kReportLines) continue;
    issues::AddEvidence(issue, base::Printable(node.address()), base::Printable(node.detail()),
                        "chief");
  }
  return Of(v1::JobDiagnosis::KIND_UNKNOWN, std::move(issue));
}

v1::JobDiagnosis JudgeEnded(const v1::JobStatus& job, const v1::JobSnapshot& snapshot) {
  v1::Issue issue;
  const std::string code = "exit code " + std::to_string(job.exit_code());
  const std::vector<std::string_view> report = base::Lines(job.report());
  if (job.exit_code() == 0) {
    issues::AddEvidence(issue, "the job's end", code, "job record");
    return Well("nothing is wrong: the job has ended well", std::move(issue));
  }
  if (auto cause = issues::FirstFailure(snapshot)) issue = *std::move(cause);
  if (!report.empty()) issue.set_what(base::Printable(report[0]));
  if (issue.what().empty()) issue.set_what("the job has ended with " + code);
  if (issue.kind() == v1::Issue::KIND_UNSPECIFIED) issue.set_kind(v1::Issue::KIND_FAILED);
  issues::AddEvidence(issue, "the job's end", code, "job record");
  size_t shown = 0;
  const auto is_output = [&](size_t i) {
    return i < report.size() && report[i].starts_with("    | ");
  };
  for (size_t i = 1; i < report.size() && shown < kReportLines; ++i) {
    // The last line of a traceback, or of other output, says most.
    if (is_output(i) && is_output(i + 1)) continue;
    const size_t indent = std::min(report[i].find_first_not_of(' '), report[i].size());
    issues::AddEvidence(issue, "report", base::Printable(report[i].substr(indent)), "job record");
    ++shown;
  }
  return Wrong(std::move(issue));
}

std::string DiagnosisText(const v1::JobDiagnosis& diagnosis) {
  const v1::Issue& issue = diagnosis.issue();
  std::string text = base::Printable(issue.what()) + "\n";
  if (!issue.cost().empty()) text += "  " + base::Printable(issue.cost()) + "\n";
  for (const bool against : {false, true}) {
    for (const v1::Evidence& one : issue.evidence()) {
      if (one.against() != against) continue;
      text += std::string(against ? "  ruled out: " : "  ") + base::Printable(one.what()) + ": " +
              base::Printable(one.value()) + " [" + base::Printable(one.source()) + "]\n";
    }
  }
  return text;
}

}  // namespace autodist::why
