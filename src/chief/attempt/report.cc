#include "chief/attempt/report.h"

#include <signal.h>

#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/a_few_of.h"
#include "base/quantity.h"
#include "base/signal_name.h"
#include "base/utf8.h"
#include "chief/attempt/culprit.h"
#include "chief/attempt/left_processes.h"
#include "chief/output/peer_complaints.h"
#include "chief/output/python_traceback.h"
#include "diagnosis/chief_variables.h"
#include "diagnosis/failure_hint.h"
#include "plan/plan_text.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::minutes kWorthGoodput{1};  // too short a job for a meaningful goodput
constexpr milliseconds kWorthTime{10};            // less is shown as "0.00 s"
constexpr int kMaxEndedShown = 3;                 // ranks that had ended with 0

// The way it ended does not show the reason, so its output may.
bool OutputMayExplain(const Cause& cause) {
  if (cause.kind != Cause::Kind::kRankFailed) return false;
  if (cause.abort) return cause.abort->message().empty();
  constexpr int kOwnSignals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
  const v1::RankExited& exit = cause.exit;
  return !exit.has_out_of_memory() &&
         (exit.has_exit_code() || std::ranges::count(kOwnSignals, exit.signal()) > 0);
}

// Returns the rank's own reason for its end; null: none. The meaning of a shell's exit code, and
// that the rank called MPI_Abort, say the same as the message.
const FatalMessage* ReasonIn(const FailureExcerpt& excerpt, const Cause& cause) {
  const FatalMessage* const fatal = OutputMayExplain(cause) ? excerpt.fatal() : nullptr;
  if (!fatal) return nullptr;
  const bool said = cause.abort ? fatal->text.starts_with("MPI_ABORT")
                                : fatal->kind == FatalMessage::Kind::kShell &&
                                      !MeaningOfExitCode(cause.exit.exit_code()).empty();
  return said ? nullptr : fatal;
}

// Returns whether the headline, which ends with the reason, has all of these lines: a single one.
bool HasAlready(const std::string& headline, const std::vector<std::string>& lines) {
  return lines.size() == 1 && headline.ends_with(": " + base::Printable(lines[0]) + "\n");
}

// The lines of a fatal message, below the headline that has its reason.
std::string MessageReport(const std::string& headline, const std::vector<std::string>& lines) {
  if (HasAlready(headline, lines)) return "";
  std::string text;
  for (const std::string& line : WithoutPackages(lines)) text += "    | " + line + "\n";
  return text;
}

// Omits lines that have been shown: "its other last lines" follow.
std::string LinesReport(const std::string& headline, const FailureExcerpt& excerpt,
                        display::Stream stream, const std::vector<std::string>& shown) {
  std::vector<std::string> lines = excerpt.Lines(stream);
  const size_t omitted =
      std::erase_if(lines, [&](const auto& line) { return std::ranges::count(shown, line) > 0; });
  if (lines.empty() || HasAlready(headline, lines)) return "";
  std::string text = std::string("  its ") + (omitted > 0 ? "other " : "") +
                     (lines.size() == 1 ? "last line on " : "last lines on ") +
                     (stream == display::kStderr ? "stderr" : "stdout") + ":\n";
  for (const std::string& line : lines) text += "    | " + line + "\n";
  return text;
}

// Names the log files of a rank; "": they were removed.
std::string WhereItWrote(const Attempt& attempt, uint32_t rank) {
  const RankLogs::Kept kept = attempt.logs->WhatIsKept(rank);
  if (kept == RankLogs::Kept::kRemoved) return "";
  if (kept == RankLogs::Kept::kNothing) return "  none of what it wrote was kept\n";
  return (kept == RankLogs::Kept::kAll ? "  all it wrote: " : "  part of what it wrote: ") +
         attempt.folder() + "/rank-" + std::to_string(rank) + ".out and .err\n";
}

