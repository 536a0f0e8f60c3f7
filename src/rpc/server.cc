#include "rpc/server.h"

#include "rpc/limits.h"
#include "rpc/settings.h"

namespace autodist::rpc {

void ConfigureServer(grpc::ServerBuilder& builder, size_t largest_message) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(largest_message));
  SetArguments([&](const char* name, int value) { builder.AddChannelArgument(name, value); });
}

}  // namespace autodist::rpc
