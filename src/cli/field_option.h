// Command line options that set the fields of a message: --max-restarts sets max_restarts.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "autodist/status.h"
#include "autodist/v1/job_request.pb.h"
#include "cli/app.h"

namespace autodist::cli {

// "max_restarts" is "--max-restarts".
std::string OptionName(const google::protobuf::FieldDescriptor& field);

// Whether the field's option may be passed on: into a batch job, or with a chief to another node.
bool MayTravel(const google::protobuf::FieldDescriptor& field, v1::Travels way);

// Adds an option to a group of the help and returns it. `names`: "--grace" or
// "-n,--nproc-per-node". A repeated field becomes a repeatable option, a boolean field a flag.
// Values of an enumeration lose their common prefix: ON_HANG_WARN is "warn". The help shows the
// default of the field. `message` must outlive the parsing. Replaces an unlisted option of this
// name.
CLI::Option* AddField(CLI::App& app, google::protobuf::Message& message, const std::string& group,
                      const std::string& names, const std::string& help);

// Applies the validators of the options to a message that did not come from the command line.
// kInvalidArgument: an option's validator rejects a field.
Status CheckFields(CLI::App& app, const google::protobuf::Message& message);

}  // namespace autodist::cli
