#include "report/html.h"

#include <absl/strings/str_replace.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/quantity.h"
#include "base/utf8.h"
#include "report/severity.h"
#include "report/style.h"

namespace autodist::report {
namespace {

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
