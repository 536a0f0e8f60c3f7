// Answers passphrase prompts of OpenSSH's programs.
#pragma once

#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/temp_folder.h"

namespace autodist::test {

// Applies to all processes started during its life.
class Askpass {
 public:
  // Gives these answers in order; later prompts get none.
  explicit Askpass(const std::vector<std::string>& answers) {
    Answer(answers);
    const std::string script = folder_.Write(
        "askpass", "#!/bin/sh\ncd " + folder_.path() +
                       "\necho \"$1\" >> asked\nhead -n 1 answers\nsed -i 1d answers\n");
    chmod(script.c_str(), 0700);
    setenv("SSH_ASKPASS", script.c_str(), 1);
    setenv("SSH_ASKPASS_REQUIRE", "force", 1);
  }
  Askpass(const Askpass&) = delete;
  Askpass& operator=(const Askpass&) = delete;
  ~Askpass() {
    unsetenv("SSH_ASKPASS");
    unsetenv("SSH_ASKPASS_REQUIRE");
  }

  void Answer(const std::vector<std::string>& answers) const {
    std::string lines;
    for (const std::string& answer : answers) lines += answer + "\n";
    folder_.Write("answers", lines);
  }
  // Prompts so far.
  std::vector<std::string> Asked() const {
    std::ifstream file(folder_.path() + "/asked");
    std::vector<std::string> asked;
    for (std::string line; std::getline(file, line);) asked.push_back(line);
    return asked;
  }

 private:
  const TempFolder folder_;
};

}  // namespace autodist::test
