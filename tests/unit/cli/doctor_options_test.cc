#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/commands.h"

namespace autodist::cli {
namespace {

class DoctorOptionsTest : public testing::Test {
 protected:
  DoctorOptionsTest() {
    AddRun(run_, program_);
    AddDoctor(doctor_, program_);
  }

  const std::vector<std::string> program_;
  CLI::App run_;
  CLI::App doctor_;
};

TEST_F(DoctorOptionsTest, TheOptionsOfRunAreAccepted) {
  for (const CLI::Option* option : run_.get_options()) {
    const std::string name = "--" + option->get_lnames().front();
    if (name == "--kubernetes") continue;
    const CLI::Option* const accepted = doctor_.get_option_no_throw(name);
    ASSERT_TRUE(accepted) << name;
    EXPECT_EQ(accepted->get_items_expected_max(), option->get_items_expected_max()) << name;
  }
  EXPECT_EQ(doctor_.get_option("--max-restarts")->get_group(), "");
  for (const char* name : {"--spec", "--exclude", "--sync", "--json", "--burn", "--help"}) {
    EXPECT_NE(doctor_.get_option(name)->get_group(), "") << name;
  }
}

TEST_F(DoctorOptionsTest, TheirValuesAreChecked) {
  for (const auto& [words, fits] :
       {std::pair<std::vector<std::string>, bool>{{"3", "--max-restarts"}, true},
        {{"x", "--max-restarts"}, false},
        {{"first", "--chief-on", "--detach"}, true},
        {{"", "--checkpoint-dir"}, false},
        {{"never", "--on-busy"}, false}}) {
    bool accepted = true;
    try {
      doctor_.parse(std::vector<std::string>(words));
    } catch (const CLI::ParseError&) {
      accepted = false;
    }
    EXPECT_EQ(accepted, fits) << words.front() << " " << words.back();
  }
}

}  // namespace
}  // namespace autodist::cli
