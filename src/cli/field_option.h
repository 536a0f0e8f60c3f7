// Options of the command line that fill the fields of a message: --max-restarts fills max_restarts.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "autodist/status.h"
#include "autodist/v1/job_request.pb.h"
#include "cli/app.h"

namespace autodist::cli {

// "max_restarts" is "--max-restarts".
std::string OptionName(const google::protobuf::FieldDescriptor& field);

// Whether its option may go this way: into a batch job, or with a chief to another node.
bool MayTravel(const google::protobuf::FieldDescriptor& field, v1::Travels way);

// Adds an option to this group of the help, and returns it. `names`: "--grace", or
// "-n,--nproc-per-node". A field that is repeated is an option that may be given again, a boolean
// one is a flag, and the values of an enumeration are the words after its name: ON_HANG_WARN is
// "warn". The help shows the default of the field. `message` has to outlive the parsing.
CLI::Option* AddField(CLI::App& app, google::protobuf::Message& message, const std::string& group,
                      const std::string& names, const std::string& help);

// Whether the checks of these options let the fields through: of a message that was not read from
// the command line. kInvalidArgument: not this one.
Status CheckFields(CLI::App& app, const google::protobuf::Message& message);

}  // namespace autodist::cli
