// Escaping of texts in messages of agents.
#pragma once

#include <google/protobuf/message.h>

namespace autodist::rpc {

// Escapes all strings of a message from an agent, also of nested messages, so that none of them
// controls a terminal or makes a line that looks like one of autodist: a text is one line, and
// where several are allowed, all but the first are indented. Leaves out `bytes` fields, and strings
// that are no texts for users. Each message is escaped where it arrives, after its validation.
void EscapeText(google::protobuf::Message& message);

}  // namespace autodist::rpc
