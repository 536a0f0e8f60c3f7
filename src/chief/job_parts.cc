#include "chief/job_parts.h"

#include <signal.h>

#include <utility>

#include "chief/policy/restart_policy.h"

namespace autodist::chief {
namespace {

using base::LogLevel;
using std::chrono::milliseconds;

JobOptions Completed(JobOptions options, Console& console) {
  if (options.view.json) {
    options.print_json = [&console](std::string line) { console.Print(std::move(line)); };
  }
  return options;
}

}  // namespace

JobParts::JobParts(const v1::LaunchPlan& its_plan, JobOptions its_options,
                   std::unique_ptr<Loop> its_loop, FleetListener& listener, const Signal& signal)
    : plan(its_plan),
      options(Completed(std::move(its_options), console)),
      loop(its_loop ? std::move(its_loop) : std::make_unique<Loop>()),
      stop(options.launch.grace(), options.launch.lease(),
           RestartLimitsOf(options.request(), static_cast<uint32_t>(plan.nodes_size()))
               .MayRestart()),
      console(
          [this](uint32_t node, const v1::OutputAck& ack) { nodes.node(node).Acknowledge(ack); }),
      output(*loop, console),
      nodes(plan,
            {options.launch.lease(),
             options.launch.replaceable() ? milliseconds(0) : options.launch.grace()},
            *loop, output, console, listener),
      recorder(plan, options, *loop),
      snapshot(options, *loop, nodes, output, recorder),
      history(options, nodes.size(), *loop, snapshot,
              [this](const IssueWarning& warning) {
                console.Log(LogLevel::kWarning, warning.what);
                recorder.Record(warning.what, warning.address);
              }),
      stacks(*loop, nodes, console, output),
      hang(options, *loop, nodes, console, stacks),
      diagnoser(*loop, snapshot, stacks, output,
                [this](const std::string& event) { recorder.Record(event); }),
      own_terminal(MakeOwnTerminal(signal)),
      input([this](uint32_t node,
                   v1::ChiefMessage message) { nodes.node(node).SendReliably(std::move(message)); },
            own_terminal),
      fetch(plan, options.log_folder, *loop, nodes,
            [this](uint32_t node) { return nodes.node(node).link(); }) {}

// Returns null if no rank receives our input.
std::shared_ptr<OwnTerminal> JobParts::MakeOwnTerminal(const Signal& signal) {
  if (options.own_input == JobOptions::OwnInput::kNone) return nullptr;
  OwnTerminal::Events events;
  events.give = [this](v1::TerminalInput typed, bool end) {
    loop->Post([this, typed = std::move(typed), end] { input.Give(*own_terminal, typed, end); });
  };
  events.leave = [signal] { signal(SIGINT, "Enter ~."); };
  events.log = [this](const std::string& text) { console.Log(LogLevel::kInfo, text); };
  return std::make_shared<OwnTerminal>(
      options.request().stdin_rank(), options.own_input == JobOptions::OwnInput::kTerminal,
      plan.world_size() > 1 ? options.log_folder.path() : "", std::move(events));
}

}  // namespace autodist::chief
