#include "cli/field_option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autodist/v1/job_request.pb.h"
#include "cli/help_text.h"
#include "cli/values.h"

namespace autodist::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Parsed {
  v1::JobRequest request;
  std::string refusal;
};

// Adds an option for each kind of field.
void AddOptions(CLI::App& app, v1::JobRequest& request) {
  AddField(app, request, "Options", "-n,--nproc-per-node", "how many")->check(WholeNumber(1, 8));
  AddField(app, request, "Options", "--grace", "how long")->transform(Duration(0));
  AddField(app, request, "Options", "--output-buffer", "how much")->transform(Size());
  AddField(app, request, "Options", "--host-key-check", "whether");
  AddField(app, request, "Options", "--per", "how often");
  AddField(app, request, "Options", "--sync", "whether");
  AddField(app, request, "Options", "--env", "which");
  AddField(app, request, "Options", "--name", "which");
}

Parsed Parse(std::vector<std::string> words) {
  CLI::App app;
  Parsed parsed;
  AddOptions(app, parsed.request);
  std::ranges::reverse(words);
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    parsed.refusal = error.what();
  }
  return parsed;
}

TEST(FieldOptionTest, ReplacesAnUnlistedOption) {
  CLI::App app;
  v1::JobRequest unlisted;
  v1::JobRequest request;
  AddField(app, unlisted, group::kUnlisted, "-n,--nproc-per-node", "unused");
  AddField(app, request, "Options", "-n,--nproc-per-node", "how many");
  EXPECT_THROW(AddField(app, request, "Options", "--nproc-per-node", "twice"),
               CLI::OptionAlreadyAdded);
  app.parse(std::vector<std::string>{"3", "-n"});
  EXPECT_EQ(request.nproc_per_node(), 3u);
  EXPECT_FALSE(unlisted.has_nproc_per_node());
}

TEST(FieldOptionTest, AGivenOptionSetsTheField) {
  const v1::JobRequest request =
      Parse({"-n", "3", "--grace=2m", "--output-buffer=1K", "--host-key-check", "accept-new",
             "--per=job", "--sync", "--env", "A=b c", "--env=B=", "--name", ""})
          .request;
  EXPECT_EQ(request.nproc_per_node(), 3u);
  EXPECT_EQ(request.grace(), 120);
  EXPECT_EQ(request.output_buffer(), 1024u);
  EXPECT_EQ(request.host_key_check(), v1::HOST_KEY_CHECK_ACCEPT_NEW);
  EXPECT_EQ(request.per(), v1::PROGRAM_KIND_PER_JOB);
  EXPECT_TRUE(request.sync());
  EXPECT_THAT(request.env(), ElementsAre("A=b c", "B="));
  EXPECT_TRUE(request.has_name());
}

TEST(FieldOptionTest, AnAbsentOptionLeavesTheFieldUnset) {
  const v1::JobRequest request = Parse({}).request;
  EXPECT_EQ(request.ByteSizeLong(), 0u);
  EXPECT_EQ(request.grace(), 30);
}

TEST(FieldOptionTest, EnumValuesAreNamedWithoutTheirPrefix) {
  EXPECT_THAT(Parse({"--per", "core"}).refusal, HasSubstr("device, node or job"));
  EXPECT_THAT(Parse({"--host-key-check", "x"}).refusal, HasSubstr("strict, accept-new or off"));
}

TEST(FieldOptionTest, TheHelpShowsTheDefault) {
  CLI::App app;
  v1::JobRequest request;
  AddOptions(app, request);
  EXPECT_EQ(app.get_option("--grace")->get_default_str(), "30s");
  EXPECT_EQ(app.get_option("--per")->get_default_str(), "device");
  EXPECT_EQ(app.get_option("--sync")->get_default_str(), "");
  EXPECT_EQ(app.get_option("--name")->get_default_str(), "");
}

TEST(FieldOptionTest, AMessageIsValidatedLikeTheCommandLine) {
  const auto check = [](const v1::JobRequest& request) {
    CLI::App app;
    v1::JobRequest unused;
    AddOptions(app, unused);
    return CheckFields(app, request);
  };
  v1::JobRequest request;
  EXPECT_TRUE(check(request).ok());
  request.set_nproc_per_node(8);
  request.set_output_buffer(5);
  request.set_per(v1::PROGRAM_KIND_PER_NODE);
  EXPECT_TRUE(check(request).ok()) << check(request);
  request.set_nproc_per_node(9);
  EXPECT_THAT(Message(check(request)), HasSubstr("nproc_per_node: '9' is not a whole number"));
}

}  // namespace
}  // namespace autodist::cli