// "rank 0 on node1 (pid 129) exited with code 1: RuntimeError: …"
std::string HowTheRankEnded(const Attempt& attempt, const Cause& cause,
                            const FatalMessage* reason) {
  return NameAndNode(attempt.plan(), cause.node_rank, cause.exit.rank()) +
         (cause.exit.pid() > 0 ? " (pid " + std::to_string(cause.exit.pid()) + ") " : " ") +
         HowItEnded(cause) + (reason ? ": " + base::Printable(reason->text) : "") + "\n";
}

// Returns the rank that failed before the one that ended first.
std::optional<RankFailure> CulpritOf(const Attempt& attempt, const Cause& cause,
                                     const FatalMessage* reason) {
  if (!reason) return std::nullopt;
  std::vector<RankFailure> failures = attempt.logs->Failures();
  // A message may turn out to complain of a peer.
  std::erase_if(failures, [&](const RankFailure& one) {
    return one.message.text_follows && attempt.state().Runs(one.rank);
  });
  const RankFailure* culprit = Culprit(cause.exit.rank(), *reason, failures);
  return culprit ? std::optional(*culprit) : std::nullopt;
}

// Returns the node's rank in the attempt's plan; 0 if the rank is not in it.
uint32_t MemberOf(const v1::LaunchPlan& plan, uint32_t rank) {
  for (const v1::NodePlan& node : plan.nodes()) {
    if (std::ranges::count(node.ranks(), rank, &v1::RankPlan::rank) > 0) return node.node_rank();
  }
  return 0;
}

// "rank 1 on node2: KeyError: 'label', train.py:5"
std::string WhatItWrote(const Attempt& attempt, const RankFailure& failure) {
  return NameAndNode(attempt.plan(), MemberOf(attempt.plan(), failure.rank), failure.rank) + ": " +
         base::Printable(failure.message.text);
}

std::string CulpritsReport(const Attempt& attempt, const Cause& cause, const FatalMessage& reason,
                           const RankFailure& culprit) {
  const std::string headline = WhatItWrote(attempt, culprit) + "\n";
  return headline + MessageReport(headline, culprit.message.lines) +
         WhereItWrote(attempt, culprit.rank) + "  because of it, " +
         HowTheRankEnded(attempt, cause, &reason);
}

// What the failed rank missed: the ranks of a lost node, or a rank that had ended with 0; one at
// most.
struct MissedPeer {
  const Cause* lost = nullptr;
  const EndedWell* left = nullptr;
};

// Returns the later of the two, because a missed peer is noticed soon.
MissedPeer MissedBy(const Attempt& attempt, const Cause& cause, const FatalMessage* reason) {
  if (!reason) return {};
  const JobState& state = attempt.state();
  const Cause* lost = LostBefore(*reason, cause, state.later(), attempt.plan());
  const EndedWell* left = EndedEarlier(*reason, state.ended_well(), attempt.plan());
  if (lost && left && left->time_ns > lost->last_contact_ns) return {.left = left};
  return lost ? MissedPeer{.lost = lost} : MissedPeer{.left = left};
}

std::string Before(const Cause& cause, const EndedWell& one) {
  const std::chrono::nanoseconds earlier(cause.exit.time_ns() - one.time_ns);
  return base::Elapsed(std::chrono::duration_cast<milliseconds>(earlier)) + " before";
}

// "after step 3 of 10"; "": it reported no step.
std::string AfterStep(const RankReport& report) {
  if (!report.progress || !report.progress->has_step()) return "";
  std::string text = ", after step " + base::Thousands(report.progress->step());
  if (report.progress->has_total()) text += " of " + base::Thousands(report.progress->total());
  return text;
}

