// Texts of `autodist help TOPIC`, for topics that concern several commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autodist::cli {

struct HelpTopic {
  std::string name;       // "exit-codes"
  std::string summary;    // a line for the list of topics
  std::string (*text)();  // paragraphs and tables, at most 80 characters wide
};

// All topics in the order of the list.
const std::vector<HelpTopic>& HelpTopics();

// Null if the topic does not exist.
const HelpTopic* FindHelpTopic(std::string_view name);

}  // namespace autodist::cli
