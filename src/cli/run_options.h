// The options of `autodist run`.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/display_options.h"
#include "cli/nodes_options.h"
#include "cli/program_options.h"
#include "launch/fetch_files.h"
#include "launch/launch_options.h"

namespace autodist::cli {

inline double InSeconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

struct RunOptions {
  ProgramOptions program;
  NodesOptions nodes;
  std::string log_dir = "autodist-runs";
  std::string name;
  double grace_s = InSeconds(launch::LaunchOptions().grace);
  double lease_s = InSeconds(launch::LaunchOptions().lease);
  double timeout_s = 0;
  std::string hang_timeout;  // seconds, or "auto"; empty: none
  std::string on_hang = "stop";
  std::string on_busy;
  std::string stop_signal = "TERM";
  uint64_t spool = launch::LaunchOptions().spool_limit;
  double sample_s = InSeconds(launch::LaunchOptions().sample);
  uint32_t max_restarts = 0;
  uint32_t min_nodes = 0;
  std::string checkpoint_dir;
  std::string nccl_debug;
  std::string progress;
  bool no_affinity = false;
  bool no_preflight = false;
  bool sync = false;
  std::string sync_from = "first";  // or "here"
  std::vector<std::string> fetch;
  uint64_t max_size = launch::kMostFetchedBytes;
  bool detach = false;
  std::string chief_on;  // "first", or a node's address; empty: here
  std::optional<uint32_t> stdin_rank;
  std::string metrics;
  std::optional<std::string> web;
  bool web_control = false;
  std::string on_end;
  bool dry_run = false;
  bool json = false;
  bool verbose = false;
  bool show_values = false;
  DisplayOptions display;
};

// Fills them as they are parsed; they have to outlive that.
void AddRunOptions(CLI::App& app, RunOptions& options);

}  // namespace autodist::cli