// Lists ranks that ended with 0: others may have failed, or hang, because these ended early.
std::string EndedWellReport(const Attempt& attempt, const Cause& cause,
                            const EndedWell* except = nullptr) {
  std::string text;
  int shown = 0;
  std::vector<EndedWell> ended = attempt.state().ended_well();
  std::erase_if(ended, [&](const EndedWell& one) { return except && one.rank == except->rank; });
  for (const EndedWell& one : ended) {
    if (shown++ == kMaxEndedShown) {
      const std::string others = base::Count(ended.size() - kMaxEndedShown, "other rank");
      return text + "  and so had " + others + "\n";
    }
    text += "  " + NameAndNode(attempt.plan(), one.node_rank, one.rank) + " had ended with 0";
    if (cause.kind == Cause::Kind::kRankFailed) text += ", " + Before(cause, one);
    text += AfterStep(attempt.logs->LastReport(one.rank)) + "\n";
  }
  return text;
}

// Names the ranks besides the one that is spoken of, to follow "while".
std::string Others(const Attempt& attempt) {
  return attempt.plan().world_size() == 2 ? "the other rank" : "others";
}

// "rank 2 on node3 did not enqueue collective 7, …", by NCCL's watchdog; "": not known.
std::string NotEnqueuedText(const Attempt& attempt, const Cause& cause) {
  std::map<uint32_t, EnqueuedCollectives> enqueued;
  std::vector<uint32_t> silent;
  for (const v1::NodePlan& node : attempt.plan().nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      const FailureExcerpt excerpt = attempt.logs->ExcerptOf(rank.rank());
      if (excerpt.enqueued()) {
        enqueued.emplace(rank.rank(), *excerpt.enqueued());
      } else if (!rank.auxiliary()) {
        silent.push_back(rank.rank());
      }
    }
  }
  std::erase(silent, cause.exit.rank());
  for (const EndedWell& ended : attempt.state().ended_well()) std::erase(silent, ended.rank);
  const NotEnqueued missing = WhoDidNotEnqueue(enqueued, silent);
  if (missing.ranks.empty()) return "";
  const uint32_t first = missing.ranks.front();
  // The search for missing ranks may know what it does.
  const bool known = attempt.missing.starts_with("rank " + std::to_string(first) + " ");
  if (known && missing.ranks.size() == 1) return "";
  std::string text = NameAndNode(attempt.plan(), MemberOf(attempt.plan(), first), first);
  if (missing.ranks.size() > 1) {
    text += " and " + base::Count(missing.ranks.size() - 1, "other rank");
  }
  return text + " did not enqueue collective " + std::to_string(missing.collective) +
         ", for which " + Others(attempt) + " waited (NCCL's watchdog)";
}

// Returns what caused the failure; "": unknown.
std::string WhyItFailed(const Attempt& attempt, const Cause& cause, const FatalMessage* reason,
                        const MissedPeer& missed) {
  if (missed.lost) return DescribeCause(*missed.lost, attempt.plan());
  if (const EndedWell* const left = missed.left) {
    return NameAndNode(attempt.plan(), left->node_rank, left->rank) + " ended with 0 while " +
           Others(attempt) + " went on" + AfterStep(attempt.logs->LastReport(left->rank)) + ", " +
           Before(cause, *left);
  }
  if (!reason || !AwaitedInVain(reason->text)) return "";
  std::string not_enqueued = NotEnqueuedText(attempt, cause);
  if (!not_enqueued.empty() || attempt.missing.empty()) return not_enqueued;
  return attempt.missing + ", while " + Others(attempt) + " waited for " +
         (attempt.missing.starts_with("ranks ") ? "them" : "it");
}

// For a rank that failed by itself on a node whose ranks do not receive all variables of the chief.
// `reason`: its own message in one line. `wrote`: also its last lines.
std::string MissingVariablesReport(const Attempt& attempt, uint32_t member,
                                   const std::string& reason, const std::string& wrote) {
  if (!attempt.missing_variables || attempt.member_plan(member).reach().has_local()) return "";
  const auto missing = attempt.missing_variables->find(attempt.nodes()[member]);
  if (missing == attempt.missing_variables->end()) return "";
  const auto likely = diagnosis::LikelyMissed(reason, wrote, missing->second);
  if (likely.empty()) return "";
  const bool only_others = attempt.plan().nodes(0).reach().has_local();
  return "  the shell here has " + base::AFewOf(likely) + ", which ranks" +
         (only_others ? " of other nodes" : "") + " do not get: --pass-env " + likely.front() +
         "\n";
}

