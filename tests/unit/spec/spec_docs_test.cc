// The documentation of spec keys in docs/ is generated from the reader's tables.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "spec/node_entry.h"
#include "spec/ssh_section.h"
#include "spec/yaml_reader.h"

namespace autodist::spec {
namespace {

using Json = nlohmann::ordered_json;

const std::filesystem::path kDocs = std::filesystem::path(TEST_SOURCE_DIR).parent_path() / "docs";

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Set UPDATE_GOLDEN=1 to update the file after an intended change.
void Compare(const std::string& file, const std::string& text) {
  if (std::getenv("UPDATE_GOLDEN")) std::ofstream(kDocs / file) << text;
  EXPECT_EQ(ReadFile(kDocs / file), text) << file;
}

std::string WithoutMarkdown(std::string text) {
  text = std::regex_replace(text, std::regex(R"(\[([^\]]*)\]\([^)]*\))"), "$1");
  text = std::regex_replace(text, std::regex("`"), "");
  return std::regex_replace(text, std::regex(R"(\\\|)"), "|");
}

Json PropertiesOf(const std::vector<KeyText>& keys) {
  Json properties = Json::object();
  for (const KeyText& key : keys) {
    Json& value = properties[key.name];
    value["description"] =
        WithoutMarkdown(std::string(key.value) + ". " + std::string(key.meaning));
    value.update(Json::parse("{" + key.schema + "}"));
    const std::string examples = key.examples;
    if (!examples.empty()) value["examples"] = Json::parse("[" + examples + "]");
  }
  return properties;
}

Json MappingOf(const Json& type, const std::string& description, const std::vector<KeyText>& keys) {
  Json mapping = {{"type", type}, {"description", description}, {"additionalProperties", false}};
  for (const KeyText& key : keys) {
    if (std::string(key.value).starts_with("required")) mapping["required"].push_back(key.name);
  }
  mapping["properties"] = PropertiesOf(keys);
  return mapping;
}

TEST(SpecDocsTest, TheSchema) {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "autodist resource spec"}};
  schema.update(MappingOf("object",
                          "Which machines take part in a job, with which devices, and how to log "
                          "in to them. More is checked by `autodist validate`.",
                          SpecKeyTexts()));
  schema["patternProperties"] = {{"^(x-|\\.)", Json::object()}};
  schema["definitions"] = {
      {"node", MappingOf("object", "One machine.", NodeKeyTexts())},
      {"ssh_group", MappingOf({"object", "null"},
                              "A way to log in. What is left out is taken from ~/.ssh/config, then "
                              "from OpenSSH's defaults.",
                              GroupKeyTexts())}};
  Compare("resource_spec.schema.json", schema.dump(2) + "\n");
}

// The page with the table below this heading replaced.
std::string WithTable(const std::string& page, const std::string& heading,
                      const std::vector<KeyText>& keys) {
  std::string table;
  for (const KeyText& key : keys) {
    table += "| `" + std::string(key.name) + "` | " + key.value + " | " + key.meaning + " |\n";
  }
  const std::string head = "| key | value | meaning |\n|---|---|---|\n";
  const size_t begin = page.find(head, page.find("\n## " + heading + "\n")) + head.size();
  return page.substr(0, begin) + table + page.substr(page.find("\n\n", begin - 1) + 1);
}

TEST(SpecDocsTest, TheTables) {
  std::string page = ReadFile(kDocs / "reference/spec.md");
  page = WithTable(page, "The file", SpecKeyTexts());
  page = WithTable(page, "A node", NodeKeyTexts());
  page = WithTable(page, "An ssh group", GroupKeyTexts());
  Compare("reference/spec.md", page);
}

}  // namespace
}  // namespace autodist::spec
