#include "cli/display_options.h"

#include "base/log.h"
#include "cli/values.h"

namespace autodist::cli {
namespace {

using display::Colour;
using display::PrefixStyle;

CLI::Validator Ranks() {
  return {[](const std::string& text) {
            const auto shown = display::ShownRanks::Parse(text);
            return shown.ok() ? std::string() : Message(shown.status());
          },
          "RANKS"};
}

PrefixStyle PrefixOf(const std::string& name) {
  if (name == "none") return PrefixStyle::kNone;
  if (name == "rank") return PrefixStyle::kRank;
  return name == "time" ? PrefixStyle::kTime : PrefixStyle::kNode;
}

}  // namespace

void AddDisplayOptions(CLI::App& app, DisplayOptions& options, const std::string& group) {
  app.add_option(
         "--show", options.show,
         "Ranks whose output is shown: 0,8-15, local0, node:gpu3, none; the files have all. "
         "Of bars that all ranks show only the first is, unless they are named here")
      ->check(Ranks())
      ->capture_default_str()
      ->group(group);
  app.add_option("--prefix", options.prefix,
                 "What stands before each line: none, rank, node (and rank), time (with both)")
      ->check(OneOf({"none", "rank", "node", "time"}))
      ->capture_default_str()
      ->group(group);
  app.add_option("--color", options.colour,
                 "Colors of nodes and messages: auto is where a terminal has them, unless NO_COLOR "
                 "is set")
      ->check(OneOf({"auto", "always", "never"}))
      ->capture_default_str()
      ->group(group);
}

Result<display::View> ViewOf(const DisplayOptions& options,
                             const std::vector<display::Process>& processes) {
  display::View view;
  AD_ASSIGN_OR_RETURN(view.show, display::ShownRanks::Parse(options.show));
  const Status known = view.show.CheckAgainst(processes);
  if (!known.ok()) {
    return Error(StatusCode::kInvalidArgument, "--show: " + Message(known));
  }
  view.prefix = PrefixOf(options.prefix);
  if (options.colour == "auto") return view;
  view.colour = options.colour == "always" ? Colour::kAlways : Colour::kNever;
  base::SetLogColour(view.colour == Colour::kAlways);
  return view;
}

}  // namespace autodist::cli