std::string HintText(const std::optional<diagnosis::FailureHint>& hint) {
  if (!hint) return "";
  return (hint->fact.empty() ? "" : "  " + hint->fact + "\n") + "  hint: " + hint->remedy + "\n";
}

// Says what may help a rank that failed by itself. `reason`: its own message; null: none.
std::string AdviceReport(const Attempt& attempt, uint32_t member, uint32_t rank,
                         const FatalMessage* reason, bool bus_error) {
  const std::vector<std::string> last = attempt.logs->ExcerptOf(rank).Lines(display::kStderr);
  const v1::NodePlan& node = attempt.member_plan(member);
  const auto plan = std::ranges::find(node.ranks(), rank, &v1::RankPlan::rank);
  diagnosis::FailedRank failed;
  failed.rank = rank;
  failed.node = node.address();
  if (reason || !last.empty()) failed.reason = reason ? reason->text : last.back();
  failed.lines = reason ? reason->lines : last;
  failed.has_input = plan != node.ranks().end() && plan->stdin() != v1::STDIN_KIND_UNSPECIFIED;
  failed.bus_error = bus_error;
  failed.master_port = attempt.plan().master_port();
  failed.facts = attempt.failure_facts(member);
  const auto hint = diagnosis::HintOf(failed);
  // The cause of a known failure is not a variable that other lines mention.
  std::string wrote = failed.reason;
  if (!hint) wrote += "\n" + absl::StrJoin(failed.lines, "\n") + "\n" + absl::StrJoin(last, "\n");
  const std::string missing = MissingVariablesReport(attempt, member, failed.reason, wrote);
  return missing.empty() ? HintText(hint) : missing;
}

// "GPU 1 of rank 5 on host3 fell off the bus (XID 79): restart the node"; "": no GPU did.
std::string FaultyGpuText(const Attempt& attempt) {
  const NodeGpuError* const faulty =
      FaultyGpuBehind(*attempt.state().cause(), attempt.gpu_errors());
  if (!faulty) return "";
  return Describe(*faulty, attempt.plan()) + ": " + RemedyOf(*faulty);
}

// Of a program, which may explain how it ended.
std::string GpuErrorReport(const Attempt& attempt, const Cause& cause) {
  const NodeGpuError* const error =
      ErrorOfRank(attempt.gpu_errors(), attempt.plan(), cause.node_rank, cause.exit.rank());
  if (!error || error->error.needs_repair()) return "";
  return "  " + Describe(*error, attempt.plan()) + "\n";
}

// What the report has named already.
struct Named {
  const Cause* lost = nullptr;
  std::set<uint32_t> ranks;
};

std::string ReportOfRank(const Attempt& attempt, const Cause& cause, Named& named) {
  named.ranks.insert(cause.exit.rank());
  const FailureExcerpt excerpt = attempt.logs->ExcerptOf(cause.exit.rank());
  const FatalMessage* reason = ReasonIn(excerpt, cause);
  if (const auto culprit = CulpritOf(attempt, cause, reason)) {
    named.ranks.insert(culprit->rank);
    return CulpritsReport(attempt, cause, *reason, *culprit) +
           AdviceReport(attempt, MemberOf(attempt.plan(), culprit->rank), culprit->rank,
                        &culprit->message, false);
  }
  const MissedPeer missed = MissedBy(attempt, cause, reason);
  const EndedWell* const left = missed.left;
  named.lost = missed.lost;
  if (left) named.ranks.insert(left->rank);
  std::string text = WhyItFailed(attempt, cause, reason, missed);
  if (!text.empty()) {
    text += "\n" + (left ? WhereItWrote(attempt, left->rank) : "") + "  because of it, ";
  }
  const std::string headline = HowTheRankEnded(attempt, cause, reason);
  std::vector<std::string> report;
  if (reason) report = reason->lines;
  text += headline + MessageReport(headline, report) + GpuErrorReport(attempt, cause) +
          LinesReport(headline, excerpt, display::kStderr, report) +
          LinesReport(headline, excerpt, display::kStdout, report);
  const bool wrote = attempt.logs->LastReport(cause.exit.rank()).last_output_ms > 0;
  text += wrote ? WhereItWrote(attempt, cause.exit.rank()) : "  it wrote nothing\n";
  if (OutputMayExplain(cause) && !(reason && BlamesPeer(reason->text))) {
    text +=
        AdviceReport(attempt, cause.node_rank, cause.exit.rank(), reason, IsBusError(cause.exit));
  }
  if (!reason || !BlamesPeer(reason->text)) return text;
  for (const EndedWell& ended : attempt.state().ended_well()) named.ranks.insert(ended.rank);
  return text + EndedWellReport(attempt, cause, left);
}

