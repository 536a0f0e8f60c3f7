#include "diagnosis/link_checks.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/median.h"
#include "base/quantity.h"
#include "diagnosis/late_issues.h"
#include "diagnosis/rate_text.h"

namespace autodist::diagnosis {
namespace {

constexpr char kSlowLinkRemedy[] =
    "see the speed and the errors of the network interfaces (ip -s link, ethtool, ibstat), then "
    "the cable and the port of the switch";
constexpr char kWrongLinkRemedy[] =
    "leave the node out and have its memory and network interfaces examined";

struct Links {           // of a node
  double best = 0;       // rate
  std::string partners;  // "10.0.0.2 and 10.0.0.5"
  uint64_t wrong = 0;
};

std::map<uint32_t, Links> NodesWithLinks(const v1::Diagnosis& diagnosis) {
  std::map<uint32_t, Links> nodes;
  for (const v1::MeasuredLink& link : diagnosis.links()) {
    const v1::ExchangeRate& exchange = link.exchange();
    Links& node = nodes[link.node()];
    node.best = std::max(node.best, exchange.rate());
    node.partners += (node.partners.empty() ? "" : " and ") +
                     diagnosis.nodes(static_cast<int>(exchange.partner())).address();
    node.wrong += exchange.wrong();
  }
  return nodes;
}

}  // namespace

void JudgeLinks(v1::Diagnosis& diagnosis) {
  const std::map<uint32_t, Links> nodes = NodesWithLinks(diagnosis);
  if (nodes.empty()) return;
  std::vector<double> rates;
  rates.reserve(nodes.size());
  for (const auto& [rank, node] : nodes) rates.push_back(node.best);
  const double usual = base::Median(rates);
  for (const auto& [rank, node] : nodes) {
    if (node.best < usual * kSlowLink) {
      AddIssue(v1::CHECK_NETWORK, v1::CHECK_RESULT_WARNING, rank,
               "exchanged data more slowly than others: " +
                   RateOf(RateUnit::kBytes, node.best, usual) + ", with " + node.partners,
               kSlowLinkRemedy, diagnosis);
    }
    if (node.wrong > 0) {
      AddIssue(v1::CHECK_NETWORK, v1::CHECK_RESULT_BAD, rank,
               "received " + base::Count(node.wrong, "wrong number") + " from " + node.partners,
               kWrongLinkRemedy, diagnosis);
    }
  }
}

std::string LinksAsText(const v1::Diagnosis& diagnosis) {
  const std::map<uint32_t, Links> nodes = NodesWithLinks(diagnosis);
  if (nodes.empty()) return "";
  std::vector<double> rates;
  for (const v1::MeasuredLink& link : diagnosis.links()) rates.push_back(link.exchange().rate());
  const auto [least, most] = std::ranges::minmax(rates);
  return base::Count(nodes.size(), "node") +
         " in pairs: " + RateRange(RateUnit::kBytes, least, most) + " in each direction\n";
}

}  // namespace autodist::diagnosis
