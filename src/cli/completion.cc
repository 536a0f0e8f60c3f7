#include "cli/completion.h"

#include <algorithm>

#include "cli/help_text.h"

namespace autodist::cli {
namespace {

constexpr size_t kMaxBriefLength = 72;

// Returns the first clause of a help text.
std::string Brief(const std::string& text) {
  std::string brief = text.substr(0, text.find(';'));
  if (brief.size() <= kMaxBriefLength) return brief;
  brief.resize(brief.rfind(' ', kMaxBriefLength));
  return brief + " ...";
}

const OptionEntry* OptionOf(const CommandEntry& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  const auto option = std::ranges::find_if(command.options, [&](const OptionEntry& it) {
    return std::ranges::count(it.names, name) > 0;
  });
  return option == command.options.end() ? nullptr : &*option;
}

class Completer {
 public:
  Completer(const CommandTree& tree, const std::function<std::vector<Completion::Word>()>& jobs)
      : tree_(tree), jobs_(jobs) {}

  Completion Complete(const std::vector<std::string>& words) {
    const size_t last = words.size() - 1;
    for (size_t i = 0; i < last; ++i) {
      if (TakesProgramAt(words[i])) return Program(words[i] == "--" ? i + 2 : i + 1);
      Pass(words[i]);
    }
    return CompleteLast(words[last], last + 1);
  }

 private:
  static Completion Program(size_t word) { return {Completion::Kind::kProgram, {}, word}; }

  bool TakesProgramAt(const std::string& word) const {
    return command_ && command_->takes_program && !value_ &&
           (word == "--" || !word.starts_with('-'));
  }

  void Pass(const std::string& word) {
    if (value_) {
      if (word != "=") value_ = nullptr;
    } else if (!command_) {
      const auto named = std::ranges::find(tree_.commands, word, &CommandEntry::name);
      if (named != tree_.commands.end()) command_ = &*named;
      helps_ = helps_ || word == "help";
    } else if (const OptionEntry* option = OptionOf(*command_, word)) {
      const bool here = word.find('=') != std::string::npos;
      const bool takes = option->value.kind != ValueKind::kNone && !option->value.optional;
      value_ = takes && !here ? &option->value : nullptr;
    }
  }

  Completion CompleteLast(const std::string& word, size_t number) const {
    if (value_) return Values(*value_, word == "=" ? "" : word, "");
    const bool option = word.starts_with('-');
    if (!command_) return option ? Options(tree_.program, word) : Commands(word, "", !helps_);
    if (const size_t equals = word.find('='); option && equals != std::string::npos) {
      const OptionEntry* of = OptionOf(*command_, word);
      return of ? Values(of->value, word.substr(equals + 1), word.substr(0, equals + 1))
                : Completion();
    }
    if (command_->takes_program && !option && !word.empty()) return Program(number);
    if (option || command_->takes_program || command_->positionals.empty()) {
      return Options(*command_, word);
    }
    return Values(command_->positionals.front().value, word, "");
  }

  static Completion Matching(std::vector<Completion::Word> words, const std::string& begin,
                             const std::string& before) {
    std::erase_if(words,
                  [&](const Completion::Word& word) { return !word.text.starts_with(begin); });
    for (Completion::Word& word : words) word.text.insert(0, before);
    return {Completion::Kind::kWords, std::move(words)};
  }

  Completion Commands(const std::string& begin, const std::string& before, bool help) const {
    std::vector<Completion::Word> words;
    for (const CommandEntry& command : tree_.commands) {
      words.push_back({command.name, Brief(command.text)});
    }
    if (help) words.push_back({"help", ""});
    if (helps_) {
      for (const HelpTopic& topic : HelpTopics()) words.push_back({topic.name, topic.summary});
    }
    return Matching(std::move(words), begin, before);
  }

  static Completion Options(const CommandEntry& command, const std::string& begin) {
    std::vector<Completion::Word> words;
    for (const OptionEntry& option : command.options) {
      for (const std::string& name : option.names) words.push_back({name, Brief(option.text)});
    }
    if (command.takes_program) words.push_back({"--", "the program follows"});
    return Matching(std::move(words), begin, "");
  }

  // `before`: the part of the word before the value.
  Completion Values(const ValueKind& value, std::string begin, std::string before) const {
    if (value.list) {
      const size_t item = begin.rfind(',') + 1;  // npos + 1 is 0
      before += begin.substr(0, item);
      begin.erase(0, item);
    }
    std::vector<Completion::Word> words;
    for (const std::string& choice : value.choices) words.push_back({choice, ""});
    switch (value.kind) {
      case ValueKind::kFile:
        return {Completion::Kind::kFiles, {}};
      case ValueKind::kFolder:
        return {Completion::Kind::kFolders, {}};
      case ValueKind::kVariable:
        return {Completion::Kind::kVariables, {}};
      case ValueKind::kCommand:
        return Commands(begin, before, false);
      case ValueKind::kJob:
        words = jobs_();
        words.insert(words.begin(), {"last", "the last job"});
        break;
      case ValueKind::kNone:
      case ValueKind::kAny:
      case ValueKind::kChoice:
      case ValueKind::kFramework:
        break;
    }
    return Matching(std::move(words), begin, before);
  }

  const CommandTree& tree_;
  const std::function<std::vector<Completion::Word>()>& jobs_;
  const CommandEntry* command_ = nullptr;
  const ValueKind* value_ = nullptr;  // the kind of the next word, if it is a value
  bool helps_ = false;
};

}  // namespace

Completion CompletionOf(const CommandTree& tree, const std::vector<std::string>& words,
                        const std::function<std::vector<Completion::Word>()>& jobs) {
  if (words.empty()) return CompletionOf(tree, {""}, jobs);
  return Completer(tree, jobs).Complete(words);
}

}  // namespace autodist::cli