// "then rank 1 on host2 exited with code 3, 0.2 s later": the next rank that failed by itself.
std::string FailedTooReport(const Attempt& attempt, Named& named) {
  const auto& next = attempt.state().failed_too();
  const Cause& cause = *attempt.state().cause();
  if (!next || cause.kind != Cause::Kind::kRankFailed) return "";
  if (!named.ranks.insert(next->exit.rank()).second) return "";
  const auto later = std::chrono::duration_cast<milliseconds>(
      std::chrono::nanoseconds(next->exit.time_ns() - cause.exit.time_ns()));
  return "  then " + NameAndNode(attempt.plan(), next->node_rank, next->exit.rank()) + " " +
         HowItEnded(next->exit) +
         (later >= kWorthTime ? ", " + base::ExactlyElapsed(later) + " later" : "") + "\n";
}

// What followed the cause, in order, except for the loss that was named as the reason; of several
// other lost nodes, only the first is named.
std::string LaterReport(const Attempt& attempt, const Cause* named) {
  const std::vector<Cause>& all = attempt.state().later();
  const auto is_loss = [named](const Cause& later) {
    return later.kind == Cause::Kind::kNodeLost && &later != named;
  };
  const auto lost = static_cast<size_t>(std::ranges::count_if(all, is_loss));
  std::string text;
  bool lost_named = false;
  for (const Cause& later : all) {
    if (&later == named || (is_loss(later) && std::exchange(lost_named, true))) continue;
    text += "  then " + (later.kind == Cause::Kind::kTimedOut
                             ? "--timeout expired, which prevented a restart"
                             : DescribeCause(later, attempt.plan()));
    if (is_loss(later) && lost > 1) {
      text += (lost > 2 ? "; so were " : "; so was ") + base::Count(lost - 1, "other node");
    }
    text += "\n";
  }
  return text;
}

// The ranks that the report has not named.
struct OtherRanks {
  int count = 0;    // includes those that had ended with 0
  std::string one;  // "rank 1 on node2", one of them
  std::map<LaterEnd, int> ended;
  int running = 0;
  int lost_nodes = 0;  // on which some of them ran
};

OtherRanks OthersThan(const std::set<uint32_t>& named, const Attempt& attempt) {
  const JobState& state = attempt.state();
  OtherRanks others;
  for (const v1::NodePlan& node : attempt.plan().nodes()) {
    bool lost = false;
    for (const v1::RankPlan& rank : node.ranks()) {
      if (rank.auxiliary() || named.contains(rank.rank())) continue;
      ++others.count;
      others.one = rank.name() + " on " + node.address();
      if (state.Runs(rank.rank())) ++others.running;
      const auto end = state.later_ends().find(rank.rank());
      if (end == state.later_ends().end()) continue;
      ++others.ended[end->second];
      lost = lost || end->second == LaterEnd::kLost;
    }
    if (lost) ++others.lost_nodes;
  }
  return others;
}

