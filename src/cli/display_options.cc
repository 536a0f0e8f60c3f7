#include "cli/display_options.h"

#include "base/log.h"
#include "cli/field_option.h"
#include "cli/values.h"

namespace autodist::cli {
namespace {

using display::Colour;
using display::PrefixStyle;

PrefixStyle PrefixOf(v1::Display::Prefix prefix) {
  switch (prefix) {
    case v1::Display::PREFIX_NONE:
      return PrefixStyle::kNone;
    case v1::Display::PREFIX_RANK:
      return PrefixStyle::kRank;
    case v1::Display::PREFIX_TIME:
      return PrefixStyle::kTime;
    case v1::Display::PREFIX_NODE:
      return PrefixStyle::kNode;
  }
  return PrefixStyle::kNode;
}

}  // namespace

void AddDisplayOptions(CLI::App& app, v1::Display& display, const std::string& group) {
  AddField(app, display, group, "--show",
           "Ranks whose output to print: 0,8-15, local0, node:gpu3, none; the log folder has all. "
           "Of equal progress bars, prints only the first unless ranks are named")
      ->check(ParsedBy(display::ShownRanks::Parse, "RANKS"));
  AddField(app, display, group, "--prefix",
           "Prefix of each line: none, rank, node (and rank), time (and both)");
  AddField(app, display, group, "--color",
           "Colors: auto is on for terminals unless NO_COLOR is set");
}

Result<display::View> ViewOf(const v1::Display& display,
                             const std::vector<display::Process>& processes) {
  display::View view;
  AD_ASSIGN_OR_RETURN(view.show, display::ShownRanks::Parse(display.show()));
  const Status known = view.show.CheckAgainst(processes);
  if (!known.ok()) return Error(StatusCode::kInvalidArgument, "--show: " + Message(known));
  view.prefix = PrefixOf(display.prefix());
  if (display.color() == v1::Display::COLOR_AUTO) return view;
  view.colour = display.color() == v1::Display::COLOR_ALWAYS ? Colour::kAlways : Colour::kNever;
  base::SetLogColour(view.colour == Colour::kAlways);
  return view;
}

}  // namespace autodist::cli
