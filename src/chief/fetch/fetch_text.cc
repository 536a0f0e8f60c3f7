#include "chief/fetch/fetch_text.h"

#include "autodist/status.h"
#include "base/a_few_of.h"
#include "base/quantity.h"

namespace autodist::chief {
namespace {

constexpr size_t kMaxNamed = 8;  // nodes

std::string Names(const v1::NodeIssue& issue) {
  return base::AFewOf({issue.nodes().begin(), issue.nodes().end()}, kMaxNamed);
}

std::string SumOf(const v1::JobFiles& files) {
  std::string text = "fetched nothing";
  int failed = 0;
  for (const v1::NodeIssue& failure : files.failures()) failed += failure.nodes_size();
  const int without = static_cast<int>(files.asked() - files.sharing()) - failed;
  if (files.files() > 0) {
    text = "fetched " + base::Count(files.files(), "file") + ", " + base::Bytes(files.bytes()) +
           ", from " + base::Count(files.nodes(), "node") + " into " + files.folder();
  } else if (without > 0 && files.unchanged() == 0) {
    text +=
        ": " + base::Count(static_cast<size_t>(without), "node") + " without a file that matches";
  }
  if (files.unchanged() > 0) {
    text += (files.files() > 0 ? "; " : ": ") + base::Count(files.unchanged(), "file") +
            (files.unchanged() == 1 ? " that matches" : " that match") +
            " did not change while the job ran";
  }
  if (files.chief_has_own()) text += "; files of the chief's own node stay in " + files.shared();
  const uint32_t sharing = files.sharing() - (files.chief_has_own() ? 1 : 0);
  if (sharing > 0) {
    text += "; " + base::Count(sharing, "node") + (sharing == 1 ? " shares" : " share") +
            " the folder " + files.shared() + " with the chief, so nothing was fetched from " +
            (sharing == 1 ? "it" : "them");
  }
  return text;
}

}  // namespace

std::vector<FetchLine> FetchText(const v1::JobFiles& files) {
  std::vector<FetchLine> text;
  for (const v1::NodeIssue& warning : files.warnings()) {
    text.push_back({base::LogLevel::kWarning, Names(warning) + ": " + warning.what()});
  }
  for (const v1::NodeIssue& failure : files.failures()) {
    const Status status =
        Error(StatusCode::kUnavailable, Names(failure) + ": incomplete: " + failure.what());
    text.push_back(
        {base::LogLevel::kError, base::FailureText(WithRemedy(status, failure.remedy()))});
  }
  text.push_back({base::LogLevel::kInfo, SumOf(files)});
  return text;
}

}  // namespace autodist::chief