// "ended on SIGTERM", said of `count` ranks.
std::string HowTheyEnded(LaterEnd end, int count, const OtherRanks& others, const JobState& state) {
  const std::string signal = base::SignalName(state.stop_signal());
  const bool one = count == 1;
  switch (end) {
    case LaterEnd::kByStopSignal:
      return "ended on " + signal;
    case LaterEnd::kAfterStopSignal:
      return "exited after " + signal;
    case LaterEnd::kByKill:
      return "needed SIGKILL";
    case LaterEnd::kByPassedOn:
      return std::string(one ? "was" : "were") + " ended by a signal that autodist passed on";
    case LaterEnd::kBefore:
      return one ? "ended before it was stopped" : "ended before they were stopped";
    case LaterEnd::kLost:
      break;
  }
  return std::string(one ? "was on " : "were on ") +
         (others.lost_nodes == 1 ? "a lost node" : "lost nodes");
}

// "all others ended on SIGTERM", "other ranks: 3 ended on SIGTERM, 1 needed SIGKILL": those that
// have not been named, if ranks ended after the cause was known.
std::string OthersReport(const Attempt& attempt, const Named& named) {
  const JobState& state = attempt.state();
  const bool of_a_rank = state.cause()->kind == Cause::Kind::kRankFailed;
  const std::string other = of_a_rank ? "other " : "";
  const auto noun = [&](int count) { return NounFor(static_cast<size_t>(count), attempt.plan()); };
  const OtherRanks others = OthersThan(named.ranks, attempt);
  const bool some_ended = std::ranges::any_of(
      state.later_ends(), [](const auto& one) { return one.second != LaterEnd::kLost; });
  std::vector<std::pair<int, std::string>> parts;
  for (const auto& [end, count] : others.ended) {
    parts.emplace_back(count, HowTheyEnded(end, count, others, state));
  }
  if (others.running > 0) parts.emplace_back(others.running, "may still run");
  if (!some_ended || parts.empty()) return "";
  const auto& [count, what] = parts.front();
  if (count == others.count) {
    const std::string all = of_a_rank ? (count == 1 ? others.one : "all others")
                                      : (count == 1 ? "the " : "all ") + noun(count);
    return "  " + all + " " + what + "\n";
  }
  if (parts.size() == 1) {
    return "  " + std::to_string(count) + " " + other + noun(count) + " " + what + "\n";
  }
  std::string text;
  for (const auto& [number, how] : parts) {
    text += (text.empty() ? "" : ", ") + std::to_string(number) + " " + how;
  }
  return "  " + other + noun(0) + ": " + text + "\n";
}

}  // namespace

std::string HangReport(const Attempt& attempt, std::chrono::milliseconds time) {
  std::string text = "no rank has written anything for " + base::Seconds(time) + "; last lines:\n";
  for (const v1::NodePlan& node : attempt.plan().nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      const std::string line = attempt.logs->ExcerptOf(rank.rank()).LastLine();
      text += "  " + rank.name() + " on " + node.address() +
              (attempt.state().Runs(rank.rank()) ? ": " : ", which has ended: ") +
              (line.empty() ? "none" : line) + "\n";
    }
  }
  text.pop_back();
  return text;
}

namespace {

// Names the ranks that blocked the others until the end, if known: "; rank 3 …"
std::string HangDiagnosisText(const Attempt& attempt) {
  const Cause::Kind kind = attempt.state().cause()->kind;
  if (kind == Cause::Kind::kRankFailed || kind == Cause::Kind::kNodeLost) return "";
  const std::string outcome = attempt.hang_diagnosis->Get();
  return outcome.empty() ? "" : "; " + outcome;
}

void AddOwnCause(const Attempt& attempt, std::vector<std::string>& causes) {
  const Cause& cause = *attempt.state().cause();
  const std::string text = NameCause(cause, attempt.plan()) + HangDiagnosisText(attempt);
  if (!OutputMayExplain(cause)) return causes.push_back(text);
  const FailureExcerpt excerpt = attempt.logs->ExcerptOf(cause.exit.rank());
  const FatalMessage* reason = ReasonIn(excerpt, cause);
  if (!reason) {
    const std::string last = excerpt.LastLine();
    const bool shown = cause.exit.has_exit_code() && !last.empty();
    return causes.push_back(text + (shown ? "; its last line: " + base::Printable(last) : ""));
  }
  if (const auto culprit = CulpritOf(attempt, cause, reason)) {
    causes.push_back(WhatItWrote(attempt, *culprit));
    return causes.push_back(text);
  }
  const std::string why = WhyItFailed(attempt, cause, reason, MissedBy(attempt, cause, reason));
  if (!why.empty()) causes.push_back(why);
  causes.push_back(text + ": " + base::Printable(reason->text));
}

}  // namespace

