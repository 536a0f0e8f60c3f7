// For a build without the page (AUTODIST_WEB=OFF).
#include "base/left_out.h"
#include "http/server.h"
#include "web/server.h"

namespace autodist::web {

class Access {};
class Api {};

Result<std::unique_ptr<Server>> Server::Start(Options) {
  return base::LeftOut("web page", "AUTODIST_WEB");
}

Server::~Server() = default;

}  // namespace autodist::web
