#include "process/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::process {
namespace {

using testing::ElementsAre;

Environment With(std::initializer_list<std::pair<std::string, std::string>> variables) {
  Environment environment;
  for (const auto& [name, value] : variables) environment.Set(name, value);
  return environment;
}

TEST(EnvironmentTest, ExpandsOnlyNames) {
  const Environment environment = With({{"X", "1"}, {"LONG_NAME2", "two words"}});
  for (const auto& [text, expanded] :
       std::initializer_list<std::pair<const char*, const char*>>{{"$X", "1"},
                                                                  {"${X}0", "10"},
                                                                  {"$LONG_NAME2!", "two words!"},
                                                                  {"a b \"c\" $X", "a b \"c\" 1"},
                                                                  {"$(id)", "$(id)"},
                                                                  {"`id`", "`id`"},
                                                                  {"${X", "${X"},
                                                                  {"$", "$"},
                                                                  {"$$X", "$1"},
                                                                  {"$1", "$1"},
                                                                  {"${1}", "${1}"},
                                                                  {"\\$X", "\\1"},
                                                                  {"$NONE", ""},
                                                                  {"${X:-y}", "${X:-y}"},
                                                                  {"'$X'", "'1'"}}) {
    EXPECT_EQ(environment.Expand(text), expanded) << text;
  }
}

TEST(EnvironmentTest, AnEmptyElementIsRemovedWithItsColon) {
  const Environment environment = With({{"SET", "/a"}, {"EMPTY", ""}});
  for (const auto& [text, expanded] :
       std::initializer_list<std::pair<const char*, const char*>>{{"$SET:/b", "/a:/b"},
                                                                  {"$NONE:/b", "/b"},
                                                                  {"$EMPTY:/b", "/b"},
                                                                  {"/b:$NONE", "/b"},
                                                                  {"/b:$NONE:/c", "/b:/c"},
                                                                  {"$NONE", ""},
                                                                  {"x$NONE:y", "x:y"},
                                                                  {":/b", ":/b"}}) {
    EXPECT_EQ(environment.Expand(text), expanded) << text;
  }
}

TEST(EnvironmentTest, ParsesNulSeparatedText) {
  const std::string text("A=1\0B=x=y\nz\0=bad\0nothing\0C=", 28);
  EXPECT_THAT(Environment::FromNulSeparated(text).ToStrings(),
              ElementsAre("A=1", "B=x=y\nz", "C="));
}

TEST(EnvironmentTest, RemovesByNameAndByPrefix) {
  Environment environment = With({{"RANK", "1"}, {"RANK_ID", "1"}, {"OMPI_A", ""}, {"OMPI_B", ""}});
  environment.Remove("RANK");
  environment.Remove("OMPI_*");
  EXPECT_THAT(environment.ToStrings(), ElementsAre("RANK_ID=1"));
}

TEST(EnvironmentTest, ACleanLoginHasOnlyTheUser) {
  const Environment clean =
      Environment::CleanLogin(With({{"HOME", "/h"}, {"PATH", "/evil"}, {"LD_PRELOAD", "x"}}));
  EXPECT_EQ(clean.Get("HOME"), "/h");
  EXPECT_FALSE(clean.Has("LD_PRELOAD"));
  EXPECT_EQ(clean.Get("PATH").find("evil"), std::string::npos);
}

TEST(EnvironmentTest, OurProgramsDoNotInheritShellAndLibraryVariables) {
  Environment environment;
  for (const char* name : {"PATH", "HOME", "SSH_AUTH_SOCK", "BASH_ENV", "ENV", "LD_LIBRARY_PATH",
                           "PYTHONHOME", "PYTHONPATH", "SHELLOPTS", "BASH_FUNC_cd%%"}) {
    environment.Set(name, "x");
  }
  EXPECT_EQ(environment.ForOurPrograms().ToStrings(),
            (std::vector<std::string>{"HOME=x", "PATH=x", "SSH_AUTH_SOCK=x"}));
}

}  // namespace
}  // namespace autodist::process