std::string DescribeCauseInOneLine(const Attempt& attempt) {
  std::vector<std::string> causes;
  if (std::string faulty = FaultyGpuText(attempt); !faulty.empty()) {
    causes.push_back(std::move(faulty));
  }
  AddOwnCause(attempt, causes);
  return InOneLine(causes);
}

std::string NoticedFirst(const Attempt& attempt) {
  const auto& first = attempt.state().noticed_first();
  if (!first) return "";
  return "; " + NameAndNode(attempt.plan(), first->node_rank, first->exit.rank()) +
         " failed after it";
}

std::string WithoutReasonsOfLosses(std::string text, const Attempt& attempt) {
  std::vector<Cause> causes = attempt.state().later();
  if (attempt.state().cause()) causes.push_back(*attempt.state().cause());
  for (const Cause& cause : causes) {
    if (cause.kind != Cause::Kind::kNodeLost) continue;
    const std::string loss = DescribeCause(cause, attempt.plan());
    const std::string reason = ": " + Message(cause.status);
    text = absl::StrReplaceAll(text, {{loss, loss.substr(0, loss.size() - reason.size())}});
  }
  return text;
}

bool OutputMayFollow(const Attempt& attempt) {
  const auto& cause = attempt.state().cause();
  if (!cause || !OutputMayExplain(*cause) || !attempt.logs) return false;
  const FailureExcerpt excerpt = attempt.logs->ExcerptOf(cause->exit.rank());
  const bool complete = excerpt.fatal() && !excerpt.fatal()->text_follows;
  return !complete && attempt.state().running() > 0;
}

bool MayBeMissing(const Attempt& attempt) {
  const auto& cause = attempt.state().cause();
  if (!cause || cause->kind != Cause::Kind::kRankFailed || !attempt.logs) return false;
  const FailureExcerpt excerpt = attempt.logs->ExcerptOf(cause->exit.rank());
  const FatalMessage* reason = ReasonIn(excerpt, *cause);
  return reason && AwaitedInVain(reason->text) && !CulpritOf(attempt, *cause, reason) &&
         !MissedBy(attempt, *cause, reason).left && attempt.state().running() > 0;
}

