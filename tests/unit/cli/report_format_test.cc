#include "cli/report_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::cli {
namespace {

TEST(FormatOfReportTest, FollowsTheSuffix) {
  for (const char* file :
       {"", "report", "report.html", "a.b/report", "x.md/REPORT.HTM", ".report"}) {
    const auto format = FormatOfReport(file);
    ASSERT_TRUE(format.ok()) << file;
    EXPECT_EQ(*format, ReportFormat::kHtml) << file;
  }
  for (const char* file : {"report.md", "./x.html/Report.MD", "a.markdown"}) {
    const auto format = FormatOfReport(file);
    ASSERT_TRUE(format.ok()) << file;
    EXPECT_EQ(*format, ReportFormat::kMarkdown) << file;
  }
  for (const char* file : {"report.pdf", "report.json", "report.txt"}) {
    const Status refused = FormatOfReport(file).status();
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << file;
    EXPECT_THAT(Message(refused), testing::HasSubstr(file));
  }
}

}  // namespace
}  // namespace autodist::cli
