#include "base/hint_without_spec.h"

#include <absl/strings/str_replace.h>

namespace autodist::base {

std::string HintWithoutSpec(const std::string& hint) {
  return absl::StrReplaceAll(hint, {{" in the spec or --hosts", " in --hosts"},
                                    {"`port` in the spec, or ", ""},
                                    {"key_file in the spec, or ", ""},
                                    {", `username` or key_file in the spec", ""},
                                    {"set `username: ", "log in as `"},
                                    {"` in the spec, or write ", "`: write "},
                                    {"proxy_jump in the spec, or ", ""},
                                    {"correct `gpus` in the spec, or ", ""},
                                    {", or with interface in the spec", ""},
                                    {" with python_venv or shared_envs", ""},
                                    {", or activate an environment with python_venv", ""},
                                    {"use python_venv and shared_envs in the spec", "use --env"},
                                    {" with shared_envs", " with --env"},
                                    {", with --env or shared_envs", ", with --env"},
                                    {" by python_venv and shared_envs", ""},
                                    {" (python_venv)", ""},
                                    {", or correct python_venv", ""},
                                    {" in the spec", " in a spec, which `autodist init` writes"}});
}

}  // namespace autodist::base
