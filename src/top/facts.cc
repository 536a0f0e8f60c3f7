#include "top/facts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "base/median.h"
#include "top/numbers.h"

namespace autodist::top {
namespace {

// Which troubles each rank and node has part in.
struct Marks {
  std::vector<Mark> ranks;
  std::vector<Mark> nodes;
};

void Raise(std::vector<Mark>& marks, size_t index, Mark mark) {
  if (index < marks.size()) marks[index] = std::max(marks[index], mark);
}

Marks MarksOf(const v1::Board& board) {
  Marks marks{std::vector<Mark>(static_cast<size_t>(board.ranks_size())),
              std::vector<Mark>(static_cast<size_t>(board.nodes_size()))};
  std::vector<bool> named(marks.ranks.size());
  bool others_wait = false;
  for (const v1::Trouble& trouble : board.troubles()) {
    const Mark mark = MarkOf(trouble.kind());
    for (const uint32_t rank : trouble.ranks()) {
      Raise(marks.ranks, rank, mark);
      if (rank < named.size() && mark == Mark::kStuck) named[rank] = true;
    }
    // A node of which ranks are named is only where they are.
    if (trouble.ranks().empty()) {
      for (const uint32_t node : trouble.nodes()) Raise(marks.nodes, node, mark);
    } else if (mark == Mark::kStuck) {
      others_wait = true;
    }
  }
  for (size_t i = 0; others_wait && i < named.size(); ++i) {
    if (!named[i]) Raise(marks.ranks, i, Mark::kWaits);
  }
  return marks;
}

Mark MarkOfState(v1::RankState state) {
  switch (state) {
    case v1::RANK_STATE_STARTING:
      return Mark::kStarting;
    case v1::RANK_STATE_AWAY:
      return Mark::kAway;
    case v1::RANK_STATE_ENDED:
      return Mark::kEnded;
    case v1::RANK_STATE_FAILED:
    case v1::RANK_STATE_LOST:
      return Mark::kFailed;
    default:
      return Mark::kNone;
  }
}

Mark MarkOfPhase(v1::NodePhase phase) {
  return phase == v1::NODE_PHASE_RECONNECTING ? Mark::kAway
         : phase == v1::NODE_PHASE_LOST       ? Mark::kFailed
                                              : Mark::kNone;
}

bool IsAddress(const std::string& name) {
  return name.find(':') != std::string::npos ||
         name.find_first_not_of("0123456789.") == std::string::npos;
}

// Without their domains, unless two are the same then.
std::vector<std::string> NodeNames(const v1::Board& board) {
  std::vector<std::string> names;
  std::map<std::string, int> seen;
  for (const v1::BoardNode& node : board.nodes()) {
    const std::string& address = node.address();
    names.push_back(IsAddress(address) ? address : address.substr(0, address.find('.')));
    ++seen[names.back()];
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (seen[names[i]] > 1) names[i] = board.nodes(static_cast<int>(i)).address();
  }
  return names;
}

const v1::GpuSample* GpuOf(const v1::BoardNode& node, uint32_t index) {
  const auto& gpus = node.sample().gpus();
  const auto found = std::ranges::find(gpus, index, &v1::GpuSample::index);
  return found == gpus.end() ? nullptr : &*found;
}

void AddSlots(Facts& facts, const RankFacts& rank, NodeFacts& node) {
  const auto add = [&](const v1::GpuSample* gpu, uint32_t number) {
    node.slots.push_back({&rank, gpu, std::to_string(number), rank.mark});
  };
  if (rank.rank->gpus().empty()) add(nullptr, rank.rank->rank());
  for (const uint32_t index : rank.rank->gpus()) add(GpuOf(*node.node, index), index);
  facts.gpus = facts.gpus || !rank.rank->gpus().empty();
}

// GPUs that are known, and no rank's, where ranks do not say which are theirs.
void AddOtherGpus(Facts& facts, NodeFacts& node) {
  for (const v1::GpuSample& gpu : node.node->sample().gpus()) {
    if (std::ranges::count(node.slots, &gpu, &Slot::gpu) > 0) continue;
    node.slots.push_back({nullptr, &gpu, std::to_string(gpu.index()), node.state});
    facts.gpus = true;
  }
}

void CompareSteps(std::vector<RankFacts>& ranks) {
  std::vector<double> times;
  for (RankFacts& rank : ranks) {
    const v1::Progress& progress = rank.rank->progress();
    if (!(progress.rate() > 0) || !std::isfinite(progress.rate())) continue;
    rank.step_time = 1 / progress.rate();
    times.push_back(*rank.step_time);
  }
  if (times.size() < 2) return;
  const double median = base::Median(times);
  for (RankFacts& rank : ranks) {
    if (rank.step_time) rank.relative = *rank.step_time / median;
  }
}

std::optional<Value> OfMost(const std::string& text, double value, double most) {
  const double share = value / most;
  return Value{text, share > 0 ? std::min(share, 1.0) : 0};  // NaN: 0
}

// `share` of what is slow enough to be seen at once.
std::optional<Value> StepValue(const Slot& slot) {
  constexpr double kSlowest = 2;
  if (!slot.rank || !slot.rank->relative) return std::nullopt;
  return OfMost(Relative(*slot.rank->relative), *slot.rank->relative, kSlowest);
}

std::optional<Value> GpuValue(const v1::GpuSample& gpu, Fact fact) {
  constexpr double kHottest = 100;  // degrees Celsius
  constexpr double kPower = 700;    // watts, where the limit is not known
  switch (fact) {
    case Fact::kUse:
      if (gpu.has_use()) return OfMost(Percent(gpu.use()), gpu.use(), 1);
      break;
    case Fact::kMemory:
      if (gpu.has_memory_used() && gpu.memory_total() > 0) {
        const double share =
            static_cast<double>(gpu.memory_used()) / static_cast<double>(gpu.memory_total());
        return OfMost(Percent(share), share, 1);
      }
      break;
    case Fact::kPower:
      if (gpu.has_power()) {
        return OfMost(Whole(gpu.power()), gpu.power(),
                      gpu.has_power_limit() ? gpu.power_limit() : kPower);
      }
      break;
    case Fact::kTemperature:
      if (gpu.has_temperature()) {
        return OfMost(Whole(gpu.temperature()), gpu.temperature(), kHottest);
      }
      break;
    case Fact::kStep:
      break;
  }
  return std::nullopt;
}

// Where there are no GPUs: cores that the rank uses, and its memory.
std::optional<Value> RankValue(const v1::BoardRank& rank, Fact fact) {
  constexpr double kCores = 1;
  constexpr double kMemory = 10e9;  // bytes; only how high the bar is
  const v1::RankSample& sample = rank.sample();
  if (fact == Fact::kUse && sample.has_cpu()) {
    return OfMost(Percent(sample.cpu()), sample.cpu(), kCores);
  }
  if (fact == Fact::kMemory && sample.has_memory()) {
    const auto bytes = static_cast<double>(sample.memory());
    return OfMost(Gigabytes(bytes), bytes, kMemory);
  }
  return std::nullopt;
}

bool Contains(const std::string& text, const std::string& part) {
  const auto same = [](char a, char b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return lower(a) == lower(b);
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

bool Fits(const RankFacts& rank, const std::string& filter) {
  return filter.empty() || std::to_string(rank.rank->rank()) == filter ||
         Contains(rank.where, filter) || Contains(rank.rank->last_line(), filter) ||
         Contains(rank.rank->ended(), filter) || Contains(rank.rank->name(), filter);
}

// What is sorted by: the largest first.
double KeyOf(const RankFacts& rank, Sort sort, int64_t now_ms) {
  constexpr double kSpread = 20;  // steps of 5 %: what is as usual keeps its place
  switch (sort) {
    case Sort::kWorst:
      return static_cast<double>(rank.mark) * 1000 +
             (rank.relative ? std::min(std::round(*rank.relative * kSpread) / kSpread, 999.0) : 0);
    case Sort::kRank:
      return 0;
    case Sort::kStep:
      return rank.step_time.value_or(0);
    case Sort::kUse:
      return rank.gpu ? rank.gpu->use() : rank.rank->sample().cpu();
    case Sort::kMemory:
      return static_cast<double>(rank.gpu ? rank.gpu->memory_used() : rank.rank->sample().memory());
    case Sort::kPower:
      return rank.gpu ? rank.gpu->power() : 0;
    case Sort::kSilent:
      return static_cast<double>(now_ms - rank.rank->last_output_ms());
  }
  return 0;
}

}  // namespace

uint32_t GlyphOf(Mark mark) {
  constexpr std::array<uint32_t, 9> kGlyphs = {U' ', U'·', U'‖', U'○', U'!',
                                               U'↻', U'▲', U'■', U'✕'};
  return kGlyphs[static_cast<size_t>(mark)];
}

Style StyleOf(Mark mark) {
  switch (mark) {
    case Mark::kFailed:
    case Mark::kStuck:
      return {.fore = kRed, .bold = true};
    case Mark::kSlow:
    case Mark::kWarning:
      return {.fore = kYellow, .bold = true};
    case Mark::kAway:
      return {.fore = kMagenta, .bold = true};
    default:
      return kLabel;
  }
}

Mark MarkOf(v1::Trouble::Kind kind) {
  switch (kind) {
    case v1::Trouble::KIND_FAILED:
      return Mark::kFailed;
    case v1::Trouble::KIND_STALLED:
      return Mark::kStuck;
    case v1::Trouble::KIND_SLOW:
      return Mark::kSlow;
    case v1::Trouble::KIND_AWAY:
      return Mark::kAway;
    default:
      return Mark::kWarning;
  }
}

Facts FactsOf(const v1::Board& board) {
  Facts facts;
  const Marks marks = MarksOf(board);
  const std::vector<std::string> names = NodeNames(board);
  for (int i = 0; i < board.nodes_size(); ++i) {
    const auto index = static_cast<size_t>(i);
    const Mark state = std::max(marks.nodes[index], MarkOfPhase(board.nodes(i).phase()));
    facts.nodes.push_back({&board.nodes(i), names[index], state, state, {}});
  }
  facts.ranks.reserve(static_cast<size_t>(board.ranks_size()));  // cells point to them
  for (int i = 0; i < board.ranks_size(); ++i) {
    const v1::BoardRank& rank = board.ranks(i);
    RankFacts found{&rank, nullptr, marks.ranks[static_cast<size_t>(i)], "", {}, {}};
    const Mark own = MarkOfState(rank.state());
    found.mark = own == Mark::kEnded || own == Mark::kFailed ? own : std::max(found.mark, own);
    const bool has_node = rank.node() < facts.nodes.size();
    if (has_node) {
      NodeFacts& node = facts.nodes[rank.node()];
      const bool over = found.mark == Mark::kEnded || found.mark == Mark::kFailed;
      if (!over) found.mark = std::max(found.mark, node.state);
      const uint32_t number = rank.gpus().empty() ? rank.local_rank() : rank.gpus(0);
      if (!rank.gpus().empty()) found.gpu = GpuOf(*node.node, rank.gpus(0));
      found.where = node.name + ":" + std::to_string(number);
    }
    facts.ranks.push_back(std::move(found));
    if (has_node && !rank.auxiliary()) {
      NodeFacts& node = facts.nodes[rank.node()];
      AddSlots(facts, facts.ranks.back(), node);
      if (facts.ranks.back().mark > Mark::kWaits) {
        node.mark = std::max(node.mark, facts.ranks.back().mark);
      }
    }
  }
  CompareSteps(facts.ranks);
  for (NodeFacts& node : facts.nodes) {
    AddOtherGpus(facts, node);
    facts.most_slots = std::max(facts.most_slots, node.slots.size());
  }
  facts.steps = std::ranges::any_of(
      facts.ranks, [](const RankFacts& rank) { return rank.step_time.has_value(); });
  return facts;
}

std::optional<Value> ValueOf(const Slot& slot, Fact fact, bool gpus) {
  if (fact == Fact::kStep) return StepValue(slot);
  if (slot.gpu) return GpuValue(*slot.gpu, fact);
  if (!gpus && slot.rank) return RankValue(*slot.rank->rank, fact);
  return std::nullopt;
}

State StateOf(const v1::Board& board) {
  const v1::JobStatus& job = board.job();
  if (job.chief_gone()) return {"crashed: its autodist is gone", Mark::kFailed};
  const Mark worst = board.troubles().empty() ? Mark::kNone : MarkOf(board.troubles(0).kind());
  switch (job.phase()) {
    case v1::JOB_PHASE_LAUNCHING:
      return {"starting", Mark::kStarting};
    case v1::JOB_PHASE_STOPPING:
      return {"stopping", Mark::kWarning};
    case v1::JOB_PHASE_RESTARTING:
      return {"restarting", Mark::kAway};
    case v1::JOB_PHASE_ENDED:
      if (job.exit_code() == 0) return {"ended well", Mark::kEnded};
      return {"ended with exit code " + std::to_string(job.exit_code()), Mark::kFailed};
    default:
      break;
  }
  if (worst == Mark::kStuck) {
    return {"stalled " + Span(board.time_ms() - board.troubles(0).since_ms()), worst};
  }
  if (worst == Mark::kNone) return {"running", worst};
  const char* const how = worst == Mark::kFailed ? "running, failed"
                          : worst == Mark::kSlow ? "running, slow"
                          : worst == Mark::kAway ? "running, node away"
                                                 : "running";
  return {how, worst};
}

std::vector<size_t> NodeOrder(const Facts& facts, const ViewState& view) {
  std::vector<size_t> order(facts.nodes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto worse = [&](size_t a, size_t b) { return facts.nodes[a].mark > facts.nodes[b].mark; };
  if (!view.by_name) std::ranges::stable_sort(order, worse);
  return order;
}

std::vector<size_t> RankOrder(const v1::Board& board, const Facts& facts, const ViewState& view) {
  std::vector<std::pair<double, size_t>> keyed;
  for (size_t i = 0; i < facts.ranks.size(); ++i) {
    if (!Fits(facts.ranks[i], view.filter)) continue;
    const double key = KeyOf(facts.ranks[i], view.sort, board.time_ms());
    keyed.emplace_back(std::isnan(key) ? 0 : -key, i);
  }
  std::ranges::sort(keyed);
  std::vector<size_t> order;
  order.reserve(keyed.size());
  for (const auto& [key, index] : keyed) order.push_back(index);
  return order;
}

}  // namespace autodist::top