namespace {

// The ranks that had ended, and what helps against a known cause of the hang.
std::string HangAdvice(const Attempt& attempt) {
  diagnosis::FailedRank hung;
  hung.reason = attempt.hang_diagnosis->Get();
  return EndedWellReport(attempt, *attempt.state().cause()) + HintText(diagnosis::HintOf(hung));
}

// Returns what the rank, which ended with 0, or its shell wrote without another step after it: an
// exception soon before the end, because other programs print a traceback that they have dealt
// with, or a killed program; "": nothing.
std::string FailureAtTheEnd(const Attempt& attempt, const EndedWell& ended) {
  constexpr milliseconds kSoon{10'000};
  const RankReport report = attempt.logs->LastReport(ended.rank);
  const FailureExcerpt excerpt = attempt.logs->ExcerptOf(ended.rank);
  const bool steps_left =
      report.progress && report.progress->has_total() &&
      report.progress->step() + 1 < report.progress->total();  // steps may count from 0
  if (report.failure.empty() || !excerpt.fatal()) return "";
  if (report.failure_in_doubt && !steps_left) return "";
  const std::string text = base::Printable(report.failure);
  if (excerpt.fatal()->kind == FatalMessage::Kind::kShell) return "its shell wrote: " + text;
  const milliseconds after(ended.time_ns / 1'000'000 - report.failure_ms);
  const bool at_the_end = excerpt.fatal()->kind == FatalMessage::Kind::kTraceback && after <= kSoon;
  return at_the_end ? text : "";
}

// What did not succeed although all ranks ended with 0: "rank 0 on host1 ended with 0 after
// RuntimeError: …, train.py:7; so did 3 other ranks". "": nothing.
std::string SuccessReport(const Attempt& attempt) {
  std::vector<std::string> failed;
  std::vector<std::string> left;
  for (const EndedWell& ended : attempt.state().ended_well()) {
    const std::string begin =
        NameAndNode(attempt.plan(), ended.node_rank, ended.rank) + " ended with 0 ";
    const std::string failure = FailureAtTheEnd(attempt, ended);
    if (!failure.empty()) failed.push_back(begin + "after " + failure);
    const v1::ProcessesLeft processes = attempt.left(ended.node_rank);
    const v1::LeftProcess* const process =
        LeftByScript(processes, attempt.member_plan(ended.node_rank), ended.rank);
    if (process) {
      left.push_back(begin + "and left " + ProcessName(*process) + " behind, which autodist ended");
    }
  }
  std::string text;
  for (const auto& lines : {failed, left}) {
    if (lines.empty()) continue;
    text += (text.empty() ? "" : "  ") + lines.front();
    if (lines.size() > 1) text += "; so did " + base::Count(lines.size() - 1, "other rank");
    text += "\n";
  }
  return text;
}

}  // namespace

std::string EndReport(const Attempt& attempt, const std::vector<std::string>& terminal_warnings) {
  const JobState& state = attempt.state();
  std::string text;
  if (state.cause()) {
    text = FaultyGpuText(attempt);
    if (!text.empty()) text += "\n  because of it, ";
    Named named;
    text += state.cause()->kind == Cause::Kind::kRankFailed
                ? ReportOfRank(attempt, *state.cause(), named)
                : DescribeCause(*state.cause(), attempt.plan()) + HangDiagnosisText(attempt) + "\n";
    if (state.cause()->kind == Cause::Kind::kHung) text += HangAdvice(attempt);
    text += FailedTooReport(attempt, named);
    text += LaterReport(attempt, named.lost) + OthersReport(attempt, named);
  } else {
    text = SuccessReport(attempt);
  }
  for (const auto& warnings : {attempt.warnings, attempt.logs->warnings(), terminal_warnings}) {
    for (const std::string& warning : warnings) {
      if (text.empty()) text = "the job ended with warnings:\n";
      text += "  " + warning + "\n";
    }
  }
  if (!text.empty()) text.pop_back();  // the last line feed
  return text;
}

std::string OutcomeOf(const Attempt& last) {
  const auto& cause = last.state().cause();
  if (!cause) return "ended";
  return cause->kind == Cause::Kind::kInterrupted || cause->kind == Cause::Kind::kTimedOut
             ? "stopped"
             : "failed";
}

std::string LastLine(const Attempt& last, int exit_code, std::chrono::milliseconds elapsed,
                     const std::string& goodput) {
  const std::string outcome = OutcomeOf(last);
  std::string time = base::Elapsed(elapsed);
  if (last.number() > 0) time += ", " + base::Count(last.number(), "restart");
  if (!goodput.empty() && elapsed >= kWorthGoodput) time += ", goodput " + goodput;
  const std::string job = "job " + last.plan().job_id();
  if (outcome == "ended") return job + " finished: " + plan::WhatRuns(last.plan()) + ", " + time;
  return job + (outcome == "stopped" ? " was stopped" : " failed") + " after " + time +
         "; exit code " + std::to_string(exit_code);
}

}  // namespace autodist::chief
