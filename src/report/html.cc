#include "report/html.h"

#include <absl/strings/str_replace.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/quantity.h"
#include "base/utf8.h"
#include "report/document.h"

namespace autodist::report {
namespace {

// The page's style sheet, with the colors of `autodist web`.
inline constexpr char kStyle[] = R"(
:root { color-scheme: light dark; --bg: #f6f6f3; --ink: #1a1c20; --ink2: #4d525c; --ink3: #686d77;
 --line: #e2e2dd; --accent: #1b5fa8; --slow: #8f5200; --slow-fill: #c27a12; --bad: #b3261e;
 --bad-bg: #fdecea; --disconnected: #6a45b0; --quiet: #97bfd0; --code: #eeeeea; }
@media (prefers-color-scheme: dark) { :root { --bg: #0f1114; --ink: #e6e8eb; --ink2: #a9b0ba;
 --ink3: #8a919c; --line: #252a31; --accent: #6db3f2; --slow: #f0b04a; --slow-fill: #e5a43c;
 --bad: #ff8f7d; --bad-bg: #301715; --disconnected: #bda4f7; --quiet: #1d5b73; --code: #1b1f25; } }
* { box-sizing: border-box; margin: 0; }
body { max-width: 1100px; margin: 0 auto; padding: 24px 20px 48px; background: var(--bg);
 color: var(--ink); font: 13px/1.45 Inter, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif;
 font-variant-numeric: tabular-nums; }
h1 { font-size: 17px; font-weight: 600; overflow-wrap: anywhere; }
h2 { font-size: 12px; font-weight: 600; margin: 28px 0 8px; padding-top: 10px; border-top: 1px solid var(--line); }
p { margin: 8px 0; overflow-wrap: anywhere; white-space: pre-wrap; }
.state { font-weight: 600; }
.running { color: var(--accent); } .slow { color: var(--slow); } .bad { color: var(--bad); } .disconnected { color: var(--disconnected); }
.big { display: flex; flex-wrap: wrap; gap: 10px 0; margin: 12px 0; }
.big div { padding: 0 16px; border-left: 1px solid var(--line); } .big div:first-child { padding-left: 0; border: 0; }
.big dt { font-size: 11px; color: var(--ink3); } .big dd { font-size: 21px; letter-spacing: -.018em; }
.few { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 3px 16px; }
.few dt { color: var(--ink3); } .few dd { overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 12px; min-width: 100%; margin: 4px 0; }
.parts { min-width: 360px; }
th { text-align: left; font-weight: 500; color: var(--ink3); font-size: 11px; }
th, td { padding: 3px 16px 3px 0; vertical-align: top; border-bottom: 1px solid var(--line); }
.n { text-align: right; white-space: nowrap; }
code, pre { font: 11.5px/1.45 ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
pre { background: var(--code); padding: 8px 10px; border-radius: 6px; max-height: 480px; overflow: auto; margin: 8px 0; }
.curves { display: grid; grid-template-columns: repeat(auto-fill, minmax(300px, 1fr)); gap: 18px 28px; }
figcaption { display: flex; justify-content: space-between; gap: 8px; } figcaption b { font-weight: 500; overflow-wrap: anywhere; }
figure small { display: flex; justify-content: space-between; } small { font-size: 10px; color: var(--ink3); }
svg { display: block; width: 100%; overflow: visible; }
.curve { height: 90px; } .curve polyline { fill: none; stroke: var(--accent); stroke-width: 1.5; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.curve circle { fill: var(--accent); } .curve line { stroke: var(--bad); stroke-width: 1; stroke-dasharray: 3 3; vector-effect: non-scaling-stroke; }
.curve path { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.shares { height: 14px; margin: 6px 0 10px; } rect { fill: var(--quiet); }
rect.running { fill: var(--accent); } rect.slow { fill: var(--slow-fill); } rect.bad { fill: var(--bad); } rect.disconnected { fill: var(--disconnected); }
.key { display: inline-block; width: 9px; height: 9px; margin-right: 6px; }
@media print { body { max-width: none; } pre { max-height: none; } }
)";

constexpr int kWide = 1000;  // of the pictures, in their units
constexpr int kHigh = 100;

std::string Escaped(const std::string& printable) {
  return absl::StrReplaceAll(
      printable, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string HtmlText(const std::string& text) { return Escaped(base::Printable(text)); }
std::string HtmlLines(const std::string& text) { return Escaped(base::PrintableLines(text)); }

const char* ClassOf(Severity tone) {
  switch (tone) {
    case Severity::kRunning:
      return "running";
    case Severity::kSlow:
      return "slow";
    case Severity::kBad:
      return "bad";
    case Severity::kAway:
      return "disconnected";
    case Severity::kPlain:
      break;
  }
  return "plain";
}

std::string Coordinate(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string InTone(Severity tone, const std::string& html) {
  if (tone == Severity::kPlain) return html;
  return std::string("<span class=\"") + ClassOf(tone) + "\">" + GlyphOf(tone) + html + "</span>";
}

std::string CellHtml(const Cell& cell) {
  const std::string html = InTone(cell.tone, HtmlText(cell.text));
  return cell.kind == Cell::Kind::kCode && !cell.text.empty() ? "<code>" + html + "</code>" : html;
}

std::string RowHtml(const std::vector<Cell>& row, const std::string& tag) {
  std::string html = "<tr>";
  for (const Cell& cell : row) {
    html += "<" + tag + (cell.kind == Cell::Kind::kNumber ? " class=\"n\">" : ">") +
            CellHtml(cell) + "</" + tag + ">";
  }
  return html + "</tr>\n";
}

// Lines through the known values; a single value is a dot.
std::string PolylinesOf(const Curve& curve) {
  const double step = kWide / static_cast<double>(std::max<size_t>(curve.heights.size(), 2) - 1);
  std::string html;
  std::string points;
  int count = 0;
  std::pair<double, double> last;
  const auto end = [&] {
    if (count == 1) {
      html += "<circle cx=\"" + Coordinate(last.first) + "\" cy=\"" + Coordinate(last.second) +
              "\" r=\"2\"/>";
    } else if (count > 1) {
      html += "<polyline points=\"" + points + "\"/>";
    }
    points.clear();
    count = 0;
  };
  for (size_t i = 0; i < curve.heights.size(); ++i) {
    if (!curve.heights[i]) {
      end();
      continue;
    }
    last = {static_cast<double>(i) * step, (1 - *curve.heights[i]) * kHigh};
    points += (count > 0 ? " " : "") + Coordinate(last.first) + "," + Coordinate(last.second);
    ++count;
  }
  end();
  return html;
}

std::string ViewBox() {
  return "viewBox=\"0 0 " + std::to_string(kWide) + " " + std::to_string(kHigh) +
         "\" preserveAspectRatio=\"none\"";
}

std::string CurveHtml(const Curve& curve) {
  std::string html = "<figure><figcaption><b>" + HtmlText(curve.name) + "</b><span>" +
                     HtmlText(curve.last) + "</span></figcaption><small><span>" +
                     HtmlText(curve.least) + " to " + HtmlText(curve.most) +
                     "</span></small>\n<svg class=\"curve\" " + ViewBox() +
                     " role=\"img\" aria-label=\"" + HtmlText(curve.name) + "\">";
  html += "<path d=\"M0 " + std::to_string(kHigh) + "H" + std::to_string(kWide) + "\"/>";
  for (const double attempt : curve.attempts) {
    const std::string x = Coordinate(attempt * kWide);
    html += "<line x1=\"" + x + "\" y1=\"0\" x2=\"" + x + "\" y2=\"" + std::to_string(kHigh) +
            "\"><title>started again</title></line>";
  }
  return html + PolylinesOf(curve) + "</svg>\n<small><span>" + HtmlText(curve.begin) +
         "</span><span>" + HtmlText(curve.end) + "</span></small></figure>\n";
}

// Formats each kind of block.
struct BlockHtml {
  bool summary;  // for the numbers at the top

  std::string operator()(const Paragraph& paragraph) const {
    return "<p>" + InTone(paragraph.tone, HtmlText(paragraph.text)) + "</p>\n";
  }
  std::string operator()(const Lines& lines) const {
    return "<pre>" + HtmlLines(lines.text) + "</pre>\n";
  }
  std::string operator()(const Facts& facts) const {
    std::string html = summary ? "<dl class=\"big\">" : "<dl class=\"few\">";
    for (const Facts::Fact& fact : facts.facts) {
      const std::string pair =
          "<dt>" + HtmlText(fact.name) + "</dt><dd>" + CellHtml(fact.value) + "</dd>";
      html += summary ? "<div>" + pair + "</div>" : pair;
    }
    return html + "</dl>\n";
  }
  std::string operator()(const Table& table) const {
    std::string html =
        "<div class=\"scroll\"><table>\n<thead>" + RowHtml(table.heading, "th") + "</thead>\n";
    for (const std::vector<Cell>& row : table.rows) html += RowHtml(row, "td");
    return html + "</table></div>\n";
  }
  std::string operator()(const Shares& shares) const {
    std::string html = "<svg class=\"shares\" " + ViewBox() + " role=\"img\">";
    std::string rows;
    double at = 0;
    for (const Shares::Part& part : shares.parts) {
      html += std::string("<rect class=\"") + ClassOf(part.tone) + "\" x=\"" +
              Coordinate(at * kWide) + "\" width=\"" + Coordinate(part.share * kWide) +
              "\" height=\"" + std::to_string(kHigh) + "\"><title>" + HtmlText(part.name) +
              "</title></rect>";
      at += part.share;
      rows += "<tr><td>" + InTone(part.tone, HtmlText(part.name)) + "</td><td class=\"n\">" +
              HtmlText(part.value) + "</td><td class=\"n\">" + base::Percent(part.share) +
              "</td></tr>\n";
    }
    return html + "</svg>\n<div class=\"scroll\"><table class=\"parts\">\n" + rows +
           "</table></div>\n";
  }
  std::string operator()(const Curves& curves) const {
    std::string html = "<div class=\"curves\">\n";
    for (const Curve& curve : curves.curves) html += CurveHtml(curve);
    return html + "</div>\n";
  }
};

std::string BlocksHtml(const std::vector<Block>& blocks, bool summary) {
  std::string html;
  for (const Block& block : blocks) html += std::visit(BlockHtml{summary}, block);
  return html;
}

std::string CommandHtml(const std::string& command) {
  return command.empty() ? "" : "<p><code>" + HtmlText(command) + "</code></p>\n";
}

}  // namespace

std::string HtmlOf(const Document& document) {
  std::string html =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      HtmlText(document.title) + " · " + HtmlText(document.state) + "</title>\n<style>" + kStyle +
      "</style>\n</head>\n<body>\n<h1>" + HtmlText(document.title) + "</h1>\n" +
      CommandHtml(document.command) + "<p class=\"state\">" +
      InTone(document.tone, HtmlText(document.state)) + "</p>\n";
  html += BlocksHtml(document.summary, true);
  for (const Section& section : document.sections) {
    html += "<h2>" + HtmlText(section.heading) + "</h2>\n" + BlocksHtml(section.blocks, false);
  }
  return html + "</body>\n</html>\n";
}

}  // namespace autodist::report
