// Reads and checks single values of a spec: numbers, paths, names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "spec/resource_spec.h"

namespace autodist::spec {

// Parses a YAML boolean: true, yes, on and their opposites.
std::optional<bool> ReadBool(const std::string& text);

// Whether it consists of decimal digits, at least one.
bool IsDigits(std::string_view text);

// Parses decimal digits, up to `largest`.
std::optional<uint32_t> ReadWholeNumber(std::string_view text, uint32_t largest);

std::optional<double> ReadPositiveNumber(const std::string& text);

// Whether it is "GPU-8932f937-d72c-...", or a prefix, which CUDA completes; "MIG-<uuid>"; or, for
// drivers before 470, "MIG-GPU-<uuid>/1/0". Source: CUDA C++ Programming Guide,
// CUDA_VISIBLE_DEVICES.
bool IsGpuUuid(std::string_view text);

// Returns why a value with this notation of a shell cannot be meant literally: "$NAME", "${NAME}",
// "$(...)", "`...`", "~user", and "{{...}}" of templates; "": it has none.
std::string ShellNotation(std::string_view text);

// Errors of these functions begin with the quoted value.
Result<v1::HostKeyCheck> ReadHostKeyCheck(const std::string& text);
Result<std::string> ReadAbsolutePath(const std::string& text);  // without redundant '/' and '.'
Result<std::string> ReadIpv4(const std::string& text);
// Parses "ssh-ed25519 AAAA...", as in a .pub file and in known_hosts; drops a comment after it.
Result<std::string> ReadHostKey(const std::string& text);
Status CheckInterface(const std::string& text);
Status CheckKeyFile(const std::string& text);
Status CheckVariableName(const std::string& text);

}  // namespace autodist::spec
