// For a build without the page (AUTODIST_WEB=OFF).
#include "http/server.h"
#include "web/server.h"

namespace autodist::web {

class Access {};
class Api {};

Result<std::unique_ptr<Server>> Server::Start(Options) {
  return WithRemedy(Error(StatusCode::kUnimplemented, "this build of autodist has no web page"),
                    "build autodist with -D AUTODIST_WEB=ON");
}

Server::~Server() = default;

}  // namespace autodist::web
